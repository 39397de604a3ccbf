package hang

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"tpsh/internal/lazyregexp"
	"tpsh/internal/ranklist"
)

// maxFile is the size of the largest file that is read.
const maxFile = 256 << 20

// ErrNone says that paths hold no evidence at all.
var ErrNone = errors.New("no Flight Recorder dump and no line of a watchdog")

// Read gathers the evidence in files and in the files of folders. A file that a
// dump's name promises to be one and that cannot be read becomes a line of
// Job.Damaged; an error is a path that cannot be opened, or no evidence.
func Read(paths []string) (*Job, error) {
	j := &Job{Ranks: map[int]*Rank{}, Groups: map[string]*Group{}}
	var logs watchdog
	named := &names{dumps: map[string]bool{}}
	for _, p := range paths {
		files, err := list(p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if err := j.readFile(f, &logs, named); err != nil {
				return nil, err
			}
		}
	}
	j.Damaged = append(j.Damaged, named.damaged()...)
	j.link()
	logs.addTo(j)
	if len(j.Ranks) == 0 && len(j.Damaged) == 0 {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, " "), ErrNone)
	}
	return j, nil
}

// maxDepth is how deep folders in a folder are looked into, such as one for each node.
const maxDepth = 4

// list returns path, or the files in it and in its folders if it is one.
func list(path string) ([]string, error) { return listTo(path, maxDepth) }

func listTo(path string, depth int) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().IsRegular() {
		return []string{path}, nil
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: neither a file nor a folder", path)
	}
	rows, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, r := range rows {
		f := filepath.Join(path, r.Name())
		switch t := r.Type(); {
		case t.IsDir() && depth > 0:
			inside, err := listTo(f, depth-1)
			if err != nil && !errors.Is(err, os.ErrPermission) {
				return nil, err
			}
			files = append(files, inside...)
		case t.IsRegular() || t&os.ModeSymlink != 0:
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// rankName matches the names of dumps: a prefix and the rank.
var rankName = lazyregexp.New(`^(.*?)([0-9]{1,6})(\.json|\.pkl|\.pickle)?(?:\.gz)?$`)

// names tells which files are named as a dump beside them is, and hold none: those are
// dumps that were damaged, other files are no evidence.
type names struct {
	dumps map[string]bool // folders and prefixes of dumps, as prefixOf has them
	other []string        // paths of files with the name of a dump that are none
}

// damaged returns a line for each file that is named as the dumps beside it are.
func (n *names) damaged() []string {
	var lines []string
	for _, path := range n.other {
		if n.dumps[prefixOf(path)] {
			lines = append(lines, path+": no dump, though it is named as those beside it are")
		}
	}
	return lines
}

// prefixOf returns the path of a dump without the rank at its end.
func prefixOf(path string) string {
	if m := rankName.Get().FindStringSubmatch(filepath.Base(path)); m != nil {
		return filepath.Join(filepath.Dir(path), m[1]) + "\x00" + m[3]
	}
	return path
}

// readFile takes what evidence a file holds.
func (j *Job) readFile(path string, logs *watchdog, named *names) error {
	b, err := readAll(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return err
		}
		j.Damaged = append(j.Damaged, fmt.Sprintf("%s: %v", path, err))
		return nil
	}
	m := rankName.Get().FindStringSubmatch(filepath.Base(path))
	if logs.read(b) {
		return nil
	}
	d, err := parseDump(b)
	rank := -1
	if m != nil {
		rank, _ = strconv.Atoi(m[2])
	}
	switch {
	case err != nil && (m == nil || isText(b)):
		if m != nil {
			named.other = append(named.other, path)
		}
		return nil // some other file
	case err == nil && d.rank >= 0:
		rank = d.rank
	case err == nil:
		rank, err = d.ownRank(rank)
	}
	switch {
	case err != nil:
		j.Damaged = append(j.Damaged, fmt.Sprintf("%s: %v", path, err))
	case rank < 0 || rank >= maxRank:
		j.Damaged = append(j.Damaged, path+": neither its name nor the dump says of which rank it is")
	default:
		named.dumps[prefixOf(path)] = true
		j.add(rank, path, d)
	}
	return nil
}

// ownRank returns the rank of a dump whose name says that it is the given one: that, if
// it is in all groups of the dump, or else the one that is.
func (d *dump) ownRank(named int) (int, error) {
	var common []int
	for _, c := range d.groups {
		switch {
		case !c.trusted || len(c.ranks) == 0:
		case common == nil:
			common = c.ranks
		default:
			common = slices.DeleteFunc(slices.Clone(common), func(r int) bool { return !slices.Contains(c.ranks, r) })
		}
	}
	switch {
	case len(common) == 0 || slices.Contains(common, named):
		return named, nil
	case len(common) == 1:
		return common[0], nil
	}
	return -1, fmt.Errorf("its name says rank %d, and its groups have %s", named, ranklist.Text(common))
}

// isText reports whether b begins like neither a pickle nor JSON.
func isText(b []byte) bool {
	return len(b) > 0 && b[0] != 0x80 && !slices.Contains([]byte("{(]}"), b[0])
}

func readAll(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := readTo(f)
	if err != nil || !bytes.HasPrefix(b, []byte("\x1f\x8b")) {
		return inUTF8(b), err
	}
	z, err := gzip.NewReader(bytes.NewReader(b)) // a log that has been put by
	if err == nil {
		b, err = readTo(z)
	}
	return inUTF8(b), err
}

// readTo reads up to maxFile bytes.
func readTo(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if len(b) > maxFile {
		return nil, fmt.Errorf("over %d MiB, which no dump is", maxFile>>20)
	}
	return b, err
}

// inUTF8 returns b, of which the mark at the beginning says where it is UTF-16, as Windows' shells write logs.
func inUTF8(b []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		order = binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		order = binary.BigEndian
	default:
		return b
	}
	text := make([]uint16, len(b)/2-1)
	for i := range text {
		text[i] = order.Uint16(b[2*i+2:])
	}
	return []byte(string(utf16.Decode(text)))
}

// add keeps a dump of a rank. Of two, the later is kept, and a pickle before
// JSON, which has no stacks. Two of the same moment that are of the same format may be
// of two ranks, one of which has the other's name.
func (j *Job) add(rank int, path string, d *dump) {
	r := j.rank(rank)
	r.Dumped = true
	if r.raw != nil && r.raw.json == d.json {
		j.Damaged = append(j.Damaged, fmt.Sprintf("%s: a dump of rank %d, as is %s; the later is read", path, rank, strings.Join(r.Files, " ")))
	}
	r.Files = append(r.Files, path)
	if r.raw == nil || better(d, r.raw) {
		r.raw = d
	}
}

func (j *Job) rank(id int) *Rank {
	r := j.Ranks[id]
	if r == nil {
		r = &Rank{ID: id, Status: map[string]Status{}}
		j.Ranks[id] = r
	}
	return r
}

func better(a, b *dump) bool {
	if a.latest() != b.latest() {
		return a.latest() > b.latest()
	}
	return b.json && !a.json
}

// latest returns when the last call of d was made.
func (d *dump) latest() int64 {
	var t int64
	for _, e := range d.entries {
		t = max(t, e.call.Time)
	}
	return t
}

// Stamp returns text that changes when the files of paths do.
func Stamp(paths []string) (string, error) {
	var b strings.Builder
	for _, p := range paths {
		files, err := list(p)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			if info, err := os.Stat(f); err == nil {
				fmt.Fprintln(&b, f, info.Size(), info.ModTime().UnixNano())
			}
		}
	}
	return b.String(), nil
}
