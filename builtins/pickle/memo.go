package pickle

// A memo has the values that a pickle keeps under numbers. Python numbers them
// from 0 on, so they are in a list; numbers far above are in a map, that a file
// that jumps has no list as long as its numbers.
type memo struct {
	list []any
	far  map[uint64]any
	n    uint64 // values kept
}

// nothing stands in the list where no value is kept.
type nothing struct{}

// maxGap is how far the list may grow at once.
const maxGap = 64

func (m *memo) set(i uint64, v any) {
	if _, ok := m.get(i); !ok {
		m.n++
	}
	delete(m.far, i)
	if i >= uint64(len(m.list))+maxGap {
		if m.far == nil {
			m.far = map[uint64]any{}
		}
		m.far[i] = v
		return
	}
	for uint64(len(m.list)) <= i {
		m.list = append(m.list, nothing{})
	}
	m.list[i] = v
}

func (m *memo) get(i uint64) (any, bool) {
	if i < uint64(len(m.list)) {
		if _, none := m.list[i].(nothing); !none {
			return m.list[i], true
		}
	}
	v, ok := m.far[i]
	return v, ok
}
