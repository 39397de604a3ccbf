package main

import (
	"fmt"

	"tpsh/internal/allowance"
	"tpsh/lang"
)

// watchMemory returns what holds the programs of this process to their memory:
// to a part of limit, one of parts, or if limit is 0 to four fifths of what the
// machine or the container has. Of that default a process may have more than its
// part as long as others do not need theirs.
func watchMemory(limit, parts int) *lang.Watch {
	if limit > 0 {
		w := &lang.Watch{Limit: max(1, limit/parts), Sharing: parts / allowance.Processors(), Text: fmt.Sprintf("memory limit of %s reached", showBytes(limit))}
		if parts > 1 {
			w.Text += fmt.Sprintf(" (%s a rank)", showBytes(w.Limit))
		}
		return w
	}
	total := allowance.Memory()
	w := &lang.Watch{Limit: total / 5 * 4 / parts, Sharing: parts / allowance.Processors(), Text: fmt.Sprintf("memory limit of %s reached (80 %% of what there is)", showBytes(total/5*4))}
	w.Room, w.Reserve, w.Parts = allowance.Left, allowance.Reserve(), parts
	if parts > 1 {
		w.Scarce = func() bool { return allowance.Available() < total/5 }
	}
	return w
}

// showBytes writes a number of bytes in the largest binary unit in which it is
// short.
func showBytes(n int) string {
	unit, name := 1, "bytes"
	for _, next := range []string{"KiB", "MiB", "GiB"} {
		if n < unit<<10 {
			break
		}
		unit, name = unit<<10, next
	}
	if n%unit == 0 {
		return fmt.Sprintf("%d %s", n/unit, name)
	}
	return fmt.Sprintf("%.1f %s", float64(n)/float64(unit), name)
}
