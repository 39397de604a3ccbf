package pipeline

import "sync"

// A Book keeps the schedules of a job: each is made once and checked once for all stages
// and steps. The zero value keeps none. It is safe for concurrent use.
type Book struct {
	mu    sync.Mutex
	pages map[sizes]*page
}

// sizes tell schedules apart.
type sizes struct {
	name                  string
	stages, micro, chunks int
}

// A page is a schedule, and what its Check has said.
type page struct {
	made, checked sync.Once
	schedule      *Schedule
	fault         error
}

// mostPages is how many schedules a Book keeps: a program that always asks for others
// does not fill the memory with them.
const mostPages = 64

// Schedule is New, of a schedule that is to be read only.
func (b *Book) Schedule(name string, stages, micro, chunks int) *Schedule {
	return b.page(sizes{name, stages, micro, chunks}).schedule
}

// Check is the Check of s, which is one of New: it is asked once of those of the book.
func (b *Book) Check(s *Schedule) error {
	p := b.page(sizes{s.Name, s.Stages, s.Micro, s.Chunks})
	if p.schedule != s {
		return s.Check()
	}
	p.checked.Do(func() { p.fault = s.Check() })
	return p.fault
}

// page returns the page of a schedule, which has been made.
func (b *Book) page(of sizes) *page {
	b.mu.Lock()
	p := b.pages[of]
	if p == nil {
		if b.pages == nil || len(b.pages) == mostPages {
			b.pages = map[sizes]*page{}
		}
		p = &page{}
		b.pages[of] = p
	}
	b.mu.Unlock()
	p.made.Do(func() { p.schedule = New(of.name, of.stages, of.micro, of.chunks) })
	return p
}
