// Package chakra writes what the ranks of a plan do as execution traces of MLCommons
// Chakra, which simulators and replayers read: ASTRA-sim, and Chakra's own tools.
//
// A trace is a file for one rank: a GlobalMetadata and then Nodes, each with its length
// before it. What a rank computes is a COMP_NODE with its seconds, FLOPs (num_ops) and
// bytes (tensor_size); a collective is a COMM_COLL_NODE with its kind (comm_type), the
// bytes that a member puts in (comm_size) and its group (pg_name); a message is a
// COMM_SEND_NODE or a COMM_RECV_NODE with both ends and a tag that no other messages
// have. A permutation is a send and a receive. A node depends (data_deps) on what comes
// before it on its stream: a rank computes in order, what it waits for holds that up,
// and what was issued goes on beside it until it is waited for.
//
// Groups are numbered from 1, in a file of JSON that ASTRA-sim takes as
// --comm-group-configuration; a collective of all ranks names none.
//
// For example:
//
//	w := chakra.Writer{Dir: "traces", Name: "gpt", Metadata: chakra.Metadata{Script: "gpt.star"}}
//	for rank := range 4 {
//		if err := w.Write(rank, replay.Rank(rank), program, []int32{int32(rank)}); err != nil {
//			return err
//		}
//	}
//	return w.Close()
//
// The format: mlcommons/chakra, schema/protobuf/et_def.proto of 2024; testdata has a
// copy.
package chakra

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tpsh/runtime/plan"
)

// GroupsFile is the name of the file that lists groups.
const GroupsFile = "comm_groups.json"

// RanksFile is the name of the file that says which ranks each trace stands for.
const RanksFile = "ranks.json"

// Types of a Node.
const (
	compNode = 4
	sendNode = 5
	recvNode = 6
	collNode = 7
)

// types are Chakra's collectives, by the names of ours. What an exchange moves differs
// from member to member.
var types = map[string]int64{
	"all_reduce": 0, "reduce": 1, "all_gather": 2, "all_gather_object": 2, "gather": 3, "gather_object": 3,
	"scatter": 4, "scatter_object": 4, "broadcast": 5, "broadcast_object": 5, "all_to_all": 6, "exchange": 6,
	"reduce_scatter": 7, "barrier": 9,
}

// Knows reports whether traces have a type for a collective. One that goes by pairs is
// written as messages, and needs none.
func Knows(op string) bool {
	_, ok := types[op]
	return ok
}

// phases are the names of a Phase.
var phases = map[plan.Phase]string{plan.Forward: "forward", plan.Backward: "backward", plan.Optimizer: "optimizer", plan.Recompute: "recompute"}

// A Writer writes the traces of one plan into a folder.
type Writer struct {
	Dir, Name string // files are Dir/Name.RANK.et
	Metadata  Metadata
	Nodes     int // that have been written

	groups map[string]int
	lists  map[string][]int
	tags   map[string]int64
	stands map[string][]int32
}

// Metadata is what a trace says of itself.
type Metadata struct {
	Script, Hardware string
	Ranks, Step      int // Step 0 is the whole script
}

// Write writes what rank does as one file. The ranks that it stands for are itself and
// others that do the same, each in groups of its own.
func (w *Writer) Write(rank int, deeds []plan.Deed, p *plan.Program, ranks []int32) (err error) {
	if w.groups == nil {
		w.groups, w.lists, w.tags, w.stands = map[string]int{}, map[string][]int{}, map[string]int64{}, map[string][]int32{}
	}
	name := fmt.Sprintf("%s.%d.et", w.Name, rank)
	w.stands[name] = ranks
	f, err := os.Create(filepath.Join(w.Dir, name))
	if err != nil {
		return err
	}
	t := &trace{Writer: w, p: p, rank: rank, out: bufio.NewWriter(f), next: 1, nodesOf: map[int][]uint64{}, last: map[string]uint64{}}
	t.metadata()
	for i := range deeds {
		t.deed(i, &deeds[i])
	}
	w.Nodes += int(t.next - 1)
	return errors.Join(t.out.Flush(), f.Close())
}

// Close writes the files that say what groups there are, and which ranks do the same.
func (w *Writer) Close() error {
	return errors.Join(writeJSON(filepath.Join(w.Dir, GroupsFile), w.lists), writeJSON(filepath.Join(w.Dir, RanksFile), w.stands))
}

func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// group returns the number of the group of members, 0 for that of all ranks.
func (w *Writer) group(members []int, instance string) int {
	if len(members) == w.Metadata.Ranks {
		return 0
	}
	key := fmt.Sprint(members, instance)
	n, ok := w.groups[key]
	if !ok {
		n = len(w.groups) + 1
		w.groups[key] = n
		w.lists[strconv.Itoa(n)] = members
	}
	return n
}

// tag returns a number for the messages of one tag in one group, or for what a
// permutation sends.
func (w *Writer) tag(d *plan.Deed) int64 {
	key := fmt.Sprint(d.Members, d.Instance, d.Do <= plan.Issue, d.Tag)
	n, ok := w.tags[key]
	if !ok {
		n = int64(len(w.tags) + 1)
		w.tags[key] = n
	}
	return n
}

// A trace is one file under way.
type trace struct {
	*Writer
	p    *plan.Program
	rank int
	out  *bufio.Writer
	next uint64 // the id of the next node

	before  []uint64          // what the next node of the rank waits for
	last    map[string]uint64 // the last call of each group
	nodesOf map[int][]uint64  // of a deed that was issued
}

