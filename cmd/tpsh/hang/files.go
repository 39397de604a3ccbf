package hang

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tpsh/internal/lazyregexp"
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
	for _, p := range paths {
		files, err := list(p)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if err := j.readFile(f, &logs); err != nil {
				return nil, err
			}
		}
	}
	j.link()
	logs.addTo(j)
	if len(j.Ranks) == 0 && len(j.Damaged) == 0 {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, " "), ErrNone)
	}
	return j, nil
}

// list returns path, or the files in it if it is a folder.
func list(path string) ([]string, error) {
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
		if t := r.Type(); t.IsRegular() || t&os.ModeSymlink != 0 {
			f := filepath.Join(path, r.Name())
			if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// rankName matches the names of dumps: a prefix and the rank.
var rankName = lazyregexp.New(`^(.*?)([0-9]{1,6})(\.json|\.pkl|\.pickle)?$`)

// readFile takes what evidence a file holds.
func (j *Job) readFile(path string, logs *watchdog) error {
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
		return nil // some other file
	case err == nil && d.rank >= 0:
		rank = d.rank
	}
	switch {
	case err != nil:
		j.Damaged = append(j.Damaged, fmt.Sprintf("%s: %v", path, err))
	case rank < 0 || rank >= maxRank:
		j.Damaged = append(j.Damaged, path+": neither its name nor the dump says of which rank it is")
	default:
		j.add(rank, path, d)
	}
	return nil
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
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(b) > maxFile {
		return nil, fmt.Errorf("over %d MiB, which no dump is", maxFile>>20)
	}
	return b, err
}

// add keeps a dump of a rank. Of two, the later is kept, and a pickle before
// JSON, which has no stacks.
func (j *Job) add(rank int, path string, d *dump) {
	r := j.rank(rank)
	r.Files, r.Dumped = append(r.Files, path), true
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
