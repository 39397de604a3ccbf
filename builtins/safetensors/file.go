package safetensors

import (
	"io"
	"os"
	goruntime "runtime"
)

// A source is what a file is read from. Close, called once, gives it back.
type source interface {
	io.ReaderAt
	io.Closer
}

// OpenFile reads the header of f, which it takes over, and closes if there is
// an error. Where the system has it, the file is mapped into memory. It is
// released by Close, or by the collector.
func OpenFile(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return openSource(newSource(f, info.Size()), info.Size())
}

// openSource reads the header of src, which has size bytes, and takes it over
// as OpenFile does.
func openSource(src source, size int64) (*File, error) {
	file, err := Open(src, size)
	if err != nil {
		src.Close()
		return nil, err
	}
	file.source = src
	file.cleanup = goruntime.AddCleanup(file, func(s source) { s.Close() }, src)
	return file, nil
}

// Close releases a file that OpenFile opened; what Open reads is left to its owner.
// No read may be under way, or come after.
func (f *File) Close() error {
	if f.source == nil {
		f.r = closed{}
		return nil
	}
	f.cleanup.Stop()
	err := f.source.Close()
	f.r, f.source = closed{}, closed{}
	return err
}

// closed is the source of a file that has been closed.
type closed struct{}

func (closed) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }
func (closed) Close() error                      { return os.ErrClosed }
