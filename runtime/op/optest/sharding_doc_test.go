package optest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// docs/sharding.md shows what every operator does with placed inputs, as the
// calls of this file do. `go test ./runtime/op/optest -run ShardingDoc -update`
// writes it.
const shardingPath = "../../../docs/sharding.md"

// mayGather lists the operators that may have every rank receive all of an input
// that is cut, because there is no better way, and why.
var mayGather = map[string]string{
	"sort": "along the cut dim, of few ranks, of less than 2 (n-1)² elements on each of n, and of elements of 64 bits; by columns else", "element_at": "along the cut dim, where the elements are less than the counts of their digits", "topk": "along the cut dim, where a block has fewer than k",
	"var": ofMoments, "std": ofMoments, "moments": ofMoments,
	"nonzero":       "how many there are depends on all elements",
	"masked_select": "how many there are depends on all elements",
	"index":         "by a bool mask: how many there are depends on all elements",
	"index_put":     "by a bool mask, of values as many as it selects",
	"index_put_":    "by a bool mask, of values as many as it selects",
	"fft_parts":     "along the transformed dim, where there is no other to cut",
	"fft_real":      "along the transformed dim, where there is no other to cut",
	"scatter_fold":  "along the indexed dim: every part of src may belong to any part of x",
	"scatter_put":   "along the indexed dim: scatter flattens x then",
	"unpool_put":    "along the places: an element may belong anywhere in its channel",
	"unpool_add":    "along the places: an element may belong anywhere in its channel",
	"window_max":    ofWindows, "window_sum": ofWindows, "window_spread": ofWindows,
	"one_hot":            "without num_classes: there are as many as the largest index needs",
	"multinomial":        "along the categories: each draw depends on all of them",
	"latest":             "of equal indices the last wins, whichever rank has it",
	"bag_of":             "where bags begin is a few numbers, which every rank needs",
	"cross_entropy_grad": "of a mean, which is the gradient of a loss that is whole: of what is cut it is that of a sum",
	"full":               "the value, which is one element", "full_like": "the value, which is one element",
	"class_weights":  "of a mean, which counts the targets of all ranks; cross_entropy uses that of a sum",
	"matrix_inverse": ofMatrices, "matrix_solve": ofRows, "matrix_lstsq": ofMatrices, "log_det": ofMatrices, "matrix_cholesky": ofRows,
	"matrix_qr": ofTall, "matrix_svd": ofTall, "matrix_eigh": ofMatrices, "matrix_svdvals": ofTall, "matrix_eigvalsh": ofMatrices, "matrix_exp": ofMatrices,
	"matrix_lu": ofMatrices, "matrix_pivots": ofMatrices, "matrix_info": ofMatrices, "matrix_triangular": ofMatrices, "matrix_reflectors": ofMatrices, "matrix_eig": ofMatrices, "matrix_eigvals": ofMatrices,
	"complex_log_det": ofMatrices, "complex_svd": ofMatrices, "complex_eigh": ofMatrices, "complex_lu": ofMatrices, "complex_info": ofMatrices, "complex_reflectors": ofMatrices, "complex_eig": ofMatrices, "complex_eigvals": ofMatrices,
	"matrix_ldl": ofMatrices, "matrix_ldl_solve": ofMatrices, "complex_ldl": ofMatrices, "complex_ldl_solve": ofMatrices,
	"scaled_dot_product_attention": "key and value along the sequence, of which every query reads all",
}

const ofMoments = "the number, mean and M2 of each rank's block, in one exchange"

const ofWindows = "along the dims of images, which are pooled by slices instead where they are cut"

const ofTall = "what is not taller than its columns times the ranks; taller matrices are factored by blocks (TSQR), of which triangles are gathered"

const ofRows = "few rows, or columns; of 32 rows or more for each rank panels of columns are gathered, one after the other, and batches stay cut"

const ofMatrices = "every element of a matrix has a part in each of its decomposition; batches stay cut"

