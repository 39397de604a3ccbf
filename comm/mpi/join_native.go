//go:build native && linux

package mpi

import (
	"encoding/binary"
	"fmt"
	goruntime "runtime"
	"slices"
)

// threadSerialized is MPI_THREAD_SERIALIZED: threads call MPI one at a time.
const threadSerialized = 2

// initialise calls MPI_Init_thread.
func (c *calls) initialise() error {
	s := c.scratch
	if err := c.call("MPI_Init_thread", c.functions.initThread, 0, 0, threadSerialized, address(&s.number)); err != nil {
		return err
	}
	if s.number < threadSerialized {
		c.finalize()
		return fmt.Errorf("mpi: %v supports threads at level %d, want %d (MPI_THREAD_SERIALIZED)", c.Library, s.number, threadSerialized)
	}
	return c.returns(c.all)
}

// returns has errors of a communicator returned: they would end the process.
func (c *calls) returns(comm uintptr) error {
	return c.call("MPI_Comm_set_errhandler", c.functions.commSetErrhandler, comm, c.returnErrors)
}

// join returns the world, if it is the one that the launcher has started.
func (c *calls) join(o Options) (*World, error) {
	rank, err := c.ask("MPI_Comm_rank", c.functions.commRank, c.all)
	if err != nil {
		return nil, err
	}
	size, err := c.ask("MPI_Comm_size", c.functions.commSize, c.all)
	if err != nil {
		return nil, err
	}
	if err := o.Launch.check(rank, size, c.Library); err != nil {
		return nil, err
	}
	for i := range c.circles {
		if err := c.call("MPI_Comm_dup", c.functions.commDup, c.all, address(&c.scratch.handle)); err != nil {
			return nil, err
		}
		c.circles[i] = c.handle()
		if err := c.returns(c.circles[i]); err != nil {
			return nil, err
		}
	}
	hosts, err := c.hosts(rank, size)
	if err != nil {
		return nil, err
	}
	return newWorld(c, &threadBell{}, rank, size, hosts, c.Library.String()), nil
}

// ask returns a number of a communicator: its size, for example.
func (c *calls) ask(name string, f, comm uintptr) (int, error) {
	err := c.call(name, f, comm, address(&c.scratch.number))
	return int(c.scratch.number), err
}

// hosts returns by rank the lowest rank on its machine.
func (c *calls) hosts(rank, size int) ([]int, error) {
	f := &c.functions
	err := c.call("MPI_Comm_split_type", f.commSplitType, c.all, uintptr(c.family.sharedMemory), uintptr(rank), c.noInfo, address(&c.scratch.handle))
	if err != nil {
		return nil, err
	}
	here := c.handle()
	n, err := c.ask("MPI_Comm_size", f.commSize, here)
	if err != nil {
		return nil, err
	}
	local, err := c.gather(here, n, rank)
	if err != nil {
		return nil, err
	}
	c.setHandle(here)
	if err := c.call("MPI_Comm_free", f.commFree, address(&c.scratch.handle)); err != nil {
		return nil, err
	}
	return c.gather(c.all, size, slices.Min(local))
}

// gather returns what each of n ranks of a communicator has for number.
func (c *calls) gather(comm uintptr, n, number int) ([]int, error) {
	mine, all := make([]byte, 4), make([]byte, 4*n)
	binary.NativeEndian.PutUint32(mine, uint32(number))
	var pins goruntime.Pinner // a stack might move
	defer pins.Unpin()
	pins.Pin(&mine[0])
	pins.Pin(&all[0])
	if err := c.call("MPI_Allgather", c.functions.allgather, start(mine), 4, c.bytes, start(all), 4, c.bytes, comm); err != nil {
		return nil, err
	}
	var numbers []int
	for ; len(all) > 0; all = all[4:] {
		numbers = append(numbers, int(binary.NativeEndian.Uint32(all)))
	}
	return numbers, nil
}

func (c *calls) probe(in circle) (a arrival, found bool, err error) {
	s := c.scratch
	f := c.family
	err = c.call("MPI_Iprobe", c.functions.iprobe, signed(f.anySource), signed(f.anyTag), c.circles[in], address(&s.number), address(&s.status[0]))
	if err != nil || s.number == 0 {
		return a, false, err
	}
	return arrival{f.sourceOf(s.status[:]), f.tagOf(s.status[:]), f.count(s.status[:])}, true, nil
}

// signed returns an int as an argument.
func signed(n int32) uintptr { return uintptr(uint32(n)) }

func (c *calls) send(in circle, to, tag int, b []byte) (request, error) {
	err := c.call("MPI_Isend", c.functions.isend, start(b), uintptr(len(b)), c.bytes, uintptr(to), uintptr(tag), c.circles[in], address(&c.scratch.handle))
	return request(c.handle()), err
}

func (c *calls) receive(in circle, from, tag int, b []byte) (request, error) {
	err := c.call("MPI_Irecv", c.functions.irecv, start(b), uintptr(len(b)), c.bytes, uintptr(from), uintptr(tag), c.circles[in], address(&c.scratch.handle))
	return request(c.handle()), err
}

func (c *calls) listen(in circle, b []byte) (request, error) {
	f := c.family
	err := c.call("MPI_Irecv", c.functions.irecv, start(b), uintptr(len(b)), c.bytes, signed(f.anySource), signed(f.anyTag), c.circles[in], address(&c.scratch.handle))
	return request(c.handle()), err
}

func (c *calls) collect(k *collective) (request, error) {
	err := c.call("MPI_Ibcast", c.functions.ibcast, start(k.bytes), uintptr(len(k.bytes)), c.bytes, uintptr(k.root), c.circles[whole], address(&c.scratch.handle))
	return request(c.handle()), err
}

func (c *calls) test(r request) (done bool, a arrival, err error) {
	s, f := c.scratch, c.family
	c.setHandle(uintptr(r))
	if err := c.call("MPI_Test", c.functions.test, address(&s.handle), address(&s.number), address(&s.status[0])); err != nil {
		return false, a, err
	}
	if s.number == 0 {
		return false, a, nil
	}
	return true, arrival{f.sourceOf(s.status[:]), f.tagOf(s.status[:]), f.count(s.status[:])}, nil
}

func (c *calls) cancel(r request) {
	c.setHandle(uintptr(r))
	c.call("MPI_Cancel", c.functions.cancel, address(&c.scratch.handle))
}

func (c *calls) abort(status int) {
	c.call("MPI_Abort", c.functions.abort, c.all, uintptr(status))
}

func (c *calls) finalize() error {
	for i := range c.circles {
		if c.circles[i] != 0 {
			c.setHandle(c.circles[i])
			c.call("MPI_Comm_free", c.functions.commFree, address(&c.scratch.handle))
		}
	}
	return c.call("MPI_Finalize", c.functions.finalize)
}
