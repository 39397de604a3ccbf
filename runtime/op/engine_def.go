package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Surface says where scripts find an operator.
type Surface uint16

const (
	Method    Surface = 1 << iota // x.name(...)
	Function                      // name(...)
	Namespace                     // F.name(...)
	Internal                      // gradients only
	Operator                      // a symbol: x + y, -x
	Linalg                        // linalg.name(...)
	FFT                           // fft.name(...)
	Special                       // special.name(...)
	Windows                       // signal.windows.name(...)
	Masked                        // masked.name(...)
)

// Spaces are the surfaces that are modules of the language, with the names that
// scripts and PyTorch have for them.
var Spaces = []struct {
	Surface        Surface
	Script, Python string
}{
	{Namespace, "F", "torch.nn.functional"}, {Linalg, "linalg", "torch.linalg"}, {FFT, "fft", "torch.fft"},
	{Special, "special", "torch.special"}, {Windows, "signal.windows", "torch.signal.windows"},
	{Masked, "masked", "torch.masked"},
}

// SurfaceOf returns the surface of the functions that are in a module of the language, "" for
// none; it is 0 for a module that has no operators.
func SurfaceOf(script string) Surface {
	if script == "" {
		return Function
	}
	for _, s := range Spaces {
		if s.Script == script {
			return s.Surface
		}
	}
	return 0
}

// A Def is one operator: everything that is to be known about it.
type Def struct {
	Name    string
	Surface Surface
	Aliases []string // other names on the same surfaces
	Doc     string   // first line: "name(x, ...) returns ..."
	Params  []Param

	// MakeDoc, if set, makes what stands for Doc: of operators whose documentation is put together.
	// Few processes ask for any, and all fill the table when they start.
	MakeDoc func() string

	// Infer checks the call and sets c.Spec, one for each result.
	Infer func(c *Call) error

	// Before, if set, is called with a call that Infer has checked, before it is
	// applied, with recording off: it may change In in place.
	Before func(t *Tape, c *Call)

	// Run computes the results. c.Out holds tensors of c.Spec, contiguous and
	// uninitialised; for a View, Run sets c.Out.
	Run func(c *Call) error

	// Hollow, if set, is what Run does besides elements, where there are none: it
	// draws, and leaves room in c.Saved. Of a view it is Run.
	Hollow func(c *Call) error

	// Grad returns the gradients of the tensor inputs, in the order of c.In,
	// given those of the results (nil for a result that has none). A nil
	// gradient is zero. The gradient has the shape of its input; its dtype is
	// set by the caller. Grad is nil for an operator that is not
	// differentiable.
	Grad func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor

	// Reads says what Grad reads the elements of.
	Reads Reads

	// Apart says that Grad makes the gradient of each input that requires grad with
	// the same elements whichever others require it, and at a cost of its own: it may be
	// called for some of the inputs first, and later for the others.
	Apart bool

	// View says that the results share the storage of In[0].
	View bool

	// Pointwise says that each element of the result is made of those of the inputs at its
	// place, which are broadcast, and of no others: Run may be called for any part. Of a composite it says
	// that it is made of such operators alone, which are then run together.
	Pointwise bool

	// InParts says that rows, heads or elements of the results are made each for itself, and that
	// Run has cores that no rank needs make some.
	InParts bool

	// Slices says that the result is what In[0] has at some indices: of a plain tensor
	// nothing hangs on which they are but its shape.
	Slices bool

	// Counts says that the operands are numbers by which alone the shape of the result is
	// known, and that nothing else than its elements hangs on them.
	Counts bool

	// Ints, if set, returns the first of the elements and their distance, where operands are
	// such that they are ints.
	Ints func(in []*tensor.Tensor) (first, step int64, ok bool)

	// InPlace says that the operator writes into In[0], which is its result.
	// Base is then the operator, with the same parameters, whose value it
	// stores there: differentiation records that one.
	InPlace bool
	Base    string

	// Fills says that the operator writes random numbers into In[0], of which nothing but
	// the shape and the dtype counts.
	Fills bool

	// Writes is how many of In, from the first, an operator in place writes into;
	// 0 stands for 1.
	Writes int

	// Shard lists the ways to run the operator on blocks of tensors that ranks
	// hold together; nil if all inputs must be replicated.
	Shard Rule

	// Spoils, if set, reports whether input i, all of which is x, has an element that
	// makes of another input's summands, by the rows of Shard, what is no summand of
	// the result: an infinity in a product, where a summand may be 0. It is for
	// operators that are linear in one input and not in all together.
	Spoils func(i int, x *tensor.Tensor) bool

	// OfParts says that the operator is a step of what another is composed of along
	// a dim that is cut: its result has a part for each rank, or it takes on trust
	// what another step has found. On the whole it gives something else.
	OfParts bool

	// Local, if set, runs a row of Shard on the blocks of one rank: where that is
	// not the operator itself on the blocks with the same arguments. It is not
	// called where everything is replicated.
	Local func(b *Blocks) ([]*tensor.Tensor, error)

	// Sited, if set, reports of an operator with Local, and of a row by which its results are cut,
	// whether what is made of blocks hangs on where in the whole they lie: which elements
	// a triangle has, or what is drawn for them.
	Sited func(c *Call, row *Row) bool

	// Aligned, if set, reports whether rows fit together: it is asked with one row
	// taken for each dim of a mesh. The rules of reshape need it, whose blocks
	// must be blocks of the result.
	Aligned func(c *Call, from, to []*mesh.Placed) bool

	// Compose, if set, makes the results of other operators: where inputs that
	// are cut or partial fit no row, and gathering them would move more. It returns
	// nil if it has nothing better for this call.
	Compose func(t *Tape, c *Call) []*tensor.Tensor

	// Make, if set, makes the results of other operators always: of all else only
	// the name, the surface, the documentation and the parameters count. See
	// Composites.
	Make func(t *Tape, c *Call) []*tensor.Tensor

	// Cost returns what a call costs that Infer has checked; see Cost. It is nil where
	// the rule of the family holds, which Call.Cost tells.
	Cost func(c *Call) Cost

	// ByValue reports whether the shapes of the results of a call depend on
	// elements; nil if they never do.
	ByValue func(c *Call) bool

	// Exchange, if set, is how ranks may make the result instead of moving In[0].
	Exchange *Exchange

	// Blockwise, if set, is how an operator that two layouts are given to, of a view
	// and of its base as its last two arguments, works on the rank's own blocks.
	Blockwise func(view, base *mesh.Placed) Blockwise

	// Instead names the operator that scripts call by this one's name with an argument that
	// this one cannot take and that one does: a tensor, or a name, for a number, sizes for
	// an int, or a bool for a tensor that may be None; "" for none.
	Instead string

	// Symbol is how scripts write the operator between, or before, its operands: "+".
	Symbol string

	// Creates says that the operator makes a tensor of nothing but sizes and
	// numbers: as a function it also takes requires_grad= and device=.
	Creates bool

	// Truth says that scripts see the result, a tensor of one truth, as True or
	// False.
	Truth bool

	// List says that scripts see the results as a list even if there is one.
	List bool

	// RestTogether says that scripts see the results behind the first as one, a tuple.
	RestTogether bool

	onePass onePass       // of a composite that is Pointwise; nil for none
	keeps   []keptOperand // of a composite, see Keeps

	dtypeArg int // 1 + the place in Args of the dtype of the result; 0 for none
}

