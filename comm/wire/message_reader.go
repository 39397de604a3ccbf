package wire

import (
	"bytes"
	"fmt"
	"io"

	"tpsh/comm/schedule"
	"tpsh/internal/ranklist"
)

// A Reader reads the frames of a writer: whole messages from one participant.
type Reader struct {
	frames     FrameReader
	source     int                                        // the rank that must have sent every frame
	number     uint32                                     // that the next frame must have
	whole      *Frame                                     // a message of which more is to come, nil if there is none
	Begin      func(b []byte) (done func() (bool, error)) // of bytes beside the stream, nil if none come
	filled     func() (bool, error)                       // whether the rest of whole has come so, nil if it does not
	spare      *BufferPool                                // for long data, nil if there is none
	dataBuffer func(f *Frame) []byte                      // see start; nil if there is none
}

// A ReaderOptions says which messages a Reader reads, and where to.
type ReaderOptions struct {
	Source int         // the rank that must have sent every frame
	Stream io.Reader   // for next
	Spare  *BufferPool // for long data, nil if there is none

	// BufferFor, unless it is nil, is asked with the numbers of a frame that begins
	// a long message where to read it to. It returns nil, or memory for all of the
	// message.
	BufferFor func(f *Frame) []byte

	// DataBuffer, unless it is nil, is asked where the Data of a message are to go
	// that follow its head, which is all that f holds; nil for anywhere.
	DataBuffer func(f *Frame) []byte

	// Begin begins to fill b with bytes beside the stream; nil if none come.
	Begin func(b []byte) (done func() (bool, error))
}

func NewReader(o ReaderOptions) *Reader {
	return &Reader{
		frames:     FrameReader{Stream: o.Stream, bufferFor: o.BufferFor},
		source:     o.Source,
		Begin:      o.Begin,
		spare:      o.Spare,
		dataBuffer: o.DataBuffer,
	}
}

// Progress returns a number that is another when something has been read.
func (in *Reader) Progress() uint32 { return in.number + uint32(in.frames.have) }

// HasAhead reports whether bytes behind the last message have been read.
func (in *Reader) HasAhead() bool { return len(in.frames.ahead) > 0 }

// Fills reports whether a block is being read to memory. One that has come, and
// that nobody has been given, goes elsewhere.
func (in *Reader) Fills(memory []byte) bool {
	if in.filled == nil || !schedule.SameMemory(*in.whole.end(), memory) {
		return false
	}
	done, _ := in.filled()
	if done {
		to := in.whole.end()
		*to = bytes.Clone(in.whole.full())[:len(*to)]
	}
	return !done
}

// Next returns the next message as one frame, however long its payload, which
// may be transient. The error is io.EOF at the end of the stream.
func (in *Reader) Next() (*Frame, error) { return in.Pull(in.frames.Stream.Read) }

// Pull is Next for the bytes that read gives. It can be called again after ErrAgain.
func (in *Reader) Pull(read func([]byte) (int, error)) (*Frame, error) {
	for {
		if in.filled != nil {
			return in.fill()
		}
		if in.frames.have < HeaderBytes { // nothing of the payload is there
			in.frames.into = nil
			if in.whole != nil {
				to := *in.whole.end()
				in.frames.into = to[len(to):cap(to)]
			}
		}
		f, err := in.frames.pull(read)
		if err == io.EOF && in.whole != nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if err := in.check(f); err != nil {
			return nil, err
		}
		if f.Type == FrameHeartbeat {
			continue
		}
		if f.Beside {
			if err := in.beginRest(f); err != nil {
				return nil, err
			}
			continue
		}
		if in.whole == nil && !f.More {
			return f, nil
		}
		if err := in.gather(f); err != nil {
			return nil, err
		}
		if !f.More {
			whole := in.whole
			in.whole, whole.More = nil, false
			return whole, nil
		}
	}
}

