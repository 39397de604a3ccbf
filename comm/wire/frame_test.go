package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"runtime"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func drawFrame(t *rapid.T) *Frame {
	f := &Frame{
		Type:   FrameType(rapid.IntRange(1, int(frameTypes)-1).Draw(t, "type")),
		More:   rapid.Bool().Draw(t, "more"),
		Source: int(rapid.Uint32().Draw(t, "source")),
		Group:  rapid.Uint64().Draw(t, "group"),
		Call:   rapid.Uint64().Draw(t, "call"),
		Step:   int(rapid.Uint32().Draw(t, "step")),
		Tag:    rapid.Int().Draw(t, "tag"),

		Generation: rapid.Uint32().Draw(t, "generation"),
		Number:     rapid.Uint32().Draw(t, "number"),
	}
	length := rapid.SampledFrom([]int{0, 1, 7, firstBytes, firstBytes + 1, 5 * firstBytes}).Draw(t, "length")
	f.Rest = length
	f.Beside = !f.More && rapid.Bool().Draw(t, "beside")
	if f.More || f.Beside {
		f.Rest += rapid.IntRange(1, 1<<20).Draw(t, "rest")
	}
	if length > 0 {
		f.Payload = bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, length)
	}
	return f
}

// Frames written one after another are read as they were, however the stream
// is cut into pieces, and the stream then ends.
func TestFramesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		frames := rapid.SliceOfN(rapid.Custom(drawFrame), 0, 4).Draw(t, "frames")
		var stream []byte
		for _, f := range frames {
			stream = AppendFrame(stream, f)
		}
		var source io.Reader = bytes.NewReader(stream)
		if rapid.Bool().Draw(t, "halves") {
			source = iotest.HalfReader(source)
		}
		r := FrameReader{Stream: source}
		for i, want := range frames {
			if got, err := r.Next(); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("frame %d: got %+v and %v, want %+v", i, got, err, want)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("after the last frame: got %v, want io.EOF", err)
		}
	})
}

// The encoding is the documented one, byte by byte.
func TestFrameBytes(t *testing.T) {
	got := AppendFrame(nil, &Frame{
		Type: FrameMessage, More: true, Source: 2, Step: 3, Group: 4, Call: 5, Tag: -1, Generation: 6, Number: 7, Rest: 3,
		Payload: []byte("hi"),
	})
	want := "tpsh\x06\x04\x01\x00" + "\x02\x00\x00\x00\x03\x00\x00\x00" + "\x04\x00\x00\x00\x00\x00\x00\x00" +
		"\x05\x00\x00\x00\x00\x00\x00\x00" + "\xff\xff\xff\xff\xff\xff\xff\xff" +
		"\x06\x00\x00\x00\x07\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00"
	if string(got[:checkedBytes]) != want || string(got[HeaderBytes:]) != "hi" {
		t.Errorf("got %q, want %q, a checksum and hi", got, want)
	}
}

// sealed returns a frame's encoding after change, with the checksum set right.
func sealed(payload string, change func(b []byte)) []byte {
	b := AppendFrame(nil, &Frame{Type: FrameData, Rest: len(payload), Payload: []byte(payload)})
	change(b)
	binary.LittleEndian.PutUint32(b[60:], checksum(b, b[HeaderBytes:]))
	return b
}

func TestFrameErrors(t *testing.T) {
	set := func(at int, x byte) func([]byte) { return func(b []byte) { b[at] = x } }
	good := sealed("payload", func([]byte) {})
	for _, c := range []struct {
		name, what, text string
		stream           []byte
	}{
		{"magic", "alien", `frame: alien: got "Tpsh", want "tpsh"`, sealed("", set(0, 'T'))},
		{"http", "alien", `frame: alien: got "GET ", want "tpsh"`, []byte("GET / HTTP/1.1\r\nHost: www.example.org\r\nAccept: text/html, text/plain\r\n\r\n")},
		{"version", "version", "frame: version: got 1, want 6", sealed("", set(4, 1))},
		{"no type", "alien", "frame: alien: got type 0, want 1..8", sealed("", set(5, 0))},
		{"type", "alien", "frame: alien: got type 9, want 1..8", sealed("", set(5, 9))},
		{"more", "alien", "frame: alien: got flags 3, 0, want 0..2, 0", sealed("", set(6, 3))},
		{"reserved", "alien", "frame: alien: got flags 0, 1, want 0..2, 0", sealed("", set(7, 1))},
		{"length", "length", "frame: length: got 4278190080, want at most 327680", sealed("", set(59, 255))},
		{"header", "truncated", "frame: truncated: got 63 bytes of the header, want 64", good[:63]},
		{"first byte", "truncated", "frame: truncated: got 1 bytes of the header, want 64", good[:1]},
		{"payload", "truncated", "frame: truncated: got 6 bytes of the payload, want 7", good[:HeaderBytes+6]},
		{"no payload", "truncated", "frame: truncated: got 0 bytes of the payload, want 7", good[:HeaderBytes]},
	} {
		_, err := (&FrameReader{Stream: bytes.NewReader(c.stream)}).Next()
		var e *FrameError
		if !errors.As(err, &e) || e.What != c.what || e.Error() != c.text {
			t.Errorf("%s: got %v, want %s", c.name, err, c.text)
		}
	}
}

