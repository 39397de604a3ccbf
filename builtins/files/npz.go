package files

import (
	"archive/zip"
	"cmp"
	"compress/flate"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/npy"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "load_npz",
		Doc: "load_npz(path, keys=None) returns the tensors that a file of NumPy's format .npz holds, as a dict in the order of the file.\n" +
			"Their dtypes are those of load_npy. With keys, a list of names, only these are read: the others may hold what no tensor\n" +
			"can, such as strings. The file may be compressed.\n" + docPath +
			">>> path = tmpdir() + \"/x.npz\"\n" +
			">>> save_npz(path, {\"w\": tensor([[1, 2], [3, 4]]), \"b\": tensor([0.5])})\n" +
			">>> load_npz(path)[\"w\"].tolist()\n[[1, 2], [3, 4]]",
		Fn: loadNpz,
	}, &builtins.Row{
		Name: "save_npz",
		Doc: "save_npz(path, dict) writes a dict of names and tensors to a file of NumPy's format .npz, in place of what was there.\n" +
			"Who reads it meanwhile finds the old file or the new one, whole. The format has no bfloat16 and no floats of 8 bits.\n" + docPath +
			">>> path = tmpdir() + \"/x.npz\"\n" +
			">>> save_npz(path, {\"w\": ones(2, 3)})\n" +
			">>> load_npz(path).keys()\n[\"w\"]",
		Fn: saveNpz,
	})
}

// npyExt ends the name of a member of an .npz file, after the key.
const npyExt = ".npy"

func loadNpz(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		path arg.String
		keys arg.Opt[arg.Strings, *arg.Strings]
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "keys?", &keys); err != nil {
		return nil, err
	}
	if s := shadowRead(e, string(path)); s != nil && s.named != nil {
		named, err := chosen(b.Name(), s.named, func(a shadowArray) string { return a.key }, keys)
		if err != nil {
			return nil, err
		}
		return (&shadow{named: named}).dict(e, b.Name())
	}
	f, err := open(e, b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, badPath(e, b.Name(), string(path), err)
	}
	list, err := readNpz(e, f, info.Size(), keys)
	if err != nil {
		return nil, badFile(e, b.Name(), string(path), "an .npz file", err)
	}
	d := starlark.NewDict(len(list))
	for _, v := range list {
		if err := d.SetKey(starlark.String(v.key), e.Wrap(v.t)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// chosen returns those of list, in its order, that the argument keys of fn names: all if it is None.
func chosen[T any](fn string, list []T, keyOf func(T) string, keys arg.Opt[arg.Strings, *arg.Strings]) ([]T, error) {
	if !keys.Set {
		return list, nil
	}
	there := make([]string, len(list))
	for i, v := range list {
		there[i] = keyOf(v)
	}
	for _, key := range keys.V {
		if slices.Contains(there, key) {
			continue
		}
		return nil, noKey(fn, "keys", key, there)
	}
	var out []T
	for i, v := range list {
		if slices.Contains(keys.V, there[i]) {
			out = append(out, v)
		}
	}
	return out, nil
}

// readNpz reads the arrays called keys of the .npz file r, which has size bytes.
func readNpz(e *builtins.Env, r io.ReaderAt, size int64, keys arg.Opt[arg.Strings, *arg.Strings]) ([]namedValue, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, plainZip(err)
	}
	members, err := chosen("load_npz", z.File, npzKey, keys)
	if err != nil {
		return nil, err
	}
	if err := checkMembers(members, size); err != nil {
		return nil, err
	}
	list := make([]namedValue, len(members))
	for i, f := range members {
		x, err := readMember(e, f)
		if err != nil {
			return nil, inMember(f, err)
		}
		list[i] = namedValue{npzKey(f), x}
	}
	return list, nil
}

// npzKey returns the key of the array that the member f is.
func npzKey(f *zip.File) string { return strings.TrimSuffix(f.Name, npyExt) }

// inMember returns err, met in the member f, so that it names it. Errors of
// the machine stay what they are.
func inMember(f *zip.File, err error) error {
	var short *op.ResourceError
	if errors.As(err, &short) {
		return short
	}
	return fmt.Errorf("member %.60q: %w", f.Name, plainZip(err))
}

// plainZip returns err, of a zip file, in a user's words.
func plainZip(err error) error {
	switch {
	case errors.Is(err, zip.ErrFormat):
		return errors.New("it is no valid zip file")
	case errors.Is(err, zip.ErrChecksum):
		return errors.New("its checksum is wrong")
	case errors.Is(err, zip.ErrAlgorithm):
		return errors.New("its compression is neither none nor deflate")
	case errors.As(err, new(flate.CorruptInputError)):
		return errors.New("its compressed bytes are damaged")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("it ends too early")
	}
	return err
}

// mostDeflated is how many bytes one byte of deflated data can stand for.
const mostDeflated = 1032

// checkMembers checks, before anything is unpacked, that the members of a file
// of size bytes are arrays of different names, lie apart, and do not claim to
// hold more than their bytes can stand for.
func checkMembers(members []*zip.File, size int64) error {
	type span struct{ from, to int64 }
	spans := make([]span, 0, len(members))
	seen := map[string]bool{}
	for _, f := range members {
		from, err := f.DataOffset()
		most := f.CompressedSize64
		if f.Method == zip.Deflate {
			most = min(most, uint64(size)) * mostDeflated
		}
		switch {
		case err != nil:
			return inMember(f, err)
		case !strings.HasSuffix(f.Name, npyExt) || !utf8.ValidString(f.Name):
			return inMember(f, errors.New("it is not called KEY.npy"))
		case seen[f.Name]:
			return inMember(f, errors.New("it is there twice"))
		case from > size || f.CompressedSize64 > uint64(size-from):
			return inMember(f, fmt.Errorf("it is said to have %d bytes, and the file has %d", f.CompressedSize64, size))
		case f.UncompressedSize64 > most:
			return inMember(f, fmt.Errorf("its %d bytes cannot hold the %d that they are said to", f.CompressedSize64, f.UncompressedSize64))
		}
		seen[f.Name] = true
		spans = append(spans, span{from, from + int64(f.CompressedSize64)})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return errors.New("its members overlap")
		}
	}
	return nil
}