// Text returns the documentation of d.
func (d *Def) Text() string {
	if d.MakeDoc != nil {
		return d.MakeDoc()
	}
	return d.Doc
}

// Changes reports whether d, if it is in place, writes into In[i].
func (d *Def) Changes(i int) bool { return d.InPlace && i < max(d.Writes, 1) }

// A ParamKind says what a parameter takes.
type ParamKind uint8

const (
	// Tensor kinds: such parameters are found in Call.In, in order, but a list behind all others.

	Tensor     ParamKind = iota // a tensor
	Operand                     // a tensor or a number, a number becoming a weak tensor
	OptTensor                   // a tensor or None, None becoming nil in Call.In
	OptOperand                  // an Operand or None, None becoming nil in Call.In
	Tensors                     // a list of tensors, or as the last parameter separate ones; all of Call.In behind the others
	Operands                    // an Operand, a list of them or None; all of Call.In behind the others, of None a nil

	// The other kinds are found in Call.Args, in order.

	Int       // Arg.Int
	OptInt    // Arg.Int if Arg.Set
	Dim       // Arg.Int, as written: normalised by Call.Dim
	OptDim    // the same or None: Arg.Set
	Dims      // None, an int or a list of ints: Arg.Ints if Arg.Set
	Ints      // an int, a list, or as the last parameter, a dtype excepted, separate ints: Arg.Ints
	Sizes     // as Ints; a size of -1 is allowed to stand for the rest: Arg.Ints
	IntOrSeq  // an int (Arg.Int) or a list of ints (Arg.Ints; Arg.Set)
	IntOrTwo  // an int (Arg.Int), or two lists of as many dims (one behind the other in Arg.Ints; Arg.Set)
	Float     // Arg.Float
	OptFloat  // Arg.Float if Arg.Set
	Floats    // a number or a list of numbers: Arg.Floats
	OptFloats // the same or None: Arg.Set
	Bool      // Arg.Int is 0 or 1
	OptBool   // the same if Arg.Set, 0 if not
	DType     // Arg.Int is a dtype
	OptDType  // the same if Arg.Set
	Choice    // Arg.Str, one of Param.Choices
	OptChoice // the same if Arg.Set
	String    // Arg.Str
)

