package rundiff

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tpsh/builtins/npy"
	"tpsh/builtins/tensorfiles"
	"tpsh/internal/lazyregexp"
	"tpsh/runtime/ckpt"
)

// A block is a tensor of one file: what one rank has, or all.
type block struct {
	dtype string
	shape []int
	read  func() (*array, error)
}

// whole is the rank of a block that is no rank's.
const whole = -1

// A key names a tensor of a run.
type key struct {
	step int // -1 if the run has no steps
	name string
}

// A side is one of the two runs.
type side struct {
	path   string                 // the folder of its files
	name   string                 // as it was given
	blocks map[key]map[int]*block // by rank
	order  []key                  // as the files have them
	known  bool                   // order is that in which they were written
	ranks  int                    // how many there are; 0 if no file is of a rank
	stems  map[string]bool        // parts of file names that tell neither rank nor step
	alone  bool                   // it is one file
	close  []func()
}

var (
	rankWord = lazyregexp.New(`(?i)(^|[._\-/])rank[_\-=]?(\d+)([._\-/]|$)`)
	stepWord = lazyregexp.New(`(?i)(^|[._\-/])(?:step|iter|iteration)[_\-=]?(\d+)([._\-/]|$)`)
	extWord  = lazyregexp.New(`(?i)\.(safetensors|npz|npy|pt|pth|bin)$`)
)

// take removes from text the word that re matches, and returns its number, or -1.
func take(re *regexp.Regexp, text string) (rest string, number int) {
	m := re.FindStringSubmatchIndex(text)
	if m == nil {
		return text, -1
	}
	n, err := strconv.Atoi(text[m[4]:m[5]])
	if err != nil {
		return text, -1
	}
	before, after := text[:m[0]], text[m[1]:]
	if before != "" && after != "" {
		before += text[m[6]:m[7]]
	}
	return before + after, n
}

// maxFiles bounds the files of a run.
const maxFiles = 1 << 16

// IsFile reports whether path is a file that may hold tensors by its name.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && extWord.Get().MatchString(path)
}

// open finds the tensors below a folder, or in a file.
func open(path string) (*side, error) {
	s := &side{path: path, name: path, blocks: map[key]map[int]*block{}, stems: map[string]bool{}, known: true}
	if IsFile(path) {
		s.path, s.alone = filepath.Dir(path), true
		return s, s.addAll([]string{filepath.Base(path)})
	}
	list, err := listTensors(path)
	if err != nil {
		return nil, err
	}
	return s, s.addAll(list)
}

// listTensors returns the files below dir that may hold tensors.
func listTensors(dir string) (list []string, err error) {
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if name, _ := filepath.Rel(dir, path); isTensors(name) {
			list = append(list, filepath.ToSlash(name))
		}
		if len(list) > maxFiles {
			return fmt.Errorf("%s: more than %d files", dir, maxFiles)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no .safetensors, .npz, .npy or .pt files in it", dir)
	}
	slices.SortFunc(list, compareNatural)
	return list, nil
}

// addAll adds the tensors of files. After an error no file is open.
func (s *side) addAll(list []string) error {
	bare := numbered(list)
	for _, name := range list {
		if err := s.add(name, bare); err != nil {
			s.Close()
			return fmt.Errorf("%s: %w", filepath.Join(s.path, name), err)
		}
	}
	return s.settle()
}

// isTensors reports whether a file may hold tensors by its name.
func isTensors(name string) bool {
	return extWord.Get().MatchString(name) || rankWord.Get().MatchString(name) && filepath.Ext(name) != ".json" && filepath.Ext(name) != ".txt"
}

// numbered reports whether all files lie in folders called 0, 1 and so on: those of
// ranks.
func numbered(list []string) bool {
	seen := map[int]bool{}
	for _, name := range list {
		first, _, ok := strings.Cut(name, "/")
		n, err := strconv.Atoi(first)
		if !ok || err != nil || n < 0 {
			return false
		}
		seen[n] = true
	}
	for i := range len(seen) {
		if !seen[i] {
			return false
		}
	}
	return true
}

// Close closes the files.
func (s *side) Close() {
	for _, f := range s.close {
		f()
	}
}

// add adds the tensors of a file.
func (s *side) add(name string, bare bool) error {
	stem := extWord.Get().ReplaceAllString(name, "")
	if bare {
		stem = "rank" + stem
	}
	stem, rank := take(rankWord.Get(), stem)
	stem, step := take(stepWord.Get(), stem)
	stem = strings.Trim(stem, "/._-")
	if s.alone { // its name is nothing that the other's has
		stem, rank, step = "tensor", -1, -1
	}
	put := func(tensor string, b *block) {
		t, r := take(rankWord.Get(), tensor)
		if r < 0 {
			r = rank
		}
		t, n := take(stepWord.Get(), t)
		if n < 0 {
			n = step
		}
		s.put(stem, strings.Trim(t, "/:"), n, r, b)
	}
	path := filepath.Join(s.path, filepath.FromSlash(name))
	head, err := sniff(path)
	if err != nil {
		return err
	}
	switch {
	case strings.HasPrefix(head, "\x93NUMPY"):
		return addNpy(path, func(b *block) { s.put("", stem, step, rank, b) })
	case strings.HasPrefix(head, "PK\x03\x04") && !isTorch(name):
		return s.addNpz(path, put)
	}
	return s.addSet(path, put)
}

