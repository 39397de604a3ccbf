package main

import (
	"fmt"
	"text/tabwriter"

	"tpsh/builtins/tensorfiles"
	"tpsh/internal/units"
	"tpsh/lang"
)

// diff compares two checkpoints, of any formats and cut in any way, element by
// element. Its exit status is that of a failure if they differ.
func (o *ckptOptions) diff(std *stdio, args []string) error {
	a, err := openSet(args[0])
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := openSet(args[1])
	if err != nil {
		return err
	}
	defer b.Close()
	bar := newBar(std.err, "diff", a.Bytes(), "")
	list, err := tensorfiles.Diff(a, b, int(o.maxMem), bar.show)
	bar.clear()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(std.out, "%s of %s: the same\n", units.Count(len(a.Tensors), "tensor"), units.Count(a.Bytes(), "byte"))
		return err
	}
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, d := range list {
		fmt.Fprintf(tw, "%s\t%s\n", d.Name, d.Says)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s\n", units.Count(len(list), "difference"))
	return status(lang.StatusFailed)
}
