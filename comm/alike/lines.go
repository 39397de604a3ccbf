package alike

import (
	"encoding/binary"
	"slices"
)

// Lines say which list of ranks each rank of a job means by one list of the
// stand-in of its kind. They are immutable, and those of a job that say the same are
// one pointer.
type Lines struct {
	lists [][]int // to be read only
	of    []int32 // by rank: which of lists; nil for the first
	place []int32 // by rank: its place there, -1 outside
}

// List returns the ranks that rank means, to be read only.
func (l *Lines) List(rank int) []int { return l.lists[l.Index(rank)] }

// Index tells the list that rank means from others.
func (l *Lines) Index(rank int) int {
	if l.of == nil {
		return 0
	}
	return int(l.of[rank])
}

// Place returns where in its list rank is; -1 if it is not.
func (l *Lines) Place(rank int) int { return int(l.place[rank]) }

// Count returns how many lists there are.
func (l *Lines) Count() int { return len(l.lists) }

// constant returns the lines by which every rank means ranks.
func constant(size int, ranks []int) *Lines {
	l := &Lines{lists: [][]int{ranks}, place: make([]int32, size)}
	l.fill()
	return l
}

// fill sets the places.
func (l *Lines) fill() {
	for i := range l.place {
		l.place[i] = -1
	}
	for n, list := range l.lists {
		for i, rank := range list {
			if l.Index(rank) == n {
				l.place[rank] = int32(i)
			}
		}
	}
}

// A Part says which part of a list its ranks mean, by their places in it.
type Part struct {
	First func(place int) int   // the first of the places that the rank at place means, which tells the part from others
	All   func(place int) []int // all of them
}

// along returns the lines in which each rank means the part of its list in l that part says. A
// rank outside its list means the same as the first one in it.
func (l *Lines) along(part Part) *Lines {
	type origin struct{ list, first int }
	out := &Lines{of: make([]int32, len(l.place)), place: make([]int32, len(l.place))}
	known := map[origin]int32{}
	for rank := range l.place {
		n := l.Index(rank)
		place := max(0, l.Place(rank))
		at := origin{n, part.First(place)}
		i, ok := known[at]
		if !ok {
			places := part.All(place)
			i = int32(len(out.lists))
			known[at] = i
			list := make([]int, len(places))
			for k, p := range places {
				list[k] = l.lists[n][p]
			}
			out.lists = append(out.lists, list)
		}
		out.of[rank] = i
	}
	out.fill()
	return out
}

// key returns a text that lines share which say the same.
func (l *Lines) key() string {
	var b []byte
	for _, list := range l.lists {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, rank := range list {
			b = binary.AppendUvarint(b, uint64(rank))
		}
	}
	b = append(b, 0)
	if len(l.lists) > 1 {
		for _, i := range l.of {
			b = binary.AppendUvarint(b, uint64(i))
		}
	}
	return string(b)
}

// Constant returns the lines by which every rank of the job means ranks.
func (j *Job) Constant(ranks []int) *Lines { return j.intern(constant(j.size, slices.Clone(ranks))) }

// A derived is a way to lines from others, by a name.
type derived struct {
	from *Lines
	how  string
}

// Along returns the lines in which each rank means the part of its list in l that part says. A
// rank outside its list means the same as the first in it. how names part, which is asked
// only the first time.
func (j *Job) Along(l *Lines, how string, part Part) *Lines {
	key := derived{l, how}
	j.mu.Lock()
	known := j.ways[key]
	j.mu.Unlock()
	if known != nil {
		return known
	}
	out := j.intern(l.along(part))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ways[key] = out
	return out
}

// intern returns the lines of the job that are equal to l.
func (j *Job) intern(l *Lines) *Lines {
	if len(l.lists) == 1 {
		l.of = nil
	}
	key := l.key()
	j.mu.Lock()
	defer j.mu.Unlock()
	if known := j.lines[key]; known != nil {
		return known
	}
	j.lines[key] = l
	return l
}
