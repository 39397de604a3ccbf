package tensor

import (
	"math/bits"
	"strings"
	"sync"
	"unsafe"
)

// Buffers of leastBlock bytes and more that are not large are blocks: memory of
// the collector's that is handed out again, without being zeroed, when it is
// dropped. What a core has dropped last it gets first, since its cache still has
// it.
const leastBlock = 1 << 10

// leastBits is bits.Len(leastBlock-1).
const leastBits = 10

// blockPools holds blocks that were dropped, by size class: four sizes for every
// power of two. What nobody takes is the collector's again.
type blockPools [4 * (bits.UintSize - leastBits)]sync.Pool

// blockClass returns the size class of n bytes, at least leastBlock, and the size
// of its blocks: n rounded up to an eighth of the next power of two.
func blockClass(n int) (class, size int) {
	l := max(bits.Len(uint(n-1)), leastBits)
	step := 1 << (l - 3)
	eighths := (n + step - 1) / step // 5 to 8
	return 4*(l-leastBits) + max(eighths, 5) - 5, max(eighths, 5) * step
}

// block returns a buffer of n bytes, at least leastBlock.
func (a *Allocator) block(n int) *Buffer {
	class, size := blockClass(n)
	first, _ := a.blocks[class].Get().(*uint64)
	if first == nil {
		first = rawBlock(size)
	}
	return &Buffer{data: unsafe.Slice((*byte)(unsafe.Pointer(first)), size)[:n], alloc: a, block: true}
}

// rawBlock returns a new block of arbitrary contents, as Go hands it out for strings
// alone: to zero it takes up to a fifth of the time of what then fills it.
func rawBlock(size int) *uint64 {
	var b strings.Builder
	b.Grow(size)
	b.WriteByte(0)
	return (*uint64)(unsafe.Pointer(unsafe.StringData(b.String())))
}

// releaseBlock takes back the memory of a block, which nobody uses any more.
func (a *Allocator) releaseBlock(data []byte) {
	data = data[:cap(data)]
	if a.Poison {
		for i := 0; i < len(data); i += 64 {
			data[i] = 0xA5
		}
	}
	class, _ := blockClass(len(data))
	a.blocks[class].Put((*uint64)(unsafe.Pointer(unsafe.SliceData(data))))
}

// Room returns room for n elements, with arbitrary contents, and the buffer that
// it lies in, which the caller discards when it is done with the room.
func Room[T Element](a *Allocator, n int) ([]T, *Buffer, error) {
	b, err := a.Alloc(n * goType[T]().Size())
	if err != nil || n == 0 {
		return nil, b, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.data))), n), b, nil
}