// readMember reads the array that the member f is.
func readMember(e *builtins.Env, f *zip.File) (*tensor.Tensor, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	counted := &counter{r: r}
	h, err := npy.ReadHeader(counted)
	if err != nil {
		return nil, err
	}
	dt, err := npyType(h)
	if err != nil {
		return nil, fmt.Errorf("%w: keys= of load_npz reads others alone", err)
	}
	if err := shape.Shape(h.Shape).Check(dt.Size()); err != nil {
		return nil, err
	}
	want, have := shape.Shape(h.Shape).Numel()*dt.Size(), int64(f.UncompressedSize64)-counted.n
	if have != int64(want) {
		return nil, fmt.Errorf("it has %d bytes of elements, and its header says %d", have, want)
	}
	x, err := readElements(e, "load_npz", r, h, dt)
	if err != nil {
		return nil, err
	}
	// The end is where the checksum is compared.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	return x, nil
}

// A counter counts the bytes that are read from r.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

func saveNpz(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		path arg.String
		dict starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "dict", &dict); err != nil {
		return nil, err
	}
	list, err := tensorDict(b.Name(), dict)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if err := checkMember(b.Name(), v); err != nil {
			return nil, err
		}
	}
	if done, err := shadowWrite(e, b.Name(), string(path), &shadow{named: shadowNames(list)}); done {
		return starlark.None, err
	}
	return starlark.None, write(e, b.Name(), string(path), func(w io.Writer) error { return writeNpz(e, w, list) })
}

// checkMember checks that v, of the argument dict of fn, can be a member.
func checkMember(fn string, v namedValue) error {
	if npyTypes[v.t.DType()] == "" {
		return &op.ArgError{Func: fn, Param: "dict", Got: fmt.Sprintf("%s for %.60q", op.Describe(v.t), v.key), Want: "another dtype", Rule: ".npz files have no " + v.t.DType().String() + ": save x.to(float32)"}
	}
	if !utf8.ValidString(v.key) || strings.ContainsRune(v.key, 0) || len(v.key) > maxKey {
		return &op.ArgError{Func: fn, Param: "dict", Got: "the key " + arg.Show(starlark.String(v.key)), Want: "a key that a zip file can hold", Rule: fmt.Sprintf("at most %d bytes of UTF-8, none of them 0", maxKey)}
	}
	return nil
}

// maxKey is the length of the longest key, in bytes: zip files give names a
// length of 16 bits.
const maxKey = 1<<16 - 1 - len(npyExt)

// writeNpz writes the .npz file of list, not compressed.
func writeNpz(e *builtins.Env, w io.Writer, list []namedValue) error {
	z := zip.NewWriter(w)
	for _, v := range list {
		if err := writeMember(e, z, v); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeMember writes the member of v, under the date that NumPy gives all of
// them, the first that zip files know.
func writeMember(e *builtins.Env, z *zip.Writer, v namedValue) error {
	x, err := e.Runtime.Do("contiguous", []*tensor.Tensor{v.t})
	if err != nil {
		return err
	}
	sum := crc32.NewIEEE()
	size := &counting{w: sum}
	descr := npyTypes[x.DType()]
	if err := writeNpy(e, size, descr, x); err != nil {
		return err
	}
	const firstDate = 1<<5 | 1 // the first of January, 1980
	w, err := z.CreateRaw(&zip.FileHeader{
		//lint:ignore SA1019 Modified would add an extra field, and the file is to have the bytes that NumPy writes
		Name: v.key + npyExt, Method: zip.Store, Flags: utf8Names, ModifiedDate: firstDate,
		CRC32: sum.Sum32(), CompressedSize64: size.n, UncompressedSize64: size.n,
	})
	if err != nil {
		return err
	}
	return writeNpy(e, w, descr, x)
}

// utf8Names is the flag of a member whose name is UTF-8.
const utf8Names = 0x800

// A counting counts the bytes that are written to w.
type counting struct {
	w io.Writer
	n uint64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += uint64(n)
	return n, err
}
