package lang

import "testing"

// A question that meets the order to go on is answered, whichever the rank heeds first.
func TestQuestionsThatComeTooLateAreAnswered(t *testing.T) {
	for range 50 { // enough for both
		front, rank := Pipe()
		h := newHalts(&server{conn: rank})
		h.job = &job{ctx: t.Context()}
		h.asked <- look{7, &Question{What: AskFrames}}
		h.release <- true
		h.stopAt(&snapshot{}, 0, &Halt{Reason: AtStep})
		rank.Close()
		answers := 0
		for {
			data, err := front.Recv(t.Context())
			if err != nil {
				break
			}
			if m, err := decode(data); err != nil {
				t.Fatal(err)
			} else if m.Seen != nil && m.Seq == 7 {
				answers++
			}
		}
		if answers != 1 {
			t.Fatalf("got %d answers to a question, want 1", answers)
		}
	}
}
