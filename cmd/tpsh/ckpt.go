package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"tpsh/runtime/ckpt"
)

var ckptCommand = &command{
	name:  "ckpt",
	usage: "ls DIR | verify DIR | reshard SRC DST",
	short: "looks into, checks and re-lays out checkpoints",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		o := &ckptOptions{maxMem: 256 << 20}
		fs.StringVar(&o.to, "to", "", "reshard: cut tensors as `LAYOUT` says, a mesh and rules that tell names (as 'dp=2,tp=4:*.weight=S(0);*.bias=R;*=flat'); without it, each is one piece")
		fs.BoolVar(&o.plan, "plan", false, "reshard: show what would be moved, and write nothing")
		fs.Var(&o.maxMem, "max-mem", "use buffers of `BYTES` together at most (as 64M)")
		return o.run
	},
}

// ckptOptions are the flags of tpsh ckpt.
type ckptOptions struct {
	to     string
	plan   bool
	maxMem byteSize
}

// run carries out the action that args begin with.
func (o *ckptOptions) run(std *stdio, args []string) error {
	actions := map[string]struct {
		args string
		do   func(*stdio, []string) error
	}{"ls": {"DIR", o.ls}, "verify": {"DIR", o.verify}, "reshard": {"SRC DST", o.reshard}}
	if len(args) == 0 {
		return usagef("ckpt: got nothing, want ls, verify or reshard")
	}
	a, ok := actions[args[0]]
	if !ok {
		return usagef("ckpt: got %q, want ls, verify or reshard", args[0])
	}
	if want := strings.Count(a.args, " ") + 1; len(args)-1 != want {
		return usagef("ckpt %s: got %d arguments, want %s", args[0], len(args)-1, a.args)
	}
	if (o.to != "" || o.plan) && args[0] != "reshard" {
		return usagef("ckpt %s: --to and --plan are flags of reshard", args[0])
	}
	return a.do(std, args[1:])
}

// openCheckpoint returns a Reader of the checkpoint at dir, and what closes it.
func openCheckpoint(dir string) (*ckpt.Reader, func(), error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	r, err := ckpt.Open(root)
	if err != nil {
		root.Close()
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, func() { r.Close(); root.Close() }, nil
}

// ls lists the tensors of a checkpoint and their pieces.
func (o *ckptOptions) ls(std *stdio, args []string) error {
	r, done, err := openCheckpoint(args[0])
	if err != nil {
		return err
	}
	defer done()
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, t := range r.Tensors {
		fmt.Fprintf(tw, "%s\t%v\t%s\t%s\t%v\n", t.Name, t, counted(int64(len(t.Pieces)), "piece"), counted(t.Bytes(), "byte"), t.Sum)
		for i := range t.Pieces {
			p := &t.Pieces[i]
			fmt.Fprintf(tw, "  %v\t%s\tat %d\t%s\n", p.Box(), r.Files[p.File].Name, p.Offset, counted(int64(p.Box().Numel()*t.ItemSize()), "byte"))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, summary(r.Index))
	return err
}

// summary says in a line how much a checkpoint holds.
func summary(x *ckpt.Index) string {
	return fmt.Sprintf("%s of %s in %s", counted(int64(len(x.Tensors)), "tensor"), counted(x.Bytes(), "byte"), counted(int64(len(x.Files)), "file"))
}

// counted returns n things in words: 1 file, 2 files.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// verify reads a checkpoint and says what is wrong with it.
func (o *ckptOptions) verify(std *stdio, args []string) error {
	r, done, err := openCheckpoint(args[0])
	if err != nil {
		return err
	}
	defer done()
	bar := newBar(std.err, "verify", r.Bytes())
	bad := r.Verify(min(int(o.maxMem), 16<<20), bar.show)
	bar.clear()
	if len(bad) == 0 {
		_, err = fmt.Fprintf(std.out, "%s: sound\n", summary(r.Index))
		return err
	}
	for _, err := range bad {
		fmt.Fprintf(std.err, "tpsh: %s: %v\n", args[0], err)
	}
	return status(exitStatus(bad[0]))
}

// reshard writes a checkpoint anew, cut in another way, or shows what that moves.
func (o *ckptOptions) reshard(std *stdio, args []string) error {
	to := o.to
	if to == "" {
		to = ckpt.WholeTarget
	}
	target, err := ckpt.ParseTarget(to)
	if err != nil {
		return usagef("for flag --to: %v", err)
	}
	r, done, err := openCheckpoint(args[0])
	if err != nil {
		return err
	}
	defer done()
	plan, err := ckpt.NewPlan(r.Index, target)
	if err != nil {
		return err
	}
	if o.plan {
		return showPlan(std.out, r.Index, plan)
	}
	if err := os.MkdirAll(args[1], 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(args[1])
	if err != nil {
		return err
	}
	defer root.Close()
	bar := newBar(std.err, "reshard", r.Bytes())
	err = plan.Reshard(r, root, int(o.maxMem), bar.show)
	bar.clear()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "%s of %s in %s: every content hash is what it was\n",
		counted(int64(len(r.Tensors)), "tensor"), counted(r.Bytes(), "byte"), counted(int64(plan.Files), "file"))
	return err
}

// showPlan shows what a resharding would move.
func showPlan(out io.Writer, x *ckpt.Index, p *ckpt.Plan) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	moved := int64(0)
	for _, m := range p.Moves {
		fmt.Fprintf(tw, "%s\t%v\t%d -> %s\t%d of %s to move\n", m.Name, m.Tensor, len(m.Tensor.Pieces), counted(int64(m.Pieces), "piece"), m.Moved, counted(m.Bytes(), "byte"))
		moved += m.Moved
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %s to move to files of other numbers; %d -> %s\n", moved, counted(x.Bytes(), "byte"), len(x.Files), counted(int64(p.Files), "file"))
	return err
}

// A bar shows on a terminal how much of something is done.
type bar struct {
	w     io.Writer // nil for none
	label string
	total int64
	next  time.Time // when it may be drawn again
}

// newBar returns a bar on w, which shows nothing unless w is a terminal.
func newBar(w io.Writer, label string, total int64) *bar {
	b := &bar{label: label, total: max(total, 1)}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		b.w = w
	}
	return b
}

// barWidth is the number of cells of a bar.
const barWidth = 30

// show draws the bar with so many bytes done, ten times a second at most.
func (b *bar) show(done int64) {
	now := time.Now()
	if b.w == nil || now.Before(b.next) && done < b.total {
		return
	}
	b.next = now.Add(100 * time.Millisecond)
	n := int(done * barWidth / b.total)
	fmt.Fprintf(b.w, "\r%s [%s%s] %3d%% of %d MB", b.label, strings.Repeat("#", n), strings.Repeat(".", barWidth-n), done*100/b.total, b.total>>20)
}

// clear removes the bar.
func (b *bar) clear() {
	if b.w != nil {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}
