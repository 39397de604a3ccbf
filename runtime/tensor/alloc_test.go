package tensor

import (
	"errors"
	goruntime "runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
)

func TestSizeClass(t *testing.T) {
	for n := largeSize; n < 64<<20; n += 4093 {
		c := sizeClass(n)
		if c < n || c > n+n/4 || c%4096 != 0 {
			t.Fatalf("sizeClass(%d) = %d, want a multiple of 4096 at most a quarter larger", n, c)
		}
		if sizeClass(c) != c {
			t.Fatalf("sizeClass(%d) = %d, want %d: a class is its own", c, sizeClass(c), c)
		}
	}
}

// Storage that nothing can reach is handed out again: memory stays bounded.
func TestReuse(t *testing.T) {
	a := NewAllocator(0)
	defer a.Close()
	const size = 16 << 20
	regions := map[*byte]bool{}
	for range 200 {
		b, err := a.Alloc(size)
		if err != nil {
			t.Fatal(err)
		}
		regions[unsafe.SliceData(b.data)] = true
		goruntime.KeepAlive(b)
	}
	if _, peak := a.InUse(); peak > maxSlack+3*size {
		t.Errorf("200 buffers of %d bytes, one in use at a time, took %d bytes at the peak, want at most %d", size, peak, maxSlack+3*size)
	}
	if len(regions) > maxSlack/size+3 {
		t.Errorf("200 buffers lay in %d regions, want at most %d", len(regions), maxSlack/size+3)
	}
}

// Where collections would take much of the time they become rarer, within bounds.
func TestDue(t *testing.T) {
	for _, c := range []struct {
		bytes       int
		since, took time.Duration
		want        bool
	}{
		{minSlack - 1, time.Hour, 0, false},
		{minSlack, 0, 0, true},
		{minSlack, 15 * time.Millisecond, time.Millisecond, false},
		{minSlack, 16 * time.Millisecond, time.Millisecond, true},
		{maxSlack - 1, time.Millisecond, time.Millisecond, false},
		{maxSlack, time.Millisecond, time.Millisecond, true},
	} {
		if got := due(c.bytes, c.since, c.took); got != c.want {
			t.Errorf("due(%d, %v, %v) = %v, want %v", c.bytes, c.since, c.took, got, c.want)
		}
	}
}

// An outlier does not move the mean by much, and the mean follows what lasts.
func TestMean(t *testing.T) {
	var m mean
	for _, c := range []struct{ v, want time.Duration }{{4, 4}, {1000, 6}, {6, 6}, {1, 3}} {
		if m.add(c.v); time.Duration(m) != c.want {
			t.Errorf("after %d the mean is %d, want %d", c.v, time.Duration(m), c.want)
		}
	}
}

// Of many ranks that find a collection due, few collect.
func TestCollectOnce(t *testing.T) {
	const ranks = 40
	a := NewAllocator(1 << 40)
	defer a.Close()
	first := a.take(maxSlack, true)
	var before, after goruntime.MemStats
	goruntime.ReadMemStats(&before)
	var all sync.WaitGroup
	var pieces [ranks]piece
	for r := range ranks {
		all.Go(func() { pieces[r], _ = a.region(10 << 20) })
	}
	all.Wait()
	goruntime.ReadMemStats(&after)
	if got := after.NumForcedGC - before.NumForcedGC; got < 1 || got > ranks/2 {
		t.Errorf("%d ranks collected %d times, want 1 to %d", ranks, got, ranks/2)
	}
	for _, m := range append(pieces[:], first) {
		a.release(m)
	}
}

