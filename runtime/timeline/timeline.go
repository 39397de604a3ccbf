// Package timeline holds what a rank did and when: the events of a run with
// --trace, which a rank collects and a front end draws.
//
// Terms:
//
//   - An Event is an operation of the rank's tensors, or a call that communicates.
//     It has a beginning and a duration in nanoseconds of the rank's clock, and
//     says where in the program it was: its line, region, module and phase.
//   - A Rank is the events of one rank, in the order in which they ended.
//   - The number of a call is its place among those of its group on the rank, from
//     0. Members of a group make the same collectives in the same order, so that a
//     number names one call on all of them. Messages are numbered by pair, tag and
//     direction.
//
// For example, how long a rank communicated:
//
//	r, err := timeline.Decode(data)
//	for _, e := range r.Events {
//		if e.Group != "" {
//			total += e.Duration
//		}
//	}
package timeline

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// An Event is an operation, or a call that communicates, whose Group is not "".
type Event struct {
	Name     string `json:"n"`
	Begin    int64  `json:"b"`           // nanoseconds since 1970, of the rank's clock
	Duration int64  `json:"d"`           // nanoseconds
	Line     string `json:"l,omitempty"` // file:line:col
	Forward  string `json:"f,omitempty"` // of backward, the line it is the gradient of
	Region   string `json:"r,omitempty"`
	Module   string `json:"m,omitempty"`
	Phase    string `json:"p,omitempty"`
	Step     int    `json:"s,omitempty"` // how many steps had ended
	Pass     string `json:"w,omitempty"` // of a pipeline: I3b makes the gradients of the inputs of micro-batch 3 in chunk b
	Shape    []int  `json:"h,omitempty"`
	DType    string `json:"t,omitempty"`

	// Predicted are the seconds that the cost model has for it: of a call by what was measured of
	// the transport, of an operation by the hardware file here. 0 of what costs nothing.
	Predicted float64 `json:"gp,omitempty"`

	// Of an operation: what it costs by its table entry, and the bytes of large
	// tensors in use on the rank when it had ended.
	FLOPs   int64 `json:"o,omitempty"`
	Touched int64 `json:"y,omitempty"`
	Memory  int64 `json:"k,omitempty"`

	// Placements are those of a distributed operation's inputs and results, as
	// "Shard(0), Replicate -> Shard(0)". Kinds are the bytes in use by kind, in the
	// order of the names that Kinds has; nil unless that was asked for.
	Placements string  `json:"q,omitempty"`
	Kinds      []int64 `json:"ks,omitempty"`

	// Of a call: the group and its ranks, the mesh dims these lie along, the number
	// of the call, the payload and what was sent. A message has a Peer, a rank of the
	// job, and else Peer is -1.
	Group    string   `json:"g,omitempty"`
	Ranks    []int    `json:"gr,omitempty"`
	Dims     []string `json:"gd,omitempty"`
	Number   int      `json:"gn,omitempty"`
	Bytes    int64    `json:"gb,omitempty"`
	Wire     int64    `json:"gw,omitempty"`
	Peer     int      `json:"ge,omitempty"`
	Tag      int      `json:"gt,omitempty"`
	To       []int    `json:"go,omitempty"` // of Wire, by member of Ranks
	Implicit string   `json:"gi,omitempty"` // the operator whose input the call moves unasked
}

// Kinds are what memory is used for, in the order of Event.Kinds.
var Kinds = []string{"parameters", "gradients", "optimizer", "activations", "temporaries", "communication"}

// A Tensor is one that the program has a name for, and how its mesh holds it.
type Tensor struct {
	Name       string   `json:"name"`
	DType      string   `json:"dtype"`
	Shape      []int    `json:"shape"`
	Placements []string `json:"placements"`
	Mesh       []int    `json:"mesh"`
	Dims       []string `json:"dims,omitempty"` // names of the mesh's dims
	Ranks      []int    `json:"ranks"`          // of the mesh, row by row
	Blocks     []Block  `json:"blocks"`
}

// A Block is what some ranks hold of a tensor: in dim i the indices Lo[i] to before
// Hi[i].
type Block struct {
	Lo    []int `json:"lo"`
	Hi    []int `json:"hi"`
	Ranks []int `json:"ranks"`
}

// A Rank is what one rank did.
type Rank struct {
	Rank    int      `json:"rank"`
	Size    int      `json:"size"`
	Events  []Event  `json:"events"`
	Tensors []Tensor `json:"tensors,omitempty"`
	Left    int      `json:"left,omitempty"` // events before these, which were not kept
}

// Encode returns r as bytes.
func (r *Rank) Encode() ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(z).Encode(r); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// maxEvents is how many bytes of events Decode reads at the most.
const maxEvents = 4 << 30

// Decode returns the Rank that Encode has written as data.
func Decode(data []byte) (*Rank, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	r := new(Rank)
	if err := json.NewDecoder(io.LimitReader(z, maxEvents)).Decode(r); err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	return r, nil
}

// Keep keeps the last most events.
func (r *Rank) Keep(most int) {
	if over := len(r.Events) - most; over > 0 {
		r.Events = slices.Clone(r.Events[over:])
		r.Left += over
	}
}

// Append adds the events of a later part of the same rank's run.
func (r *Rank) Append(more *Rank) {
	r.Events = append(r.Events, more.Events...)
	r.Left += more.Left
	if more.Tensors != nil {
		r.Tensors = more.Tensors
	}
}
