package op

import (
	"bytes"
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// letterRows returns the rows of a sum of products whose inputs have the dims
// in and whose result has the dims out, a letter each. A letter may be cut
// wherever it stands; if the result does not have it, the ranks' sums are
// summands. And it is linear in each input. Dims of size 1 are broadcast.
func letterRows(c *Call, in []string, out string) []Row {
	var rows []Row
	for _, l := range []byte(distinct(strings.Join(in, ""))) {
		if row, ok := letterRow(c, in, out, l); ok {
			rows = append(rows, row)
		}
	}
	return append(rows, separately(c, allInputs(c)...)...)
}

// letterRow returns the row in which the dims called l are cut; false if an
// input has two of them.
func letterRow(c *Call, in []string, out string, l byte) (Row, bool) {
	row, n := rowOf(c), 1
	for i, term := range in {
		if d := strings.IndexByte(term, l); d >= 0 && c.In[i].Shape()[d] != 1 {
			n = c.In[i].Shape()[d]
		}
	}
	for i, term := range in {
		d := strings.IndexByte(term, l)
		if strings.LastIndexByte(term, l) != d {
			return row, false
		}
		if d >= 0 && c.In[i].Shape()[d] == n {
			row.In[i] = mesh.Shard(d)
		}
	}
	row.Out[0] = summands
	if o := strings.IndexByte(out, l); o >= 0 {
		row.Out[0] = mesh.Shard(o)
	}
	return row, true
}

// Einsum returns the rule of an operator that is the given sum of products, as
// einsum has it, with no ellipsis.
func Einsum(spec string) Rule {
	left, out, _ := strings.Cut(spec, "->")
	in := strings.Split(left, ",")
	return func(c *Call) []Row { return letterRows(c, in, out) }
}

// einsumRows is the rule of einsum.
func einsumRows(c *Call) []Row {
	p, err := parseEinsum(c)
	if err != nil {
		return nil
	}
	return letterRows(c, p.in, p.out)
}

// dimLetters returns letters for ndim dims in front of others.
func dimLetters(ndim int) string {
	l := make([]byte, ndim)
	for d := range l {
		l[d] = byte(d) // and none of the letters of a script
	}
	return string(l)
}

// matmulRows is the rule of matmul.
func matmulRows(c *Call) []Row {
	a, b := c.In[0].Ndim(), c.In[1].Ndim()
	batch := dimLetters(max(a, b, 2) - 2)
	rows, columns := "mk", "kn"
	if a == 1 {
		rows = "k"
	}
	if b == 1 {
		columns = "k"
	}
	in := []string{batch[len(batch)-max(a-2, 0):] + rows, batch[len(batch)-max(b-2, 0):] + columns}
	out := batch + strings.TrimSuffix(rows, "k") + strings.TrimPrefix(columns, "k")
	return letterRows(c, in, out)
}

// linearRows is the rule of linear: where the product is summands, so is the
// bias.
func linearRows(c *Call) []Row {
	lead := dimLetters(c.In[0].Ndim() - 1)
	n := "n"[2-c.In[1].Ndim():] // none of a vector of weights
	in := []string{lead + "k", n + "k", ""}
	if c.In[2] != nil {
		in[2] = n
	}
	return withAddend(letterRows(c, in, lead+n), 2)
}

// addmmRows is the rule of addmm: where the product is summands, so is c.
func addmmRows(c *Call) []Row {
	in := []string{"mn"[2-c.In[0].Ndim():], "mk", "kn"}
	return withAddend(letterRows(c, in, "mn"), 0)
}

// withAddend returns the rows of a product to which input i is added: it is
// summands where the product is. No row has them in i alone.
func withAddend(rows []Row, i int) []Row {
	var out []Row
	for _, row := range rows {
		by, partial := row.Out[0].Partial()
		if _, alone := row.In[i].Partial(); alone {
			continue
		}
		if partial {
			row.In[i] = mesh.Partial(by)
		}
		out = append(out, row)
	}
	return out
}

// summedDiagonals is an einsum without letters twice in a tensor: what is beside
// a diagonal becomes zero, and is summed over. It is nil if there are no such
// letters, or none to name more dims with.
func summedDiagonals(t *Tape, c *Call) []*tensor.Tensor {
	p, err := parseEinsum(c)
	if err != nil {
		panic(&TapeError{err})
	}
	free := common(letters, strings.Join(p.in, "")+p.out, false)
	in, terms, changed := slices.Clone(c.In), make([][]byte, len(p.in)), false
	for i, term := range p.in {
		terms[i] = []byte(term)
		for d := range term {
			first := strings.IndexByte(term, term[d])
			if first == d {
				continue
			}
			if free == "" {
				return nil
			}
			in[i] = t.Where(t.diagonalMask(in[i].Shape(), first, d), in[i], numberIn(in[i].DType(), 0))
			terms[i][d], free, changed = free[0], free[1:], true
		}
	}
	if !changed {
		return nil
	}
	return one(t.Do("einsum", in, Str1(string(bytes.Join(terms, []byte(",")))+"->"+p.out)))
}

// diagonalMask returns a bool tensor that broadcasts to s, in which dims a and b
// have the same size: true where their indices are equal.
func (t *Tape) diagonalMask(s shape.Shape, a, b int) *tensor.Tensor {
	mask := onesOf(len(s))
	mask[a], mask[b] = s[a], s[a]
	return t.Reshape(t.eye(s[a], s[a], dtype.Bool), mask)
}