// What is most goes first, until no more lies free than is to be kept.
func TestTrim(t *testing.T) {
	const unit = 16 << 20 // no size that is carved
	a := NewAllocator(0)
	defer a.Close()
	var all []piece
	for _, size := range []int{unit, unit, unit, 2 * unit} {
		all = append(all, a.take(size, true))
	}
	for _, m := range all {
		a.release(m)
	}
	for _, keep := range []int{5 * unit, 4*unit + 1, unit, 0} {
		a.trim(keep)
		small, large := len(a.free[unit]), len(a.free[2*unit])
		if a.spare > keep || a.spare != small*unit+large*2*unit {
			t.Errorf("trimmed to %d bytes: %d of 16 MiB and %d of 32 MiB are left, counted as %d bytes", keep, small, large, a.spare)
		}
		if keep == 4*unit+1 && small != 2 {
			t.Errorf("trimmed to %d bytes: %d of 3 small regions are left, want 2: their class has most bytes", keep, small)
		}
	}
}

// What is still reachable is never handed out to somebody else, whatever the
// collector and other ranks do.
func TestNoUseAfterRelease(t *testing.T) {
	a := NewAllocator(0)
	a.Poison = true
	defer a.Close()
	var ranks sync.WaitGroup
	for rank := range 4 {
		ranks.Go(func() {
			var kept []*Tensor
			for i := range 60 {
				x, err := New(a, dtype.Uint8, shape.Shape{8 << 20})
				if err != nil {
					t.Error(err)
					return
				}
				d := Data[uint8](x)
				mark := uint8(rank*60+i)&0x7f | 1
				d[0], d[len(d)-1] = mark, mark
				if i%7 == 0 {
					kept = append(kept, x.View(shape.Shape{4}, []int{1}, 0))
				}
			}
			for k, x := range kept {
				want := uint8(rank*60+7*k)&0x7f | 1
				if got := Data[uint8](x)[0]; got != want {
					t.Errorf("rank %d: kept tensor %d holds %#x, want %#x", rank, k, got, want)
				}
			}
			goruntime.KeepAlive(kept)
		})
	}
	ranks.Wait()
}

func TestLimit(t *testing.T) {
	a := NewAllocator(1 << 20)
	defer a.Close()
	var m *MemoryError
	if _, err := New(a, dtype.Float32, shape.Shape{1 << 20}); !errors.As(err, &m) || m.Limit != 1<<20 {
		t.Errorf("4 MiB of 1 MiB allowed: got error %v, want a *MemoryError", err)
	}
	for range 100 { // released storage counts no more
		if _, err := New(a, dtype.Float32, shape.Shape{1 << 17}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestView(t *testing.T) {
	a := NewAllocator(0)
	defer a.Close()
	x, err := New(a, dtype.Int64, shape.Shape{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		Data[int64](x)[i] = int64(i)
	}
	row := x.View(shape.Shape{3}, []int{1}, 3)
	if got := Data[int64](row)[0]; got != 3 {
		t.Errorf("second row begins with %d, want 3", got)
	}
	if col := x.View(shape.Shape{2}, []int{3}, 1); col.Contiguous() {
		t.Error("a column counts as contiguous")
	}
	defer func() {
		if recover() == nil {
			t.Error("a view outside the storage did not panic")
		}
	}()
	x.View(shape.Shape{4}, []int{2}, 0)
}

// With a limit that was asked for, small buffers count: those that are held, and not
// those that were.
func TestStrictCountsSmall(t *testing.T) {
	for _, n := range []int{8, 200, 4096} {
		a := NewAllocator(1 << 20)
		a.Strict = true
		for range 3 << 20 / n {
			if _, err := a.Alloc(n); err != nil {
				t.Fatalf("buffers of %d bytes that nobody holds: %v", n, err)
			}
		}
		var held []*Buffer
		for {
			b, err := a.Alloc(n)
			if err != nil {
				if !errors.As(err, new(*MemoryError)) {
					t.Fatal(err)
				}
				break
			}
			if held = append(held, b); len(held) > 1<<20/n {
				t.Fatalf("%d buffers of %d bytes are held under a limit of 1 MiB", len(held), n)
			}
		}
		if len(held) < 1<<19/n {
			t.Errorf("only %d buffers of %d bytes may be held", len(held), n)
		}
		goruntime.KeepAlive(held)
	}
}