func isTorch(name string) bool {
	return slices.Contains([]string{".pt", ".pth", ".bin"}, filepath.Ext(name))
}

// sniff returns the first bytes of a file.
func sniff(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [8]byte
	n, err := io.ReadFull(f, b[:])
	if err != nil && n == 0 {
		return "", fmt.Errorf("a file of no bytes")
	}
	return string(b[:n]), nil
}

// put adds a tensor of a file that is called stem without rank and step.
func (s *side) put(stem, name string, step, rank int, b *block) {
	k := key{step, stem + "\x00" + name}
	s.stems[stem] = true
	if s.blocks[k] == nil {
		s.blocks[k] = map[int]*block{}
		s.order = append(s.order, k)
	}
	s.blocks[k][rank] = b
	s.ranks = max(s.ranks, rank+1)
}

// settle gives tensors their names: with the stem of their file only where the name alone
// would be that of two.
func (s *side) settle() error {
	count := map[key]int{}
	for _, k := range s.order {
		_, name, _ := strings.Cut(k.name, "\x00")
		count[key{k.step, name}]++
	}
	blocks := map[key]map[int]*block{}
	for i, k := range s.order {
		stem, name, _ := strings.Cut(k.name, "\x00")
		named := key{k.step, name}
		if count[named] > 1 && stem != "" {
			named.name = stem + "/" + name
		}
		blocks[named] = s.blocks[k]
		s.order[i] = named
	}
	s.blocks = blocks
	return nil
}

// addSet adds the tensors of a file that package tensorfiles reads.
func (s *side) addSet(path string, put func(string, *block)) error {
	var set *tensorfiles.Set
	var err error
	if extWord.Get().MatchString(path) {
		set, err = tensorfiles.Open(path)
	} else {
		set, err = tensorfiles.OpenSafetensors(path)
	}
	if err != nil {
		return err
	}
	s.close = append(s.close, set.Close)
	s.known = false // its tensors are in order of their names
	for _, t := range set.Tensors {
		put(t.Name, &block{string(t.DType), t.Shape, func() (*array, error) {
			if err := small(t.Shape); err != nil {
				return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			data := make([]byte, t.Bytes())
			if err := set.Read(data, t, ckpt.Whole(t.Shape)); err != nil {
				return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			return numbers(string(t.DType), t.Shape, data)
		}})
	}
	return nil
}

// maxElements bounds a tensor that is compared.
const maxElements = 1 << 31

// small returns an error if a tensor is too large to be compared.
func small(shape []int) error {
	n := 1
	for _, d := range shape {
		if d > 0 && n > maxElements/d {
			return fmt.Errorf("shape %v has more than %d elements", shape, maxElements)
		}
		n *= max(d, 1)
	}
	return nil
}

// npyTypes gives the dtypes that arrays of NumPy may have their names.
var npyTypes = map[string]string{
	"f4": "float32", "f8": "float64", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
	"u8": "uint64", "u4": "uint32", "u2": "uint16", "u1": "uint8", "b1": "bool", "V2": "bfloat16", "c8": "complex64", "c16": "complex128",
}

// addNpz adds the arrays of an .npz file, in its order.
func (s *side) addNpz(path string, put func(string, *block)) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	s.close = append(s.close, func() { z.Close() })
	s.known = s.known && !slices.IsSortedFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) }) || len(z.File) < 3
	for _, e := range z.File {
		// What is compressed is a thousandth of its size at least.
		size := min(e.UncompressedSize64, 1100*min(e.CompressedSize64, uint64(info.Size())))
		b, err := npyBlock(e.Open, int64(size))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		put(strings.TrimSuffix(e.Name, ".npy"), b)
	}
	return nil
}

// addNpy adds the array of an .npy file.
func addNpy(path string, put func(*block)) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := npyBlock(func() (io.ReadCloser, error) { return os.Open(path) }, info.Size())
	if err == nil {
		put(b)
	}
	return err
}

// npyBlock reads the header of an array in a file of size bytes.
func npyBlock(open func() (io.ReadCloser, error), size int64) (*block, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h, err := npy.ReadHeader(r)
	if err != nil {
		return nil, err
	}
	dt := npyTypes[h.Type()]
	if dt == "" {
		return nil, fmt.Errorf("elements of type %q, which are not compared", h.Descr)
	}
	if err := small(h.Shape); err != nil {
		return nil, err
	}
	n := numel(h.Shape) * sizeOf(dt)
	if int64(n) > size {
		return nil, fmt.Errorf("it has %d bytes, want %d for %s%v", size, n, dt, h.Shape)
	}
	return &block{dt, h.Shape, func() (*array, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if _, err := npy.ReadHeader(r); err != nil {
			return nil, err
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("it ends in the middle of an array: %w", err)
		}
		h.ToLittle(data, sizeOf(dt))
		if !h.Fortran {
			return numbers(dt, h.Shape, data)
		}
		back := slices.Clone(h.Shape)
		slices.Reverse(back)
		a, err := numbers(dt, back, data)
		if err != nil {
			return nil, err
		}
		order := make([]int, len(back))
		for i := range order {
			order[i] = len(back) - 1 - i
		}
		return a.permuted(order), nil
	}}, nil
}

// compareNatural orders names so that numbers in them come by value.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if c := cmp.Or(len(m)-len(n), cmp.Compare(m, n)); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
