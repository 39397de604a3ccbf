package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"tpsh/builtins/tensorfiles"
	"tpsh/internal/units"
	"tpsh/runtime/ckpt"
)

// reshard writes a checkpoint anew, in another format or cut in another way, or
// shows what that moves.
func (o *ckptOptions) reshard(std *stdio, args []string) error {
	opts, err := o.copyOptions()
	if err != nil {
		return err
	}
	s, err := openSet(args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	if o.plan {
		plan, err := tensorfiles.Plan(s, opts)
		if err != nil {
			return err
		}
		return showPlan(std.out, s, plan)
	}
	bar := newBar(std.err, "reshard", s.Bytes(), "")
	opts.Progress = bar.show
	proof, err := tensorfiles.Copy(s, args[1], opts)
	bar.clear()
	if err != nil {
		return err
	}
	if o.proof != "" {
		if err := writeProof(o.proof, proof); err != nil {
			return err
		}
	}
	return showProof(std.out, s, opts, proof)
}

// copyOptions returns what the flags say of what is to be written.
func (o *ckptOptions) copyOptions() (*tensorfiles.Options, error) {
	opts := &tensorfiles.Options{Format: o.format, MaxMem: int(o.maxMem), FileSize: int64(o.fileSize)}
	switch o.format {
	case "":
		opts.Format = tensorfiles.Own
	case tensorfiles.Own, tensorfiles.DCP, tensorfiles.Safetensors:
	default:
		return nil, usagef("for flag --format: got %q, want tpsh, dcp or safetensors", o.format)
	}
	if o.fileSize > 0 && (o.to != "" || opts.Format != tensorfiles.Safetensors) {
		return nil, usagef("ckpt reshard: --file-size goes with --format safetensors and without --to")
	}
	if o.to != "" {
		target, err := ckpt.ParseTarget(o.to)
		if err != nil {
			return nil, usagef("for flag --to: %v", err)
		}
		opts.Target = target
	}
	return opts, nil
}

// writeProof writes the hashes of every tensor.
func writeProof(file string, proof *tensorfiles.Proof) error {
	data, err := json.MarshalIndent(proof, "", " ")
	if err != nil {
		return err
	}
	return unwritten(file, os.WriteFile(file, append(data, '\n'), 0o644))
}

// showProof says what has been written, and that it is what was read.
func showProof(out io.Writer, s *tensorfiles.Set, o *tensorfiles.Options, proof *tensorfiles.Proof) error {
	fmt.Fprintf(out, "%s of %s in %s: every content hash is what it was\n",
		units.Count(len(s.Tensors), "tensor"), units.Count(s.Bytes(), "byte"), units.Count(proof.Files, "file"))
	if s.Format != o.Format {
		fmt.Fprintf(out, "from %s to %s\n", s.Format, o.Format)
	}
	if len(proof.Left) > 0 {
		fmt.Fprintf(out, "left out, for %s has no place for them: %s\n", o.Format, firstOf(proof.Left, 8))
	}
	read, written := fnv.New128a(), fnv.New128a()
	for _, t := range proof.Tensors {
		fmt.Fprintf(read, "%s %s %v %v\n", t.Name, t.DType, t.Shape, t.Read)
		fmt.Fprintf(written, "%s %s %v %v\n", t.Name, t.DType, t.Shape, t.Written)
	}
	_, err := fmt.Fprintf(out, "hash of what was read     %x\nhash of what was written  %x\n", read.Sum(nil), written.Sum(nil))
	return err
}

// firstOf returns the first n of list in words.
func firstOf(list []string, n int) string {
	if len(list) <= n {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:n], ", "), len(list)-n)
}

// showPlan shows what a resharding would move.
func showPlan(out io.Writer, s *tensorfiles.Set, p *tensorfiles.Planned) error {
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	moved := int64(0)
	for _, m := range p.Moves {
		fmt.Fprintf(tw, "%s\t%v\t%d -> %s\t%d of %s to move\n", m.Name, m.Tensor, len(m.Tensor.Pieces), units.Count(m.Pieces, "piece"), m.Moved, units.Count(m.Bytes(), "byte"))
		moved += m.Moved
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %s to move to files of other numbers; %d -> %s\n", moved, units.Count(s.Bytes(), "byte"), len(s.Files), units.Count(p.Files, "file"))
	return err
}
