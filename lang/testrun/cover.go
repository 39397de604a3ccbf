package testrun

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"tpsh/lang"
)

// tellCover writes which lines were run: to the file that Options names in the
// format of lcov, and a line for each file as text.
func (r *runner) tellCover() error {
	var out bytes.Buffer
	var text strings.Builder
	for _, path := range slices.Sorted(maps.Keys(r.cover)) {
		source, err := os.ReadFile(path)
		if err != nil {
			continue // it is in no file
		}
		counts := r.cover[path]
		lines := lang.Statements(path, string(source))
		hit := 0
		var missed []int
		fmt.Fprintf(&out, "TN:\nSF:%s\n", path)
		for _, line := range lines {
			fmt.Fprintf(&out, "DA:%d,%d\n", line, counts[line])
			if counts[line] > 0 {
				hit++
			} else {
				missed = append(missed, line)
			}
		}
		fmt.Fprintf(&out, "LF:%d\nLH:%d\nend_of_record\n", len(lines), hit)
		fmt.Fprintf(&text, "%5.1f%%  %s%s\n", 100*float64(hit)/float64(max(1, len(lines))), path, spans(missed))
	}
	if !r.JSON {
		fmt.Fprintf(r.Out, "lines that were run:\n%s", text.String())
	}
	if err := os.WriteFile(r.Cover, out.Bytes(), 0o666); err != nil {
		return fmt.Errorf("cannot write %s: %w", r.Cover, reason(err))
	}
	return nil
}

// spans lists lines that were not run: "  not 3, 7-9".
func spans(lines []int) string {
	var words []string
	for i := 0; i < len(lines); {
		j := i
		for j+1 < len(lines) && lines[j+1] == lines[j]+1 {
			j++
		}
		if i == j {
			words = append(words, fmt.Sprint(lines[i]))
		} else {
			words = append(words, fmt.Sprintf("%d-%d", lines[i], lines[j]))
		}
		i = j + 1
	}
	if len(words) == 0 {
		return ""
	}
	return "  not " + strings.Join(words, ", ")
}