// A frame of which any one bit has changed is refused.
func TestFrameBitFlips(t *testing.T) {
	good := sealed("payload", func([]byte) {})
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		var e *FrameError
		if _, err := (&FrameReader{Stream: bytes.NewReader(bad)}).Next(); !errors.As(err, &e) {
			t.Errorf("bit %d: got %v, want a FrameError", bit, err)
		}
	}
}

// Errors of the stream itself come through as they are.
func TestFrameStreamError(t *testing.T) {
	broken := errors.New("broken")
	good := sealed("payload", func([]byte) {})
	for _, n := range []int{0, 10, HeaderBytes, HeaderBytes + 3} {
		r := FrameReader{Stream: io.MultiReader(bytes.NewReader(good[:n]), iotest.ErrReader(broken))}
		if _, err := r.Next(); err != broken {
			t.Errorf("after %d bytes: got %v, want %v", n, err, broken)
		}
	}
}

func TestAppendFramePanics(t *testing.T) {
	for name, f := range map[string]*Frame{
		"payload": {Type: FrameData, Rest: MaxPayload + 1, Payload: make([]byte, MaxPayload+1)},
		"source":  {Type: FrameData, Source: -1},
		"step":    {Type: FrameData, Step: 1 << 32},
	} {
		if !panics(func() { AppendFrame(nil, f) }) {
			t.Errorf("%s: no panic", name)
		}
	}
}

// The longest payload is read whole.
func TestFrameLongest(t *testing.T) {
	want := &Frame{Type: FrameData, Rest: MaxPayload, Payload: bytes.Repeat([]byte("abcd"), MaxPayload/4)}
	got, err := (&FrameReader{Stream: bytes.NewReader(AppendFrame(nil, want))}).Next()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got other bytes, or %v", err)
	}
}

// A header that promises a payload which does not come costs little memory.
func TestFrameAllocation(t *testing.T) {
	stream := sealed("", func(b []byte) {
		binary.LittleEndian.PutUint64(b[48:], MaxPayload)
		binary.LittleEndian.PutUint32(b[56:], MaxPayload)
	})
	const rounds = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		if _, err := (&FrameReader{Stream: bytes.NewReader(stream)}).Next(); err == nil {
			t.Fatal("a truncated frame is read")
		}
	}
	runtime.ReadMemStats(&after)
	if got, most := (after.TotalAlloc-before.TotalAlloc)/rounds, uint64(aheadBytes+4*firstBytes); got > most {
		t.Errorf("got %d bytes allocated, want at most %d", got, most)
	}
}

// Whatever is read as frames is written as the same bytes.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(sealed("", func([]byte) {}))
	f.Add(append(sealed("one", func([]byte) {}), sealed("two", func(b []byte) { b[6] = 1 })...))
	f.Add(sealed("x", func(b []byte) { b[59] = 1 }))
	f.Fuzz(func(t *testing.T, stream []byte) {
		checkFrames(t, stream)
		if len(stream) >= HeaderBytes { // let mutations get past the checksum
			binary.LittleEndian.PutUint32(stream[60:], checksum(stream, stream[HeaderBytes:]))
			checkFrames(t, stream)
		}
	})
}

func checkFrames(t *testing.T, stream []byte) {
	r := FrameReader{Stream: bytes.NewReader(stream)}
	var written []byte
	for {
		f, err := r.Next()
		if err != nil {
			var e *FrameError
			if err != io.EOF && !errors.As(err, &e) {
				t.Fatalf("got error %v, want io.EOF or a FrameError", err)
			}
			break
		}
		written = AppendFrame(written, f)
		if !bytes.HasPrefix(stream, written) {
			t.Fatalf("%+v is written as other bytes than it was read from", f)
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, length := range []int{8, MaxPayload} {
		f := &Frame{Type: FrameData, Rest: length, Payload: make([]byte, length)}
		encoded := AppendFrame(nil, f)
		name := map[int]string{8: "8", MaxPayload: "320KiB"}[length]
		b.Run("append/"+name, func(b *testing.B) {
			b.SetBytes(int64(length))
			for b.Loop() {
				encoded = AppendFrame(encoded[:0], f)
			}
		})
		b.Run("next/"+name, func(b *testing.B) {
			b.SetBytes(int64(length))
			r := FrameReader{}
			for b.Loop() {
				r.Stream = bytes.NewReader(encoded)
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func panics(f func()) (p bool) {
	defer func() { p = recover() != nil }()
	f()
	return false
}
