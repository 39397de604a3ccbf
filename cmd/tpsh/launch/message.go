package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tpsh/comm/process"
	"tpsh/internal/allowance"
	"tpsh/lang"
)

// A role is what a worker is told first: who it is, and where the others are.
type role struct {
	Rank  int   `json:"rank"`
	Size  int   `json:"size"`
	Local spans `json:"local"` // the ranks of its machine, ascending

	// Hosts says by rank on which machine it is, by some number; nil if all are on one.
	Hosts []int `json:"hosts,omitempty"`

	// Segment says that the ranks of the machine share memory, Meet that ranks
	// are connected by sockets. The worker inherits what goes with the first.
	Segment bool  `json:"segment,omitempty"`
	Meet    *meet `json:"meet,omitempty"`

	Config []byte `json:"config,omitempty"`

	// Machine is what its launcher knows of the machine, if it is on the same; nil where that
	// is not known.
	Machine *allowance.Known `json:"machine,omitempty"`
}

// spans are ranks, ascending. In JSON they are pairs of the first and the last of those that
// follow each other: each of hundreds of ranks is told of all.
type spans []int

func (s spans) MarshalJSON() ([]byte, error) {
	var pairs [][2]int
	for _, r := range s {
		if last := len(pairs) - 1; last >= 0 && pairs[last][1] == r-1 {
			pairs[last][1] = r
			continue
		}
		pairs = append(pairs, [2]int{r, r})
	}
	return json.Marshal(pairs)
}

func (s *spans) UnmarshalJSON(data []byte) error {
	var pairs [][2]int
	if err := json.Unmarshal(data, &pairs); err != nil {
		return err
	}
	*s = nil
	last := -1
	for _, p := range pairs {
		if p[0] <= last || p[1] < p[0] || p[1]-p[0] >= maxRanks-len(*s) {
			return fmt.Errorf("got ranks %d to %d after %d, want up to %d of them, ascending", p[0], p[1], last, maxRanks)
		}
		for r := p[0]; r <= p[1]; r++ {
			*s = append(*s, r)
		}
		last = p[1]
	}
	return nil
}

// A meet says how to meet the other ranks. The secrets that it takes are not in
// it: it may cross a network that is not encrypted. A worker has them from its
// own launcher.
type meet struct {
	Address     string        `json:"address"` // of the rendezvous
	Job         string        `json:"job"`
	TLS         bool          `json:"tls,omitempty"`
	Heartbeat   bool          `json:"heartbeat,omitempty"` // some rank is on another host
	PeerTimeout time.Duration `json:"peer_timeout"`
}

// secrets are what a worker inherits in a pipe, and nobody finds in an environment or
// on a command line: the token, nil for none, and what files say who it is, nil for
// none.
type secrets struct {
	Token    []byte         `json:"token,omitempty"`
	Identity *IdentityFiles `json:"identity,omitempty"`
}

// mostSecrets is what a pipe holds everywhere before somebody reads it.
const mostSecrets = 4096

// A ready is what a worker tells its launcher: that it is ready to begin, or why
// it is not, or when it is told to begin again that it is done with what it did.
type ready struct {
	Error   string `json:"error,omitempty"`
	Done    bool   `json:"done,omitempty"`
	Kernels string `json:"kernels,omitempty"` // Seat.Kernels
	Host    string `json:"host,omitempty"`    // where it is

	Traffic *process.Traffic `json:"traffic,omitempty"` // what it has sent, if that is asked for
}

// An again is what a worker is told whose front end has gone, if there is
// another. In a world that is what every rank is told: that there is a front
// end, or with which status to end.
type again struct {
	Traffic bool `json:"traffic,omitempty"` // it is to tell what it has sent, and nothing else

	Config []byte `json:"config,omitempty"`
	Finish *int   `json:"finish,omitempty"`
}

// A nodeNote is what a launcher of another node tells the first. The first note
// has the first six fields, every other one of the rest, or none: a heartbeat.
type nodeNote struct {
	Version string `json:"version,omitempty"` // of the program
	Ranks   int    `json:"ranks,omitempty"`   // how many workers it will start
	Host    string `json:"host,omitempty"`    // where
	Machine string `json:"machine,omitempty"` // what machine returns there
	Address string `json:"address,omitempty"` // of the rendezvous, as seen from there
	Kernels string `json:"kernels,omitempty"` // Options.Kernels

	Memory  string   `json:"memory,omitempty"`  // the path of what its workers share
	Lost    *loss    `json:"lost,omitempty"`    // a worker of its has gone
	Wrote   *writing `json:"wrote,omitempty"`   // a worker that has ended
	Stopped bool     `json:"stopped,omitempty"` // its workers have ended, as it was told
	Asked   bool     `json:"asked,omitempty"`   // it was asked that the job end soon
}

// A loss says of what a worker has gone; "" if in good order.
type loss struct {
	Rank  int    `json:"rank"`
	Cause string `json:"cause"`
}

// A writing is what a worker wrote on its own standard error.
type writing struct {
	Rank int    `json:"rank"`
	Text string `json:"text"`
}

// An order is what the first launcher tells another: one of the fields, or
// none, which is a heartbeat.
type order struct {
	Start  *begin `json:"start,omitempty"`
	Stop   bool   `json:"stop,omitempty"`   // the workers
	Finish *int   `json:"finish,omitempty"` // with this exit status: there is no more to do
	Refuse string `json:"refuse,omitempty"` // why it is not of the job
}

// A begin says what workers to start.
type begin struct {
	Ranks  []int  `json:"ranks"`
	Share  int    `json:"share,omitempty"`  // make memory for so many ranks
	Memory string `json:"memory,omitempty"` // use the memory at this path

	Scratch string `json:"scratch,omitempty"` // Options.Scratch
	Stops   bool   `json:"stops,omitempty"`   // Spec.Stops
}

// sendJSON sends a message.
func sendJSON(c lang.Conn, m any) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return c.Send(data)
}

// recvJSON receives a message of the type of m, and no other.
func recvJSON(ctx context.Context, c lang.Conn, m any) error {
	data, err := c.Recv(ctx)
	if err != nil {
		return err
	}
	return decodeJSON(data, m)
}

func decodeJSON(data []byte, m any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return fmt.Errorf("message between launchers and workers: %w", err)
	}
	if d.More() {
		return errors.New("message between launchers and workers: more than one")
	}
	return nil
}
