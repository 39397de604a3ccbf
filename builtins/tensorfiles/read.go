package tensorfiles

import (
	"errors"
	"io"
	"slices"

	"tpsh/builtins/torchfile"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// pieces is the source of sets whose pieces lie in files as they are.
type pieces struct {
	*files
	span  []byte // what was read for a piece that is not read straight into its place
	torch map[int]*torchfile.File

	damaged []error // of values that are no tensors
}

func (p *pieces) read(dst []byte, t *Tensor, box mesh.Box) error {
	for i := range t.Pieces {
		piece := &t.Pieces[i]
		common, ok := piece.Box.Intersect(box)
		if !ok {
			continue
		}
		if err := p.resolve(t, piece); err != nil {
			return err
		}
		var err error
		if piece.Strides == nil {
			err = p.readRuns(dst, t, piece, box, common)
		} else {
			err = p.readStrided(dst, t, piece, box, common)
		}
		if err != nil {
			return err
		}
		if piece.signs != nil {
			turnSigns(dst, piece.signs, box, common)
		}
	}
	return nil
}

// turnSigns turns bits over in those elements of dst, which holds box, that common has.
func turnSigns(dst, signs []byte, box, common mesh.Box) {
	size := len(signs)
	_ = ckpt.Walk(box, box, common, func(at, _, n int) error {
		for i := at * size; i < (at+n)*size; i++ {
			dst[i] ^= signs[i%size]
		}
		return nil
	})
}

// resolve finds where the elements of a piece lie in its entry, the first time.
func (p *pieces) resolve(t *Tensor, piece *Piece) error {
	if piece.entry == 0 {
		return nil
	}
	file, err := p.get(piece.File)
	if err != nil {
		return err
	}
	size, err := p.size(piece.File)
	if err != nil {
		return err
	}
	name := p.names[piece.File]
	if piece.Offset > size-piece.entry {
		return bad(name, "the file has %d bytes, and the entry of tensor %.60q ends at byte %d", size, t.Name, piece.Offset+piece.entry)
	}
	f, err := torchfile.Open(io.NewSectionReader(file, piece.Offset, piece.entry), piece.entry)
	if err != nil {
		return about(name, err)
	}
	x, ok := f.Value.(*torchfile.Tensor)
	if !ok || x.DType != t.DType || !slices.Equal(x.Shape, piece.Box.Shape()) {
		return bad(name, "the entry at byte %d is not %v%v of tensor %.60q", piece.Offset, t.DType, piece.Box.Shape(), t.Name)
	}
	piece.Offset += x.Storage.Offset + x.Start*int64(t.ItemSize())
	piece.entry, piece.signs = 0, x.Signs
	if !x.Contiguous() {
		piece.Strides = x.Strides
	}
	return nil
}

// readAt fills dst with the bytes of a file from off on.
func (p *pieces) readAt(dst []byte, file int, off int64) error {
	f, err := p.get(file)
	if err != nil {
		return err
	}
	if n, err := f.ReadAt(dst, off); n < len(dst) {
		if errors.Is(err, io.EOF) {
			return bad(p.names[file], "the file has become shorter")
		}
		return err
	}
	return nil
}

// readRuns reads what box and a piece without gaps have in common. Where that is
// one range of the piece, it reads it at once; elements that lie apart it reads run
// by run.
func (p *pieces) readRuns(dst []byte, t *Tensor, piece *Piece, box, common mesh.Box) error {
	size := t.ItemSize()
	first, last := within(piece.Box, common)
	n := common.Numel()
	if last-first+1 != n || n*size == len(dst) {
		return ckpt.Walk(piece.Box, box, common, func(from, to, n int) error {
			return p.readAt(dst[to*size:(to+n)*size], piece.File, piece.Offset+int64(from*size))
		})
	}
	p.span = slices.Grow(p.span[:0], n*size)[:n*size]
	if err := p.readAt(p.span, piece.File, piece.Offset+int64(first*size)); err != nil {
		return err
	}
	return ckpt.Walk(piece.Box, box, common, func(from, to, n int) error {
		copy(dst[to*size:(to+n)*size], p.span[(from-first)*size:])
		return nil
	})
}

// within returns the places among the elements of outer of the first and the last
// of inner.
func within(outer, inner mesh.Box) (first, last int) {
	for d := range outer.Lo {
		n := outer.Hi[d] - outer.Lo[d]
		first, last = first*n+inner.Lo[d]-outer.Lo[d], last*n+inner.Hi[d]-1-outer.Lo[d]
	}
	return first, last
}

// readStrided reads what box and a piece with strides have in common: for each
// place in the other dims a range of the file that holds all places of the dim in
// which neighbours are nearest.
func (p *pieces) readStrided(dst []byte, t *Tensor, piece *Piece, box, common mesh.Box) error {
	size, inner := t.ItemSize(), -1
	for d, n := range common.Shape() {
		if n > 1 && (inner < 0 || piece.Strides[d] < piece.Strides[inner]) {
			inner = d
		}
	}
	steps := torchfile.RowMajor(box.Shape())
	at := slices.Clone(common.Lo)
	count, stride, step := 1, 1, 0
	if inner >= 0 {
		count, stride, step = common.Hi[inner]-common.Lo[inner], piece.Strides[inner], steps[inner]
	}
	bytes := ((count-1)*stride + 1) * size
	p.span = slices.Grow(p.span[:0], bytes)[:bytes]
	for {
		from, to := int64(0), 0
		for d := range at {
			from += int64(at[d]-piece.Box.Lo[d]) * int64(piece.Strides[d])
			to += (at[d] - box.Lo[d]) * steps[d]
		}
		if err := p.readAt(p.span, piece.File, piece.Offset+from*int64(size)); err != nil {
			return err
		}
		for i := range count {
			copy(dst[(to+i*step)*size:][:size], p.span[i*stride*size:])
		}
		if !next(at, common, inner) {
			return nil
		}
	}
}

// next moves at to the next place of box in the dims other than one, and reports
// whether there is one.
func next(at []int, box mesh.Box, but int) bool {
	for d := len(at) - 1; d >= 0; d-- {
		if d == but {
			continue
		}
		if at[d]++; at[d] < box.Hi[d] {
			return true
		}
		at[d] = box.Lo[d]
	}
	return false
}

// verify implements source. What the files themselves have checksums of are the
// storages of archives.
func (p *pieces) verify(s *Set, buf []byte, progress func(done int64)) []error {
	wrong := slices.Clone(p.damaged)
	done := int64(0)
	whole := map[int]bool{}
	for _, t := range s.Tensors {
		for i := range t.Pieces {
			if err := p.verifyPiece(t, &t.Pieces[i], buf, whole); err != nil {
				wrong = append(wrong, err)
			}
			done += int64(t.Pieces[i].Box.Numel() * t.ItemSize())
			progress(done)
		}
	}
	return wrong
}

// verifyPiece reads a piece, and compares it with its checksum if it has one.
func (p *pieces) verifyPiece(t *Tensor, piece *Piece, buf []byte, whole map[int]bool) error {
	if f := p.torch[piece.File]; f != nil {
		if whole[piece.File] {
			return nil
		}
		whole[piece.File] = true
		return about(p.names[piece.File], f.Verify(buf))
	}
	if n := piece.entry; n > 0 && piece.Box.Numel() > 0 {
		at := piece.Offset
		if err := p.resolve(t, piece); err != nil {
			return err
		}
		file, err := p.get(piece.File)
		if err != nil {
			return err
		}
		f, err := torchfile.Open(io.NewSectionReader(file, at, n), n)
		if err == nil {
			err = f.Verify(buf)
		}
		if err != nil {
			return bad(p.names[piece.File], "tensor %.60q: %w", t.Name, err)
		}
		return nil
	}
	return ckpt.Slabs(piece.Box, max(1, len(buf)/t.ItemSize()), func(box mesh.Box) error {
		return p.read(buf[:box.Numel()*t.ItemSize()], t, box)
	})
}
