package pipeline

// Where the chunks of stages lie in the model.

// A shape is how the positions of a model are dealt out to stages.
type shape uint8

const (
	// rounds deals them out in turn: chunk c of stage s is position c*S + s.
	rounds shape = iota
	// vee goes down the stages and back up: stage s has positions s and 2S-1-s.
	vee
	// twoWay has the model twice, of S positions each: stage s has position s of one, which
	// goes down the stages, and position S-1-s of the other, which goes up.
	twoWay
)

// Positions returns how many positions the model has.
func (s *Schedule) Positions() int {
	if s.family.shape == twoWay {
		return s.Stages
	}
	return s.Stages * s.Chunks
}

// Position returns the place of a stage's chunk in the model, from 0.
func (s *Schedule) Position(stage, chunk int) int {
	switch {
	case s.family.shape == rounds:
		return chunk*s.Stages + stage
	case chunk == 0:
		return stage
	default:
		return s.Positions() - 1 - stage
	}
}

// at returns the stage and the chunk that have a position: of the copy of the model that
// chunk belongs to, where there are two.
func (s *Schedule) at(position, chunk int) (stage, its int) {
	switch {
	case s.family.shape == rounds:
		return position % s.Stages, position / s.Stages
	case s.family.shape == twoWay && chunk == 0, s.family.shape == vee && position < s.Stages:
		return position, 0
	default:
		return s.Positions() - 1 - position, 1
	}
}

// First returns the chunk of stage that has the model's first position, in which the
// inputs of micro-batches go in; not ok if it has none.
func (s *Schedule) First(stage int) (chunk int, ok bool) { return s.holds(stage, 0) }

// Last returns the chunk of stage that has the model's last position, where losses are
// computed; not ok if it has none.
func (s *Schedule) Last(stage int) (chunk int, ok bool) { return s.holds(stage, s.Positions()-1) }

func (s *Schedule) holds(stage, position int) (chunk int, ok bool) {
	for chunk := range s.Chunks {
		if s.Position(stage, chunk) == position {
			return chunk, true
		}
	}
	return 0, false
}

// Home returns the stage that has the loss and the outputs of all micro-batches in the
// end: the one with the last position, or the last of two.
func (s *Schedule) Home() int {
	stage, _ := s.at(s.Positions()-1, 0)
	return stage
}

// Peer returns the stage and its chunk at the other end of the exchange a of
// stage; not ok if the model ends there, or a is no exchange. It may be the stage itself.
func (s *Schedule) Peer(stage int, a Action) (peer, chunk int, ok bool) {
	position := s.Position(stage, a.Chunk)
	switch a.Do {
	case RecvForward, SendBackward:
		position--
	case SendForward, RecvBackward:
		position++
	default:
		return 0, 0, false
	}
	if position < 0 || position >= s.Positions() {
		return 0, 0, false
	}
	peer, chunk = s.at(position, a.Chunk)
	return peer, chunk, true
}

// Micros returns the micro-batches that go through a chunk: from lo to hi-1. All do, but
// where the model is there twice the first half takes one way and the second half the other.
func (s *Schedule) Micros(chunk int) (lo, hi int) {
	if s.family.shape == twoWay {
		half := s.Micro / 2
		return chunk * half, (chunk + 1) * half
	}
	return 0, s.Micro
}
