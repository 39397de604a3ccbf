package builtins

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/builtins/object"
	"tpsh/internal/spell"
	"tpsh/internal/units"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "assert.comm",
		Doc: "comm(fn, counts=None, max_bytes=None, max_calls=None, msg=None) returns fn(), and fails if that communicates more on this rank than is allowed.\n" +
			"counts is a dict from operations to how many calls of each are allowed; those that are not in it are not.\n" +
			"max_bytes bounds the payload that this rank puts in, max_calls the calls. The failure lists each call.\n" +
			">>> y = assert.comm(lambda: all_reduce(ones(2)), counts={\"all_reduce\": 1}, max_bytes=8)",
		Fn: assertComm,
	}, &Row{
		Name: "assert.same_on_all_ranks",
		Doc: "same_on_all_ranks(x, msg=None) fails on every rank unless x is the same on all of them, bit for bit.\n" +
			"Every rank calls it. x is a tensor, or what all_gather_object takes, with tensors in it or not.\n" +
			">>> assert.same_on_all_ranks({\"w\": ones(3), \"step\": 7})",
		Fn: sameOnAllRanks,
	})
}

// A budget is what a function may communicate. A nil counts allows everything.
type budget struct {
	counts   map[string]int
	maxBytes limit
	maxCalls limit
}

// A limit is an argument that is a number not to be exceeded, or None.
type limit struct {
	n   int
	set bool
}

// Unpack implements starlark.Unpacker.
func (l *limit) Unpack(v starlark.Value) (err error) {
	if l.set = v != starlark.None; !l.set {
		return nil
	}
	if l.n, err = arg.ToInt(v); err == nil && l.n < 0 {
		err = arg.Bad(v, "a non-negative int", "")
	}
	return err
}

// exceeded reports whether n is more than l allows.
func (l *limit) exceeded(n int) bool { return l.set && n > l.n }

func assertComm(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		fn      arg.Callable
		counts  starlark.Value
		allowed budget
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn, "counts??", &counts, "max_bytes?", &allowed.maxBytes, "max_calls?", &allowed.maxCalls); err != nil {
		return nil, err
	}
	if counts != nil {
		var err error
		if allowed.counts, err = toCounts(b.Name(), counts); err != nil {
			return nil, err
		}
	}
	v, records, err := Traced(e, fn.Fn)
	if err != nil {
		return nil, err
	}
	if over := allowed.exceeded(records); over != "" {
		return nil, assertionFailed(e, b.Name(), "%s%s", over, listing(records))
	}
	return v, nil
}

// toCounts returns v, the argument counts of fn.
func toCounts(fn string, v starlark.Value) (map[string]int, error) {
	bad := func(got string, rule string) error {
		return &op.ArgError{Func: fn, Param: "counts", Got: got, Want: `a dict from operations to numbers of calls: {"all_reduce": 1}`, Rule: rule}
	}
	dict, ok := v.(*starlark.Dict)
	if !ok {
		return nil, bad(arg.Show(v), "")
	}
	counts := map[string]int{}
	for key, value := range dict.Entries() {
		name, ok := starlark.AsString(key)
		if !ok || !slices.Contains(communicating(), name) {
			rule := "it communicates nothing of that name"
			if near := spell.Nearest(name, communicating()); near != "" {
				rule = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, bad("the key "+arg.Show(key), rule)
		}
		n, err := arg.ToInt(value)
		if err != nil || n < 0 {
			return nil, bad(fmt.Sprintf("%s for %q", arg.Show(value), name), "")
		}
		counts[name] = n
	}
	return counts, nil
}

// exceeded says which bound of the budget the records exceed, or returns "".
func (b *budget) exceeded(records []*runtime.Record) string {
	names, counts := CountCalls(records)
	for _, name := range names {
		if b.counts != nil && counts[name] > b.counts[name] {
			return fmt.Sprintf("got %s of %s, want at most %d", units.Count(counts[name], "call"), name, b.counts[name])
		}
	}
	if b.maxCalls.exceeded(len(records)) {
		return fmt.Sprintf("got %s, want at most %d", units.Count(len(records), "call"), b.maxCalls.n)
	}
	bytes := 0
	for _, r := range records {
		bytes += r.Bytes
	}
	if b.maxBytes.exceeded(bytes) {
		return fmt.Sprintf("got %s, want at most %d", units.Count(bytes, "byte"), b.maxBytes.n)
	}
	return ""
}

// listing lists records, each on a line.
func listing(records []*runtime.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "\n  %s %s", r.Op, r.DType)
		if r.DType != "object" {
			fmt.Fprintf(&b, "[%s]", joinInts(r.Shape))
		}
		if r.Group != "world" {
			b.WriteString(" in " + r.Group)
		}
		fmt.Fprintf(&b, ": %s at %s", units.Count(r.Bytes, "byte"), r.Where)
	}
	return b.String()
}

