package shard

import (
	"encoding/binary"
	"fmt"
	"math"
	goruntime "runtime"
	"slices"
	"strings"

	"tpsh/comm"
	"tpsh/internal/crc32c"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The ranks of a mesh run one program on tensors that they hold together. Facts that
// they must agree on beside the calls themselves are compared by the next call on
// the mesh: the plain tensors and numbers that were operands, which count as
// replicated, the shapes of tensors made of blocks, and how many random numbers
// were drawn.

// maxHashed is the number of bytes up to which plain operands are compared,
// without Verify.
const maxHashed = 64 << 10

// notes is all that the ranks of a mesh must agree on so far.
type notes struct {
	state    state
	operand  operand // the last plain one
	joined   joined  // the last tensor made of blocks
	texts    map[joined]string
	drawn    string // the last draw
	lost     bool   // a call has failed since the last that compared
	compared map[*comm.Group]state
}

// An operand is a plain tensor or a number that met a distributed tensor.
type operand struct {
	def    *op.Def // the operator of the number
	tensor string  // which tensor, and where; "" for a number
	number float64
	at     fmt.Stringer // where the number was
}

func (o *operand) String() string {
	switch {
	case o.def == nil:
		return "none"
	case o.tensor == "":
		return fmt.Sprintf("%v in %s%s", o.number, o.def.Name, comm.AtLine(o.at.String()))
	}
	return o.tensor
}

// A joined is a tensor that ranks have made of blocks, each stating its own.
type joined struct {
	layout *mesh.Placed
	where  string // the source line
}

func (j *joined) String() string {
	if j.layout == nil {
		return "none"
	}
	return fmt.Sprintf("%v at %s", j.layout, j.where)
}

// A state is what ranks compare of their notes.
type state struct {
	operands uint64 // a hash of all plain ones, in order
	shapes   uint64 // a hash of those of tensors made of blocks, in order
	draws    uint64 // the number of the last draw, from 1
	seed     uint64 // of that draw
}

// maxTexts is how many texts of tensors made of blocks are kept: a loop makes the
// same again and again.
const maxTexts = 64

// joinedText returns the text of the last tensor made of blocks.
func (n *notes) joinedText() string {
	text, ok := n.texts[n.joined]
	if !ok {
		if n.texts == nil || len(n.texts) >= maxTexts {
			n.texts = map[joined]string{}
		}
		text = n.joined.String()
		n.texts[n.joined] = text
	}
	return text
}

func (e *Engine) notesOf(m *mesh.Mesh) *notes {
	n := e.notes[m]
	if n == nil {
		n = &notes{compared: map[*comm.Group]state{}}
		e.notes[m] = n
	}
	return n
}

// noteOperand notes that the plain x was an operand of d on m.
func (e *Engine) noteOperand(d *op.Def, m *mesh.Mesh, x *tensor.Tensor) {
	if m.Size() == 1 || e.backward > 0 || x.Buffer() == nil {
		return
	}
	n := e.notesOf(m)
	if x.Hollow() {
		n.state.operands = chain(n.state.operands, uint64(x.Numel()))
		n.operand = operand{def: d, tensor: fmt.Sprintf("%s in %s at %s", op.Describe(x), d.Name, e.host.Here())}
		return
	}
	if x.Weak() {
		v := op.Float64At(x, 0)
		n.state.operands = chain(n.state.operands, math.Float64bits(v))
		n.operand = operand{def: d, number: v, at: e.host.Spot()}
		return
	}
	if x.Numel()*x.DType().Size() > maxHashed && !e.Verify {
		return
	}
	y, err := e.contiguous(x.Detach())
	if err != nil {
		return // the operator will say so
	}
	n.state.operands = chain(n.state.operands, uint64(crc32c.Update(uint32(x.DType()), y.Bytes())))
	goruntime.KeepAlive(y)
	n.operand = operand{def: d, tensor: fmt.Sprintf("%s in %s at %s", op.Describe(x), d.Name, e.host.Here())}
}

// noteJoined notes that ranks have made a tensor placed as l of their blocks.
func (e *Engine) noteJoined(l *mesh.Placed) {
	m := l.Mesh()
	if m.Size() == 1 || e.backward > 0 || !e.member(m) {
		return
	}
	n := e.notesOf(m)
	for _, size := range l.Shape() {
		n.state.shapes = chain(n.state.shapes, uint64(size))
	}
	n.joined = joined{layout: l, where: e.host.Here()}
}

// chain returns the hash of a list, given that of all but its last value. That of
// no list is 0, and that of a list of zeros is not.
func chain(hash, last uint64) uint64 {
	const basis, prime = 14695981039346656037, 1099511628211 // of FNV-1a
	hash = (hash ^ last ^ basis) * prime
	return hash ^ hash>>29
}

// NoteDraw notes that random numbers were drawn for a tensor on m.
func (e *Engine) NoteDraw(m *mesh.Mesh) {
	n := e.notesOf(m)
	n.state.seed, n.state.draws = e.host.RNG()
	n.drawn = e.host.Here()
}

// notesOn returns the notes that the next call on m has compared, nil for nothing new.
func (e *Engine) notesOn(p *stepPlan) []byte {
	n := e.notes[p.mesh]
	if n == nil || n.compared[p.group] == n.state && !n.lost {
		return nil
	}
	b := []byte{0}
	if n.lost {
		b[0] = 1
	}
	for _, v := range []uint64{n.state.operands, n.state.shapes, n.state.draws, n.state.seed} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	n.compared[p.group] = n.state
	for _, text := range []string{n.operand.String(), n.joinedText(), n.drawn} {
		b = append(append(b, text...), 0)
	}
	return b
}

// forget has the rank begin anew with what the ranks of m, nil for none, must
// agree on: a program is told once of a call that failed.
func (e *Engine) forget(m *mesh.Mesh) {
	if m == nil {
		return
	}
	n := e.notesOf(m)
	n.state, n.lost = state{}, true
	clear(n.compared)
}

// compareNotes returns an error unless the members of a call have noted the
// same. If a call has failed on some of them, of which the others know nothing,
// all take the notes of the first.
func (e *Engine) compareNotes(p *stepPlan, members []comm.Member) error {
	all := make([]note, len(members))
	differ, mixed := false, false
	for i := range members {
		all[i] = readNote(members[i].Meta)
		differ = differ || all[i].state != all[0].state
		mixed = mixed || all[i].lost != all[0].lost
	}
	if mixed {
		n := e.notesOf(p.mesh)
		n.state, n.lost = all[0].state, false
		n.compared[p.group] = n.state
		return nil
	}
	if all[0].lost {
		e.notesOf(p.mesh).lost = false
	}
	if differ {
		return disagreement(p, all)
	}
	return nil
}

// disagreement returns the error for members that have noted all, which differ.
func disagreement(p *stepPlan, all []note) error {
	differ := func(f func(state) uint64) bool {
		return slices.ContainsFunc(all, func(n note) bool { return f(n.state) != f(all[0].state) })
	}
	switch {
	case differ(func(s state) uint64 { return s.shapes }):
		return disagree(p, "the shape of a distributed tensor made of blocks differs between ranks", all, func(n note) string {
			return "the last was " + orNone(n.joined)
		})
	case differ(func(s state) uint64 { return s.operands }):
		return disagree(p, "a plain operand of a distributed tensor differs between ranks", all, func(n note) string {
			return "the last was " + orNone(n.operand)
		})
	}
	return disagree(p, "the random numbers of a distributed tensor differ between ranks", all, func(n note) string {
		return fmt.Sprintf("%d draws from seed %d, the last distributed one at %s", n.state.draws, n.state.seed, orNone(n.drawn))
	})
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// A note is the statement of a member. The texts are of the last of each.
type note struct {
	state                  state
	lost                   bool
	operand, joined, drawn string
}

// readNote is the inverse of notesOn.
func readNote(b []byte) note {
	if len(b) < 33 {
		return note{}
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[1+8*i:]) }
	n := note{state: state{operands: word(0), shapes: word(1), draws: word(2), seed: word(3)}, lost: b[0] == 1}
	texts := strings.SplitN(string(b[33:]), "\x00", 4)
	n.operand, n.joined, n.drawn = texts[0], texts[1], texts[2]
	return n
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

func disagree(p *stepPlan, what string, all []note, text func(note) string) error {
	e := &DisagreeError{Op: p.name, What: what, Member: p.group.Ranks()}
	for _, n := range all {
		e.States = append(e.States, text(n))
	}
	return e
}
