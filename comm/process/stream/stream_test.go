package stream

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tpsh/comm/wire"
)

// A heap is a PollStream whose other end is itself: it holds what was written,
// and the blocks, until they are read.
type heap struct {
	bytes.Buffer
	blocks [][]byte
	late   int   // how often a block is not there yet
	err    error // of blocks
}

func (h *heap) Close() error  { return nil }
func (h *heap) Notify(func()) {}
func (h *heap) wait() error   { return nil }
func (h *heap) Look() bool    { return h.Len() > 0 }
func (h *heap) Ready() bool   { return h.Len() > 0 }
func (h *heap) Doze()         {}

func (h *heap) TryRead(b []byte) (int, error) {
	n, err := h.Read(b[:min(len(b), 7000)])
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (h *heap) WriteBlock(b []byte) func() error {
	h.blocks = append(h.blocks, bytes.Clone(b))
	return h.wait
}

func (h *heap) BeginBlock(b []byte) func() (bool, error) {
	late := h.late
	return func() (bool, error) {
		if late--; late >= 0 || h.err != nil {
			return false, h.err
		}
		if len(h.blocks[0]) != len(b) {
			return true, errors.New("a block of another length")
		}
		copy(b, h.blocks[0])
		h.blocks = h.blocks[1:]
		return true, nil
	}
}

// pullAll returns the messages that a wire.Reader takes from h, until there are no
// more.
func (h *heap) pullAll(in *wire.Reader) (all []*wire.Frame, err error) {
	r := &Reader{stream: h}
	for waits := 0; ; {
		f, err := in.Pull(r.tryRead)
		if err == wire.ErrAgain {
			if waits++; h.Len() == 0 && waits > h.late+2 { // and nothing since the last message
				return all, nil
			}
			continue
		}
		if err != nil {
			return all, err
		}
		waits = 0
		whole := *f
		whole.Payload = bytes.Clone(f.Payload)
		all = append(all, &whole)
	}
}

// Messages arrive whole and in order, those beside the stream among them.
func TestMessagesBesideStream(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &heap{late: rapid.IntRange(0, 2).Draw(t, "late")}
		out := &Writer{Source: 1, Stream: h, Beside: h}
		lengths := []int{0, 1, 100, blockBytes - 1, blockBytes, 3 * blockBytes, wire.MaxPayload + blockBytes}
		var want [][]byte
		for i := range rapid.IntRange(0, 5).Draw(t, "messages") {
			head := bytes.Repeat([]byte{byte(2*i + 1)}, rapid.SampledFrom(lengths).Draw(t, "head"))
			body := bytes.Repeat([]byte{byte(2*i + 2)}, rapid.SampledFrom(lengths).Draw(t, "body"))
			f := wire.Frame{Type: wire.FrameData, Step: i}
			if wait, ok := out.SendLater(f, body); ok {
				wait()
				head = nil
			} else {
				out.Send(f, head, body)
			}
			want = append(want, append(head, body...))
		}
		in := wire.NewReader(wire.ReaderOptions{Source: 1, Begin: h.BeginBlock})
		got, err := h.pullAll(in)
		if err != nil || len(got) != len(want) {
			t.Fatalf("got %d messages and %v, want %d", len(got), err, len(want))
		}
		for i, f := range got {
			if f.Step != i || f.More || f.Beside || !bytes.Equal(f.Payload, want[i]) {
				t.Fatalf("message %d: got step %d with %d bytes, want %d", i, f.Step, len(f.Payload), len(want[i]))
			}
		}
	})
}

// What cannot come beside a stream is refused.
func TestAlienBesideStream(t *testing.T) {
	beside := &wire.Frame{Type: wire.FrameData, Source: 1, Rest: blockBytes, Beside: true}
	first := &wire.Frame{Type: wire.FrameData, Source: 1, Rest: 20, More: true, Payload: make([]byte, 10)}
	second := *beside
	second.Number = 1
	for _, test := range []struct {
		name   string
		frames []*wire.Frame
		heap   heap
		none   bool // whether nothing comes beside the stream
		want   string
	}{
		{"none there", []*wire.Frame{beside}, heap{}, true, "a message beside the stream"},
		{"within another", []*wire.Frame{first, &second}, heap{}, false, "a message beside the stream"},
		{"of another length", []*wire.Frame{beside}, heap{blocks: [][]byte{{1, 2, 3}}}, false, "another length"},
		{"lost", []*wire.Frame{beside}, heap{err: errors.New("a block was lost")}, false, "a block was lost"},
	} {
		h := &test.heap
		for _, f := range test.frames {
			h.Write(wire.AppendFrame(nil, f))
		}
		in := wire.NewReader(wire.ReaderOptions{Source: 1, Begin: h.BeginBlock})
		if test.none {
			in.Begin = nil
		}
		if got, err := h.pullAll(in); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %d messages and %v, want an error about %s", test.name, len(got), err, test.want)
		}
	}
}

// A call that has failed waits for a block that is being filled, but not for ever;
// and one that has come, of which nobody knows yet, goes elsewhere.
func TestReleaseBlock(t *testing.T) {
	memory := counting(blockBytes)
	filling := func(filled func() (bool, error)) *Reader {
		asked := false
		begin := func([]byte) func() (bool, error) {
			return func() (bool, error) {
				if !asked { // to begin with it has not come
					asked = true
					return false, nil
				}
				return filled()
			}
		}
		in := wire.NewReader(wire.ReaderOptions{Begin: begin, BufferFor: func(*wire.Frame) []byte { return memory }})
		head := wire.AppendFrame(nil, &wire.Frame{Type: wire.FrameData, Beside: true, Rest: blockBytes})
		if _, err := in.Pull(bytes.NewReader(head).Read); err != wire.ErrAgain {
			t.Fatalf("got %v, want that the block has not come", err)
		}
		return &Reader{Intake: &Intake{in: in}}
	}
	ps := &Group{look: func() bool { return false }}
	synctest.Test(t, func(t *testing.T) {
		since := time.Now()
		ps.release(filling(func() (bool, error) { time.Sleep(time.Millisecond); return false, nil }), memory)
		if took := time.Since(since); took < fillTime || took > fillTime+10*time.Millisecond {
			t.Errorf("a block that stops halfway was waited for %v, want %v", took, fillTime)
		}
	})
	s := filling(func() (bool, error) { return true, nil })
	ps.release(s, memory)
	clear(memory)
	if f, err := s.in.Pull(nil); err != nil || !bytes.Equal(f.Payload, counting(blockBytes)) {
		t.Errorf("got %v, want the block as it has come", err)
	}
}

// counting returns n bytes that count.
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}
