package tensorfiles

import "strconv"

// A Planned says what Copy would do.
type Planned struct {
	Moves []Move // one for each tensor, in the order in which they are written
	Files int    // how many data files there will be
}

// A Move is what becomes of a tensor.
type Move struct {
	*Tensor
	Pieces int   // how many there will be
	Moved  int64 // the bytes that another writer will have than has them now
}

// Plan says what Copy would do, and reads and writes no elements.
func Plan(s *Set, o *Options) (*Planned, error) {
	c := &copying{src: s, o: o, proof: new(Proof)}
	if err := c.plan(); err != nil {
		return nil, err
	}
	p := &Planned{Files: c.proof.Files}
	for _, t := range c.tensors {
		m := Move{Tensor: t, Pieces: len(c.places[t.Name])}
		for _, to := range c.places[t.Name] {
			for i := range t.Pieces {
				if common, ok := t.Pieces[i].Box.Intersect(to.box); ok && s.writer(t.Pieces[i].File) != to.writer {
					m.Moved += int64(common.Numel() * t.ItemSize())
				}
			}
		}
		p.Moves = append(p.Moves, m)
	}
	return p, nil
}

// writer returns the number of the writer of a file.
func (s *Set) writer(file int) int {
	if s.Format != Own {
		return file
	}
	n, _ := strconv.Atoi(s.Files[file][9:14]) // by the form of names
	return n
}
