package safetensors

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"
	"time"
)

// onDisk opens a file of one tensor x of bytes, with the given data.
func onDisk(t *testing.T, data []byte) (*File, string) {
	t.Helper()
	b, err := AppendHeader(nil, []*Tensor{{Name: "x", DType: U8, Shape: []int{len(data)}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, append(b, data...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	x, err := OpenFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return x, path
}

func TestOpenFile(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef-"), 1<<20) // larger than what stays mapped
	f, _ := onDisk(t, data)
	got := make([]byte, len(data))
	if err := f.Read(got, f.Tensor("x")); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got other data, %v", err)
	}
	part := make([]byte, 5)
	if err := f.ReadSlice(part, f.Tensor("x"), 0, 17, 22); err != nil || string(part) != "01234" {
		t.Errorf("got %q, %v", part, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := f.Read(got, f.Tensor("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: got %v", err)
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a second Close: got %v", err)
	}
}

func TestOpenFileErrors(t *testing.T) {
	for _, text := range []string{"", "short", "hello, world", "\x00\x00\x00\x00\x00\x00\x00\x00"} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var bad *FormatError
		if _, err := OpenFile(f); !errors.As(err, &bad) {
			t.Errorf("%q: got %v, want a FormatError", text, err)
		}
		if err := f.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%q: the file was left open", text)
		}
	}
}

// A file that someone cuts while it is open gives an error, not a crash.
func TestCutWhileOpen(t *testing.T) {
	f, path := onDisk(t, make([]byte, 1<<20))
	defer f.Close()
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	err := f.Read(make([]byte, 1<<20), f.Tensor("x"))
	if want := "the file has become shorter since it was opened"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A watched source says when it is closed.
type watched struct {
	*bytes.Reader
	closed chan struct{}
}

func (w watched) Close() error { close(w.closed); return nil }

// What nobody holds any more the collector releases.
func TestCollected(t *testing.T) {
	text := file("{}", "")
	src := watched{bytes.NewReader(text), make(chan struct{})}
	f, err := openSource(src, int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	goruntime.KeepAlive(f)
	for range 100 {
		goruntime.GC()
		select {
		case <-src.closed:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the file is still open")
}