// A Param is one parameter of an operator.
type Param struct {
	Name    string
	Also    []string // other names by which scripts may give it: PyTorch's
	Doc     string   // what it takes: "a float tensor [m, k]"
	Default *Arg     // nil if the argument must be given
	Choices []string // of a Choice or an OptChoice
	Kind    ParamKind
	Open    bool // of an IntOrSeq: None, alone or in a list, is OpenSize
	OrInts  bool // of a Tensor: a list of ints stands for an int64 tensor of them
	OrEmpty bool // of Dims: an empty list stands for None, as in PyTorch
	Free    bool // of a number: nothing but elements hangs on which it is, also in gradients
}

// called returns params with other names of theirs: of each pair, the second is one of the parameter
// that is called by the first.
func called(params []Param, pairs ...string) []Param {
	params = slices.Clone(params)
	for pair := range slices.Chunk(pairs, 2) {
		p := &params[slices.IndexFunc(params, func(p Param) bool { return p.Name == pair[0] })]
		p.Also = append(slices.Clip(p.Also), pair[1])
	}
	return params
}

// OpenSize stands for a size that is to be the one that is there.
const OpenSize = math.MinInt

// IsTensor reports whether the argument is found in Call.In.
func (p *Param) IsTensor() bool { return p.Kind <= Operands }

// IsList reports whether the argument may be several of Call.In.
func (p *Param) IsList() bool { return p.Kind == Tensors || p.Kind == Operands }

// InParam returns the parameter that Call.In[i] is given for, or nil.
func (d *Def) InParam(i int) *Param {
	var list *Param
	for j := range d.Params {
		switch p := &d.Params[j]; {
		case !p.IsTensor():
		case p.IsList():
			list = p
		case i == 0:
			return p
		default:
			i--
		}
	}
	return list
}

// An Arg is an argument that is no tensor. Which field holds it depends on
// the parameter's kind.
type Arg struct {
	Int    int
	Float  float64
	Str    string
	Ints   []int
	Floats []float64
	Set    bool // an optional argument was given

	// Layout is an argument of the operators of regions alone, on placed tensors.
	Layout *mesh.Placed
}

// Defaults for Param.Default, and arguments for calls from Go.
func Int1(v int) Arg       { return Arg{Int: v, Set: true} }
func IntsN(v ...int) Arg   { return Arg{Ints: v, Set: true} }
func Float1(v float64) Arg { return Arg{Float: v, Set: true} }
func Str1(v string) Arg    { return Arg{Str: v, Set: true} }
func Bool1(v bool) Arg {
	if v {
		return Arg{Int: 1, Set: true}
	}
	return Arg{Set: true}
}

// None is the argument None.
var None = Arg{}

// Default returns a pointer to a, for Param.Default.
func Default(a Arg) *Arg { return &a }

// A Spec is the dtype and shape of a result.
type Spec struct {
	DType dtype.DType
	Shape shape.Shape
}

var table = make(map[string]*Def, 512)

// symbols holds the operators of the table that have one.
var symbols = map[spelling]*Def{}

// A spelling is a symbol with a number of operands.
type spelling struct {
	symbol   string
	operands int
}

// register adds d to the table. It panics if the name is taken.
func register(d *Def) {
	if _, dup := table[d.Name]; dup {
		panic("op: " + d.Name + " registered twice")
	}
	args := 0
	for _, p := range d.Params {
		if p.IsTensor() {
			continue
		}
		if args++; p.Kind == DType || p.Kind == OptDType {
			d.dtypeArg = args
		}
	}
	alsoNamed(d.Name, d)
	table[d.Name] = d
	if d.Symbol != "" {
		symbols[spelling{d.Symbol, len(d.Params)}] = d
	}
}

// Lookup returns the operator called name, or nil. All does not list composite
// operators, but Composites does.
func Lookup(name string) *Def {
	if d := table[name]; d != nil {
		return d
	}
	return composites[name]
}

// BySymbol returns the operator that scripts write as symbol with so many
// operands, or nil.
func BySymbol(symbol string, operands int) *Def { return symbols[spelling{symbol, operands}] }

// must returns the operator called name; gradients use it.
func must(name string) *Def {
	d := Lookup(name)
	if d == nil {
		panic(fmt.Sprintf("op: no operator %q", name))
	}
	return d
}

// Every yields all operators, those made of others, too, in no order.
func Every(yield func(*Def) bool) {
	for _, table := range []map[string]*Def{table, composites} {
		for _, d := range table {
			if !yield(d) {
				return
			}
		}
	}
}

// doneInParts reports whether cores that no rank needs do parts of a large call.
func (d *Def) doneInParts() bool {
	return d.Pointwise || d.InParts || d.Base != "" && Lookup(d.Base).doneInParts()
}

// All returns every operator, by name.
func All() []*Def {
	defs := make([]*Def, 0, len(table))
	for _, d := range table {
		defs = append(defs, d)
	}
	slices.SortFunc(defs, func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
	return defs
}
