package rundiff

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tpsh/builtins/tensorfiles"
	"tpsh/internal/lazyregexp"
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
	known  bool                   // order is that in which they were written; false as soon as a file has its tensors by name
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
			var bad *tensorfiles.FormatError
			if errors.As(err, &bad) && bad.File == filepath.Base(name) {
				err = bad.Err // the path says which file
			}
			return fmt.Errorf("%s: %w", filepath.Join(s.path, name), err)
		}
	}
	s.settle()
	return nil
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
	case filepath.Ext(name) == ".npy":
		return errors.New("it does not begin as the files of numpy.save do")
	case filepath.Ext(name) == ".npz":
		return errors.New("it is no zip archive, as numpy.savez writes")
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
func (s *side) settle() {
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
