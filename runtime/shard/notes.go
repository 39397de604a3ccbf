package shard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	goruntime "runtime"
	"slices"
	"strings"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The ranks of a mesh run one program on tensors that they hold together. What
// they must agree on beside the calls themselves is compared by the next call on
// the mesh: the plain tensors and numbers that were operands, which count as
// replicated, and how many random numbers were drawn.

// maxHashed is the number of bytes up to which plain operands are compared,
// without Verify.
const maxHashed = 64 << 10

// notes is what the ranks of a mesh must agree on so far.
type notes struct {
	state    state
	operand  operand // the last plain one
	drawn    string  // the last draw
	compared map[*comm.Group]state
}

// An operand is a plain tensor or a number that met a distributed tensor.
type operand struct {
	def    *op.Def // of what
	tensor string  // what tensor, and where; "" for a number
	number float64
}

func (o *operand) String() string {
	switch {
	case o.def == nil:
		return "none"
	case o.tensor == "":
		return fmt.Sprintf("%v in %s", o.number, o.def.Name)
	}
	return o.tensor
}

// A state is what is compared.
type state struct {
	operands uint64 // a hash of all of them, in order
	draws    uint64 // the number of the last draw, from 1, and the seed
	seed     uint64
}

func (e *Engine) notesOf(m *mesh.Mesh) *notes {
	n := e.notes[m]
	if n == nil {
		n = &notes{compared: map[*comm.Group]state{}}
		e.notes[m] = n
	}
	return n
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// noteOperand notes that the plain x was an operand of d on m.
func (e *Engine) noteOperand(d *op.Def, m *mesh.Mesh, x *tensor.Tensor) {
	if m.Size() == 1 || e.backward > 0 || x.Buffer() == nil {
		return
	}
	n := e.notesOf(m)
	if x.Weak() {
		v := op.Float64At(x, 0)
		n.add(math.Float64bits(v))
		n.operand = operand{def: d, number: v}
		return
	}
	if x.Numel()*x.DType().Size() > maxHashed && !e.Verify {
		return
	}
	y, err := e.contiguous(x.Detach())
	if err != nil {
		return // the operator will say so
	}
	n.add(uint64(crc32.Update(uint32(x.DType()), castagnoli, y.Bytes())))
	goruntime.KeepAlive(y)
	n.operand = operand{def: d, tensor: fmt.Sprintf("%s in %s at %s", op.Describe(x), d.Name, e.host.Here())}
}

// add adds an operand to the hash of all.
func (n *notes) add(hash uint64) {
	const prime = 1099511628211 // of FNV-1a
	n.state.operands = (n.state.operands ^ hash) * prime
	n.state.operands ^= n.state.operands >> 29
}

// NoteDraw notes that random numbers were drawn for a tensor on m.
func (e *Engine) NoteDraw(m *mesh.Mesh) {
	n := e.notesOf(m)
	n.state.seed, n.state.draws = e.host.RNG()
	n.drawn = e.host.Here()
}

// notesOn returns what the next call on m has compared, nil for nothing new.
func (e *Engine) notesOn(r *route) []byte {
	n := e.notes[r.mesh]
	if n == nil || n.compared[r.group] == n.state {
		return nil
	}
	b := binary.LittleEndian.AppendUint64(nil, n.state.operands)
	b = binary.LittleEndian.AppendUint64(b, n.state.draws)
	b = binary.LittleEndian.AppendUint64(b, n.state.seed)
	n.compared[r.group] = n.state
	b = append(append(b, n.operand.String()...), 0)
	return append(b, n.drawn...)
}

// compareNotes returns an error unless the members of a call have noted the
// same.
func (e *Engine) compareNotes(r *route, members []comm.Member) error {
	var all []note
	for i := range members {
		all = append(all, readNote(members[i].Meta))
	}
	differ := func(f func(note) uint64) bool {
		return slices.ContainsFunc(all, func(n note) bool { return f(n) != f(all[0]) })
	}
	ranks := r.group.Ranks()
	switch {
	case differ(func(n note) uint64 { return n.operands }):
		return disagree(r, ranks, "a plain operand of a distributed tensor differs between ranks", all, func(n note) string {
			return "the last was " + orNone(n.operand)
		})
	case differ(func(n note) uint64 { return n.draws }), differ(func(n note) uint64 { return n.seed }):
		return disagree(r, ranks, "the random numbers of a distributed tensor differ between ranks", all, func(n note) string {
			return fmt.Sprintf("%d draws from seed %d, the last distributed one at %s", n.draws, n.seed, orNone(n.drawn))
		})
	}
	return nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// A note is what a member states.
type note struct {
	operands, draws, seed uint64
	operand, drawn        string
}

func readNote(b []byte) note {
	if len(b) < 24 {
		return note{}
	}
	operand, drawn, _ := strings.Cut(string(b[24:]), "\x00")
	return note{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), operand, drawn}
}

// A DisagreeError says that the ranks of a mesh have not run the same program.
type DisagreeError struct {
	Op     string // of the call that showed it
	What   string
	Member []int    // the ranks
	States []string // of each
}

func (e *DisagreeError) Error() string {
	s := e.Op + ": " + e.What
	for i, r := range e.Member {
		s += fmt.Sprintf("\n  rank %d: %s", r, e.States[i])
	}
	return s
}

// Kind returns "mismatch".
func (e *DisagreeError) Kind() string { return "mismatch" }

// Function returns the name of the call.
func (e *DisagreeError) Function() string { return e.Op }

// Ranks returns those of the call.
func (e *DisagreeError) Ranks() []int { return e.Member }

func disagree(r *route, ranks []int, what string, all []note, text func(note) string) error {
	e := &DisagreeError{Op: r.name, What: what, Member: ranks}
	for _, n := range all {
		e.States = append(e.States, text(n))
	}
	return e
}