// beginRest begins to take in the bytes of the message of f that come beside the stream.
func (in *Reader) beginRest(f *Frame) error {
	if in.Begin == nil || in.whole != nil {
		return &FrameError{"alien", "a message beside the stream", "none there"}
	}
	if in.frames.bufferFor != nil && len(f.Payload) == 0 {
		if memory := in.frames.bufferFor(f); memory != nil {
			f.Payload, f.Transient = memory[:0], false
		}
	}
	if err := in.gather(f); err != nil {
		return err
	}
	in.filled = in.Begin(in.whole.full()[len(*in.whole.end()):])
	return nil
}

// fill returns the message of which the rest comes beside the stream, or
// ErrAgain if it has not come yet.
func (in *Reader) fill() (*Frame, error) {
	done, err := in.filled()
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, ErrAgain
	}
	whole := in.whole
	*whole.end(), whole.Beside = whole.full(), false
	in.whole, in.filled = nil, nil
	return whole, nil
}

// check checks that f is from the source, and that no frame is missing, comes
// twice or comes out of its order.
func (in *Reader) check(f *Frame) error {
	if f.Number != in.number {
		return &FrameError{"number", fmt.Sprint(f.Number), fmt.Sprint(in.number)}
	}
	in.number++
	if f.Source != in.source {
		return &FrameError{"alien", ranklist.Text([]int{f.Source}), ranklist.Text([]int{in.source})}
	}
	return nil
}

// gather adds f to the message in progress, or begins one.
func (in *Reader) gather(f *Frame) error {
	if in.whole == nil {
		in.start(f)
		return nil
	}
	whole := in.whole
	if !Continues(f, whole) || f.Rest != whole.Rest-len(whole.Payload)-len(whole.Data) {
		return &FrameError{"alien", "a frame of another message", "the rest of one"}
	}
	to := whole.end()
	if f.Transient {
		*to = append(*to, f.Payload...)
	} else { // it is there
		*to = (*to)[:len(*to)+len(f.Payload)]
	}
	return nil
}

// start makes f the message in progress. The bytes behind the head of a message
// go where room says, which is asked with its first frame.
func (in *Reader) start(f *Frame) {
	whole := *f
	if f.Transient {
		if behind := f.Rest - len(f.Payload); in.dataBuffer != nil && f.Type == FrameMessage && behind > 0 {
			if memory := in.dataBuffer(f); memory != nil {
				whole.Data = memory[:0:behind]
			}
		}
		whole.Payload = append(in.spare.Get(f.Rest-cap(whole.Data)), f.Payload...)
	}
	whole.Transient = false
	in.whole = &whole
}

// end returns the slice behind which the next bytes of a message are put.
func (f *Frame) end() *[]byte {
	if f.Data != nil {
		return &f.Data
	}
	return &f.Payload
}

// full returns *f.end() as it is when the rest of the message has come, beside the
// stream.
func (f *Frame) full() []byte {
	to := *f.end()
	return to[:len(to)+f.Rest-len(f.Payload)]
}

// Continues reports whether f can be a later part of the message of first.
func Continues(f, first *Frame) bool {
	return f.Type == first.Type && f.Source == first.Source && f.Group == first.Group &&
		f.Call == first.Call && f.Step == first.Step && f.Tag == first.Tag && f.Generation == first.Generation
}

// AbandonBuffer gives up memory in which a message is being taken in: from now on it
// goes elsewhere.
func (in *Reader) AbandonBuffer(memory []byte) {
	r := &in.frames
	mid := max(0, r.have-HeaderBytes) // bytes of a frame in progress
	switch {
	case in.whole != nil && schedule.SameMemory(*in.whole.end(), memory):
		to := in.whole.end()
		there := *to
		*to = append(make([]byte, 0, cap(there)), there...)
		if r.have >= HeaderBytes && r.length <= len(r.into) {
			into := (*to)[len(there):cap(there)]
			copy(into, r.into[:mid])
			r.into = into
		}
	case in.whole == nil && r.have >= HeaderBytes && schedule.SameMemory(r.into, memory):
		r.into = append(make([]byte, 0, len(memory)), memory...)
	}
}