// joinInts returns xs separated by commas.
func joinInts(xs []int) string {
	texts := make([]string, len(xs))
	for i, x := range xs {
		texts[i] = fmt.Sprint(x)
	}
	return strings.Join(texts, ", ")
}

func sameOnAllRanks(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "x", &x); err != nil {
		return nil, err
	}
	mine, err := fingerprint(e, b.Name(), x)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	err = e.Runtime.Quietly(func() (err error) {
		all, err = e.Runtime.AllGatherObject(e.Runtime.World(), mine, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return starlark.None, disagreement(b.Name(), all)
}

// fingerprint returns the hash of x, the argument of fn, and after it x as
// text.
func fingerprint(e *Env, fn string, x starlark.Value) ([]byte, error) {
	data, err := object.Append(nil, x, appendTensor)
	if err != nil {
		return nil, BadObject(fn, "x", err)
	}
	sum := sha256.Sum256(data)
	return append(sum[:], showAll(e, x)...), nil
}

// appendTensor appends dtype, shape and, where it has them, elements of v, which must
// be a tensor, or a number that would come from some.
func appendTensor(dst []byte, v starlark.Value) ([]byte, error) {
	x, ok := v.(*Tensor)
	if !ok {
		return AppendUnknown(dst, v)
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if t, err = x.Env.Whole("same_on_all_ranks", t); err != nil {
		return nil, err
	}
	if t, err = x.Env.Runtime.Do("contiguous", []*tensor.Tensor{t.Detach()}); err != nil {
		return nil, err
	}
	dst = fmt.Appendf(dst, "t%s;", op.Describe(t))
	if t.Hollow() {
		return dst, nil
	}
	return append(dst, t.Bytes()...), nil
}

// disagreement returns the failure of fn if the fingerprints of the ranks
// differ.
func disagreement(fn string, all [][]byte) error {
	var (
		prints   []string // that differ
		ranks    [][]int  // by index in prints
		everyone []int
	)
	for rank, data := range all {
		i := slices.Index(prints, string(data))
		if i < 0 {
			i = len(prints)
			prints, ranks = append(prints, string(data)), append(ranks, nil)
		}
		ranks[i] = append(ranks[i], rank)
		everyone = append(everyone, rank)
	}
	if len(prints) <= 1 {
		return nil
	}
	texts := make([]string, len(prints))
	for i, p := range prints {
		sum, text := p[:sha256.Size], p[sha256.Size:]
		if slices.ContainsFunc(prints, func(q string) bool { return q != p && q[sha256.Size:] == text }) {
			text += fmt.Sprintf(" (hash %x)", sum[:4]) // they differ where the text does not show it
		}
		texts[i] = fmt.Sprintf("%s on %s", text, rankList(ranks[i]))
	}
	return &assertionError{fn: fn, text: "got " + strings.Join(texts, ", ") + ", want one value", ranks: everyone}
}

// rankList names ranks: "rank 2", "ranks 0, 1, 3".
func rankList(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	return "ranks " + joinInts(ranks)
}

// Traced calls fn and returns what it communicated on this rank.
func Traced(e *Env, fn starlark.Callable) (starlark.Value, []*runtime.Record, error) {
	t := e.Runtime.StartTrace()
	defer e.Runtime.StopTrace(t)
	v, err := e.Call(fn)
	return v, t.Records, err
}

// CountCalls returns the operations among records, in the order of their first
// calls, and how many calls of each there are.
func CountCalls(records []*runtime.Record) (names []string, counts map[string]int) {
	counts = map[string]int{}
	for _, r := range records {
		if counts[r.Op] == 0 {
			names = append(names, r.Op)
		}
		counts[r.Op]++
	}
	return names, counts
}