func TestShardingDoc(t *testing.T) {
	got := shardingPage(shardingTable(t))
	if t.Failed() {
		return
	}
	if *update {
		if err := os.WriteFile(shardingPath, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(shardingPath)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(got, "\n") {
		if old := strings.Split(string(want), "\n"); i >= len(old) || old[i] != line {
			t.Fatalf("%s, line %d: got %q, want %q\nrun: go test ./runtime/op/optest -run ShardingDoc -update", shardingPath, i+1, old[min(i, len(old)-1)], line)
		}
	}
}

// A docCall is a call that the page shows, and what came of it in each way of
// placing its inputs, on a line of 2 ranks and one of 4.
type docCall struct {
	tr    *ringTrial
	cases [2][]*ringCase
	found [2][]docOutcome
}

// A docOutcome is what came of one case.
type docOutcome struct {
	to      string // how the results lie, or "refused"
	bytes   int    // that a rank receives, on average
	gathers bool   // an input that is cut is made whole on every rank
}

var docRings = [2]ring{{sizes: []int{2}}, {sizes: []int{4}}}

// shardingTable runs all calls of the page. It fails the test if an operator
// gathers that may not.
func shardingTable(t *testing.T) (calls []*docCall) {
	for _, d := range ofReals() {
		if !ofRegions[d.Name] {
			calls = append(calls, docCalls(t, d)...)
		}
	}
	for k := range docRings {
		find(t, k, calls)
	}
	for _, call := range calls {
		if at := call.gathers(); at != nil && mayGather[call.tr.d.Name] == "" {
			t.Errorf("%s gathers what is cut as %s, want a rule that does not, or a reason in mayGather", call, at.text())
		}
	}
	return calls
}

// find runs the cases of calls on the k-th of docRings.
func find(t *testing.T, k int, calls []*docCall) {
	t.Helper()
	g := docRings[k]
	c := newTeam(t, g)
	defer c.stop()
	for _, call := range calls {
		for _, pc := range call.cases[k] {
			all := c.try(pc)
			if wrong, sound := judge(pc, all, g.ranks()); wrong != "" || !sound {
				t.Fatalf("%v: %s", pc, wrong)
			}
			call.found[k] = append(call.found[k], outcome(pc, all))
		}
	}
}

// outcome says what came of pc.
func outcome(pc *ringCase, all []verdict) docOutcome {
	if all[0].err != nil {
		return docOutcome{to: "refused"}
	}
	var o docOutcome
	for _, v := range all {
		o.bytes += v.sent
		o.gathers = o.gathers || v.gathers
	}
	o.bytes = (o.bytes + len(all) - 1) / len(all)
	o.to = shortOf(all[0].to)
	return o
}

// gathers returns a case in which one input alone is cut, and is gathered though
// no other is larger; nil if there is none. It does not count where the target of
// a call in place is replicated, which it has to stay.
func (c *docCall) gathers() *ringCase {
	for k := range c.cases {
		for i, o := range c.found[k] {
			pc := c.cases[k][i]
			moved := pc.moved()
			if !o.gathers || len(moved) != 1 || c.tr.d.InPlace && moved[0] != 0 {
				continue
			}
			larger := func(x *tensor.Tensor) bool { return x != nil && x.Numel() > c.tr.in[moved[0]].Numel() }
			if !slices.ContainsFunc(c.tr.in, larger) {
				return pc
			}
		}
	}
	return nil
}

// moved returns the inputs that are not replicated.
func (c *ringCase) moved() (inputs []int) {
	for i, p := range c.place {
		if p != nil && !p[0].IsReplicate() {
			inputs = append(inputs, i)
		}
	}
	return inputs
}

// docCalls returns the calls of d that the page shows.
func docCalls(t *testing.T, d *op.Def) []*docCall {
	t.Helper()
	var calls []*docCall
	list := docExamples(d)
	for _, ex := range list {
		tr := docTrial(d, ex)
		if tr == nil {
			t.Errorf("%s(%s): no dtype is accepted", d.Name, ex.original)
			continue
		}
		call := &docCall{tr: tr}
		for k, g := range docRings {
			for _, place := range docPlacements(tr) {
				call.cases[k] = append(call.cases[k], &ringCase{tr: tr, sizes: g.sizes, place: place, traced: true})
			}
		}
		calls = append(calls, call)
	}
	return calls
}

// twofold lists the operators of which the page shows two calls.
var twofold = set2("sum", "mean", "max", "argmax", "amax", "any", "prod", "var", "norm", "softmax", "matmul", "reshape", "squeeze",
	"select", "cat", "pad", "one_hot", "index")

// docExamples returns the examples that the page shows, in sizes that 2 and 4
// divide where the call takes them.
func docExamples(d *op.Def) []example {
	var list []example
	for _, ex := range examples[d.Name] {
		if ex.tensors() == 0 || len(list) > 0 && !twofold[d.Name] {
			continue
		}
		if list = append(list, enlarged(d, ex)); len(list) == 2 {
			break
		}
	}
	return list
}

// tensors returns how many inputs are tensors of a dim or more.
func (e example) tensors() int {
	n := 0
	for _, in := range e.in {
		if len(in.shape) > 0 {
			n++
		}
	}
	return n
}

// enlarged returns ex with its sizes four times as large, and those among its
// arguments, too, if they have to be; ex itself if the call does not take them.
func enlarged(d *op.Def, ex example) example {
	const times = 4
	larger := ex
	larger.in = slices.Clone(ex.in)
	for i, in := range ex.in {
		if in.data != nil {
			continue
		}
		larger.in[i].shape = slices.Clone(in.shape)
		for k, n := range in.shape {
			if n > 1 {
				larger.in[i].shape[k] = times * n
			}
		}
		larger.in[i].hi = times * in.hi
	}
	if docTrial(d, larger) != nil {
		return larger
	}
	larger.args = slices.Clone(ex.args)
	for i, a := range ex.args {
		if a.Ints != nil {
			larger.args[i].Ints = slices.Clone(a.Ints)
			for k, n := range a.Ints {
				if n > 1 {
					larger.args[i].Ints[k] = times * n
				}
			}
		} else if a.Int > 1 {
			larger.args[i].Int = times * a.Int
		}
	}
	if docTrial(d, larger) != nil {
		return larger
	}
	return ex
}

// docTrial returns ex in the first of the dtypes that the operator takes; nil if
// in none.
func docTrial(d *op.Def, ex example) *ringTrial {
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Int64, dtype.Bool} {
		tr := newTrial(d, ex, dt)
		c, draws, err := drawing(newTrial(d, ex, dt))
		if err == nil {
			return &ringTrial{trial: tr, want: c.Out, draws: draws, after: tr.in, inexact: 1}
		}
	}
	return nil
}

// maxShown is up to how many ways to place the inputs all are shown.
const maxShown = 40

// docPlacements returns the ways to place the inputs that the page shows: all
// that place one input and replicate the others, and all others if there are
// few, or else those that a row of the rule takes.
func docPlacements(tr *ringTrial) [][][]mesh.Placement {
	choices := make([][][]mesh.Placement, len(tr.in))
	total := 1
	for i, x := range tr.in {
		for _, p := range placementsOf(x, []int{2}) {
			if p != nil && p[0].Kind() == "RaggedShard" { // which are for one number of ranks
				continue
			}
			if p == nil || !isPartial(p) || p[0] == mesh.Partial(mesh.Sum) || p[0] == mesh.Partial(mesh.Max) && tr.ex.tensors() == 1 {
				choices[i] = append(choices[i], p)
			}
		}
		if len(choices[i]) > 1 {
			choices[i] = choices[i][1:] // not plain
		}
		total *= len(choices[i])
	}
	var list [][][]mesh.Placement
	at := make([]int, len(choices))
	for more := advance(at, choices); more; more = advance(at, choices) {
		place := make([][]mesh.Placement, len(choices))
		for i, k := range at {
			place[i] = choices[i][k]
		}
		c := &ringCase{tr: tr, place: place}
		if total <= maxShown || len(c.moved()) == 1 || inRule(tr, place) {
			list = append(list, place)
		}
	}
	return list
}

// inRule reports whether a row of the operator's rule takes inputs placed so.
func inRule(tr *ringTrial, place [][]mesh.Placement) bool {
	c := standIns(tr.trial)
	if tr.d.Shard == nil || tr.d.Infer(c) != nil {
		return false
	}
	return slices.ContainsFunc(tr.d.Shard(c), func(row op.Row) bool {
		for i, p := range place {
			if p != nil && row.In[i] != p[0] {
				return false
			}
		}
		return true
	})
}

// String returns the call as the page shows it: sum(float32[8, 12], dim=1).
func (c *docCall) String() string { return c.tr.d.Name + "(" + c.tr.takes() + ")" }

// takes lists the arguments of the call, those without a default or other than it
// by their names.
func (pt *ringTrial) takes() string {
	var list []string
	i, k := 0, 0
	for n := range pt.d.Params {
		p := &pt.d.Params[n]
		switch {
		case p.Kind == op.Tensors:
			for ; i < len(pt.in); i++ {
				list = append(list, inputText(pt.ex.in[i], pt.in[i]))
			}
		case p.IsTensor():
			if pt.in[i] != nil {
				list = append(list, inputText(pt.ex.in[i], pt.in[i]))
			}
			i++
		default:
			if text := argText(p, pt.args[k]); text != "" {
				list = append(list, text)
			}
			k++
		}
	}
	return strings.Join(list, ", ")
}

func inputText(in input, x *tensor.Tensor) string {
	if x.Weak() {
		return in.String()
	}
	return op.Describe(x)
}

// argText returns an argument by its name; "" if it is the default.
func argText(p *op.Param, a op.Arg) string {
	text := argString(a)
	switch {
	case p.Default != nil && argString(*p.Default) == text:
		return ""
	case a.Ints != nil:
		text = shape.Shape(a.Ints).Join()
		text = "[" + text + "]"
	case p.Kind == op.Bool && a.Int != 0:
		text = "True"
	case p.Kind == op.Bool:
		text = "False"
	case p.Kind == op.DType || p.Kind == op.OptDType && a.Set:
		text = dtype.DType(a.Int).String()
	}
	return p.Name + "=" + text
}