func (t *trace) metadata() {
	var m message
	m.text(1, "0.0.4")
	m.attribute(2, "schema", words("1.0.2-chakra.0.0.4"))
	m.attribute(2, "script", words(t.Metadata.Script))
	m.attribute(2, "hardware", words(t.Metadata.Hardware))
	m.attribute(2, "rank", number(int64Val, int64(t.rank)))
	m.attribute(2, "ranks", number(int64Val, int64(t.Metadata.Ranks)))
	m.attribute(2, "step", number(int64Val, int64(t.Metadata.Step)))
	t.put(m)
}

// put writes a message with its length before it.
func (t *trace) put(m message) {
	t.out.Write(binary.AppendUvarint(nil, uint64(len(m))))
	t.out.Write(m)
}

// deed writes the nodes of one, if it has any.
func (t *trace) deed(i int, d *plan.Deed) {
	if d.Host > leastHost {
		h := *d
		h.Begin, h.End = d.Begin-d.Host, d.Begin
		t.before = []uint64{t.done(t.node(&h, compNode, "host", t.before, true))}
	}
	switch d.Do {
	case plan.Compute:
		t.before = []uint64{t.compute(d)}
	case plan.Collective, plan.Issue:
		t.nodesOf[i] = t.call(d)
		if d.Do == plan.Collective {
			t.before = t.nodesOf[i]
		}
	case plan.Wait:
		for _, n := range t.nodesOf[d.Of] {
			if !slices.Contains(t.before, n) {
				t.before = append(slices.Clone(t.before), n)
			}
		}
	case plan.Send:
		t.message(d, sendNode, d.To, t.before)
	case plan.Recv:
		t.before = []uint64{t.message(d, recvNode, d.From, t.before)}
	}
}

// leastHost is what sums of times are off by, in seconds.
const leastHost = 1e-12

// node begins a node of the CPU or of the device, with what nodes of all kinds have; done writes it.
func (t *trace) node(d *plan.Deed, kind uint64, name string, deps []uint64, host bool) *message {
	var m message
	m.uint(1, t.next)
	m.text(2, name)
	m.uint(3, kind)
	m.uints(5, deps)
	begin, end := micros(d.Begin), micros(d.End)
	m.uint(6, begin)
	m.uint(7, end-begin)
	m.attribute(10, "is_cpu_op", truth(host))
	m.attribute(10, "seconds", double(d.End-d.Begin))
	m.attribute(10, "where", words(t.p.Lines[d.Line]))
	m.attribute(10, "phase", words(phases[d.Phase]))
	if region := t.p.Regions[d.Region]; region != "" {
		m.attribute(10, "region", words(region))
	}
	return &m
}

// micros returns whole microseconds: durations are differences of these, so that they
// add up.
func micros(s float64) uint64 { return uint64(max(0, s*1e6+0.5)) }

// done writes a node and returns its id.
func (t *trace) done(m *message) uint64 {
	t.put(*m)
	t.next++
	return t.next - 1
}

func (t *trace) compute(d *plan.Deed) uint64 {
	o := &t.p.Operations[d.Index]
	m := t.node(d, compNode, o.Name, t.before, false)
	m.attribute(10, "num_ops", number(int64Val, int64(o.FLOPs)))
	m.attribute(10, "tensor_size", number(uint64Val, int64(o.Bytes)))
	return t.done(m)
}

// call writes a collective, or the messages of a permutation, and returns what must be
// over for it to be.
func (t *trace) call(d *plan.Deed) []uint64 {
	group := fmt.Sprint(d.Members, d.Instance)
	deps := slices.Clone(t.before)
	if n, ok := t.last[group]; ok && !slices.Contains(deps, n) {
		deps = append(deps, n)
	}
	c := &t.p.Calls[d.Index]
	kind, ok := types[c.Op]
	if !ok {
		return t.permute(d, deps)
	}
	m := t.node(d, collNode, c.Op, deps, false)
	m.attribute(10, "comm_type", number(int64Val, kind))
	m.attribute(10, "comm_size", number(int64Val, d.Bytes))
	m.attribute(10, "bytes", number(int64Val, d.Own))
	m.attribute(10, "wire_bytes", number(int64Val, d.Wire))
	if n := t.group(d.Members, d.Instance); n > 0 {
		m.attribute(10, "pg_name", words(strconv.Itoa(n)))
	}
	id := t.done(m)
	t.last[group] = id
	return []uint64{id}
}

// permute is call of a permutation.
func (t *trace) permute(d *plan.Deed, deps []uint64) (nodes []uint64) {
	if d.To >= 0 {
		nodes = append(nodes, t.message(d, sendNode, d.To, deps))
	}
	if d.From >= 0 {
		nodes = append(nodes, t.message(d, recvNode, d.From, deps))
	}
	if nodes == nil {
		return deps
	}
	return nodes
}

// message writes one to or from peer.
func (t *trace) message(d *plan.Deed, kind uint64, peer int, deps []uint64) uint64 {
	from, to := t.rank, peer
	c := &t.p.Calls[d.Index]
	bytes := d.Own
	if kind == recvNode {
		from, to, bytes = peer, t.rank, 0
	}
	m := t.node(d, kind, c.Op, deps, false)
	m.attribute(10, "comm_src", number(int32Val, int64(from)))
	m.attribute(10, "comm_dst", number(int32Val, int64(to)))
	m.attribute(10, "comm_tag", number(int32Val, t.tag(d)))
	m.attribute(10, "comm_size", number(int64Val, d.Bytes))
	m.attribute(10, "bytes", number(int64Val, bytes))
	return t.done(m)
}
