package process

import (
	"bytes"
	"fmt"
	"io"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// A messageReader reads what frameWriters write: whole messages from one participant.
type messageReader struct {
	frames     frameReader
	source     int                                        // the rank that must have sent every frame
	number     uint32                                     // that the next frame must have
	whole      *frame                                     // a message of which more is to come, nil if there is none
	begin      func(b []byte) (done func() (bool, error)) // of what comes beside the stream, nil if nothing does
	filled     func() (bool, error)                       // whether the rest of whole has come so, nil if it does not
	spare      *bufferPool                                // for long data, nil if there is none
	dataBuffer func(f *frame) []byte                      // see start; nil if there is none
}

// A readerOptions says what a messageReader reads, and where to.
type readerOptions struct {
	source int         // the rank that must have sent every frame
	stream io.Reader   // for next
	spare  *bufferPool // for long data, nil if there is none

	// bufferFor, unless it is nil, is asked with the numbers of a frame that begins
	// a long message where to read it to. It returns nil, or memory for all of the
	// message.
	bufferFor func(f *frame) []byte

	// dataBuffer, unless it is nil, is asked where the Data of a message are to go
	// that follow its head, which is all that f holds; nil for anywhere.
	dataBuffer func(f *frame) []byte

	// begin begins to fill b with what comes beside the stream; nil if nothing does.
	begin func(b []byte) (done func() (bool, error))
}

func newMessageReader(o readerOptions) *messageReader {
	return &messageReader{
		frames:     frameReader{stream: o.stream, bufferFor: o.bufferFor},
		source:     o.source,
		begin:      o.begin,
		spare:      o.spare,
		dataBuffer: o.dataBuffer,
	}
}

// progress returns a number that is another when something has been read.
func (in *messageReader) progress() uint32 { return in.number + uint32(in.frames.have) }

// hasAhead reports whether something has been read of what follows the last message.
func (in *messageReader) hasAhead() bool { return len(in.frames.ahead) > 0 }

// fills reports whether a block is being read to memory. One that has come, and
// that nobody has been given, goes elsewhere.
func (in *messageReader) fills(memory []byte) bool {
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

// next returns the next message as one frame, however long its payload, which
// may be transient. The error is io.EOF at the end of the stream.
func (in *messageReader) next() (*frame, error) { return in.pull(in.frames.stream.Read) }

// pull is next for what read gives. It can be called again after errAgain.
func (in *messageReader) pull(read func([]byte) (int, error)) (*frame, error) {
	for {
		if in.filled != nil {
			return in.fill()
		}
		if in.frames.have < headerBytes { // nothing of the payload is there
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
		if f.typ == frameHeartbeat {
			continue
		}
		if f.beside {
			if err := in.beginRest(f); err != nil {
				return nil, err
			}
			continue
		}
		if in.whole == nil && !f.more {
			return f, nil
		}
		if err := in.gather(f); err != nil {
			return nil, err
		}
		if !f.more {
			whole := in.whole
			in.whole, whole.more = nil, false
			return whole, nil
		}
	}
}

// beginRest begins to take in what comes beside the stream of the message of f.
func (in *messageReader) beginRest(f *frame) error {
	if in.begin == nil || in.whole != nil {
		return &FrameError{"alien", "a message beside the stream", "none there"}
	}
	if in.frames.bufferFor != nil && len(f.payload) == 0 {
		if memory := in.frames.bufferFor(f); memory != nil {
			f.payload, f.transient = memory[:0], false
		}
	}
	if err := in.gather(f); err != nil {
		return err
	}
	in.filled = in.begin(in.whole.full()[len(*in.whole.end()):])
	return nil
}

// fill returns the message of which the rest comes beside the stream, or
// errAgain if it has not come yet.
func (in *messageReader) fill() (*frame, error) {
	done, err := in.filled()
	if err != nil {
		return nil, err
	}
	if !done {
		return nil, errAgain
	}
	whole := in.whole
	*whole.end(), whole.beside = whole.full(), false
	in.whole, in.filled = nil, nil
	return whole, nil
}

// check checks that f is from the source, and that no frame is missing, comes
// twice or comes out of its order.
func (in *messageReader) check(f *frame) error {
	if f.number != in.number {
		return &FrameError{"number", fmt.Sprint(f.number), fmt.Sprint(in.number)}
	}
	in.number++
	if f.source != in.source {
		return &FrameError{"alien", comm.RankList([]int{f.source}), comm.RankList([]int{in.source})}
	}
	return nil
}

// gather adds f to the message in progress, or begins one.
func (in *messageReader) gather(f *frame) error {
	if in.whole == nil {
		in.start(f)
		return nil
	}
	whole := in.whole
	if !continues(f, whole) || f.rest != whole.rest-len(whole.payload)-len(whole.data) {
		return &FrameError{"alien", "a frame of another message", "the rest of one"}
	}
	to := whole.end()
	if f.transient {
		*to = append(*to, f.payload...)
	} else { // it is there
		*to = (*to)[:len(*to)+len(f.payload)]
	}
	return nil
}

// start makes f the message in progress. What comes behind the head of a message
// goes where room says, which is asked with its first frame.
func (in *messageReader) start(f *frame) {
	whole := *f
	if f.transient {
		if behind := f.rest - len(f.payload); in.dataBuffer != nil && f.typ == frameMessage && behind > 0 {
			if memory := in.dataBuffer(f); memory != nil {
				whole.data = memory[:0:behind]
			}
		}
		whole.payload = append(in.spare.Get(f.rest-cap(whole.data)), f.payload...)
	}
	whole.transient = false
	in.whole = &whole
}

// end returns what the next bytes of a message are put behind.
func (f *frame) end() *[]byte {
	if f.data != nil {
		return &f.data
	}
	return &f.payload
}

// full returns what *f.end() is when the rest of the message has come, beside the
// stream.
func (f *frame) full() []byte {
	to := *f.end()
	return to[:len(to)+f.rest-len(f.payload)]
}

// continues reports whether f can be a later part of the message of first.
func continues(f, first *frame) bool {
	return f.typ == first.typ && f.source == first.source && f.group == first.group &&
		f.call == first.call && f.step == first.step && f.tag == first.tag && f.generation == first.generation
}

// abandonBuffer gives up memory in which a message is being taken in: from now on it
// goes elsewhere.
func (in *messageReader) abandonBuffer(memory []byte) {
	r := &in.frames
	mid := max(0, r.have-headerBytes) // bytes of a frame in progress
	switch {
	case in.whole != nil && schedule.SameMemory(*in.whole.end(), memory):
		to := in.whole.end()
		there := *to
		*to = append(make([]byte, 0, cap(there)), there...)
		if r.have >= headerBytes && r.length <= len(r.into) {
			into := (*to)[len(there):cap(there)]
			copy(into, r.into[:mid])
			r.into = into
		}
	case in.whole == nil && r.have >= headerBytes && schedule.SameMemory(r.into, memory):
		r.into = append(make([]byte, 0, len(memory)), memory...)
	}
}
