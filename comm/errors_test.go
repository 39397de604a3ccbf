package comm

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestCallText(t *testing.T) {
	for _, test := range []struct {
		kind Kind
		desc Desc
		want string
	}{
		{Barrier, Desc{Op: "barrier", Root: -1, Dims: [2]int{-1, -1}}, "barrier()"},
		{Broadcast, Desc{Op: "broadcast_object", Root: 1, Dims: [2]int{-1, -1}}, "broadcast_object(src=1)"},
		{
			Gather, Desc{Op: "gather", DType: "bool", Shape: []int{}, Root: 2, Dims: [2]int{0, -1}},
			"gather(bool[], dim=0, dst=2)",
		},
		{
			AllToAll, Desc{Op: "all_to_all", DType: "int64", Shape: []int{2, 3}, Root: -1, Dims: [2]int{1, 0}},
			"all_to_all(int64[2, 3], split_dim=1, concat_dim=0)",
		},
		{
			AllToAll, Desc{Op: "all_to_all", DType: "int64", Root: -1, Dims: [2]int{-1, -1}},
			"all_to_all(a list of int64)",
		},
		{
			Reduce, Desc{Op: "reduce", DType: "float32", Shape: []int{4}, Root: 0, Dims: [2]int{-1, -1}, Reduce: "max"},
			`reduce(float32[4], dst=0, op="max")`,
		},
		{
			Permute, Desc{Op: "collective_permute", DType: "float32", Shape: []int{1}, Root: -1, Dims: [2]int{-1, -1}, Pairs: [][2]int{{0, 2}, {1, 0}}},
			"collective_permute(float32[1], pairs=[(0, 2), (1, 0)])",
		},
		{
			AllReduce, Desc{Op: "all_reduce", DType: "float32", Shape: []int{1}, Root: -1, Dims: [2]int{-1, -1}, Reduce: "sum", Detail: InBackward},
			`all_reduce(float32[1], op="sum") in backward`,
		},
		{
			AllGather, Desc{Op: "all_gather", DType: "float32", Shape: []int{4}, Root: -1, Dims: [2]int{-1, -1}, Detail: "[S(0)] to [R] " + InBackward},
			"all_gather(float32[4], placements=[S(0)] to [R]) in backward",
		},
		{
			AllReduce, Desc{Op: "all_reduce", DType: "float32", Shape: []int{1}, Root: -1, Dims: [2]int{-1, -1}, Reduce: "sum", Detail: BackwardOf(12)},
			`all_reduce(float32[1], op="sum") in backward`,
		},
		{
			AllGather, Desc{Op: "all_gather", DType: "float32", Shape: []int{4}, Root: -1, Dims: [2]int{-1, -1}, Detail: "unit=2 requires_gradient_sync=False " + InBackward},
			"all_gather(float32[4], unit=2, requires_gradient_sync=False) in backward",
		},
	} {
		if got := CallText(&test.desc, test.kind); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// Every error says what kind it is, of which operation, and whom it concerns.
func TestErrorFields(t *testing.T) {
	type report interface {
		error
		Kind() string
		Function() string
		Ranks() []int
	}
	cause := errors.New("boom")
	for _, test := range []struct {
		err      report
		kind     string
		function string
		ranks    []int
		text     string
	}{
		{
			&MismatchError{"group [0, 2]", []Call{{0, "barrier", "barrier()", "a:1:1", Caught{}}, {2, "barrier", "barrier()", "", Caught{Last: "no"}}}, "", nil},
			"mismatch", "barrier", []int{0, 2},
			"barrier: ranks do not call the same in group [0, 2]: rank 0: barrier() at a:1:1, rank 2: barrier(), after it had caught an error (no)",
		},
		{
			&MismatchError{worldName, []Call{{0, "f", "f(src=0)", "", Caught{}}, {1, "f", "f(src=1)", "", Caught{}}}, "src", nil},
			"mismatch", "f", []int{0, 1},
			"f: ranks do not call the same (src differs): rank 0: f(src=0), rank 1: f(src=1)",
		},
		{
			&DeadlockError{[]Wait{{1, "barrier", "barrier()", "a:2:1", []int{0, 3}, Caught{}}, {2, "barrier", "barrier()", "a:2:1", []int{0, 3}, Caught{}}}, []int{0, 3}, nil},
			"deadlock", "barrier", []int{1, 2},
			"barrier: deadlock: ranks 1,2 wait in barrier() at a:2:1 for ranks 0,3; ranks 0,3 have ended",
		},
		{
			&PeerError{"recv", 3, cause}, "peer", "recv", []int{3}, "recv: rank 3 failed: boom",
		},
	} {
		if got := test.err.Error(); got != test.text {
			t.Errorf("got  %s\nwant %s", got, test.text)
		}
		got := fmt.Sprint(test.err.Kind(), " ", test.err.Function(), " ", test.err.Ranks())
		if want := fmt.Sprint(test.kind, " ", test.function, " ", test.ranks); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if err := error(&PeerError{"recv", 3, cause}); !errors.Is(err, cause) {
		t.Errorf("%v does not wrap its cause", err)
	}
}

// Numbers of messages come out in the order that is promised, whatever the
// order in which queues are gone through.
func TestCompareUnreceived(t *testing.T) {
	want := []Unreceived{
		{Src: 1, Dst: 0, Group: "world", Tag: 9},
		{Src: 0, Dst: 1, Group: "group [0, 1]", Tag: 5},
		{Src: 0, Dst: 1, Group: "world", Tag: 1},
		{Src: 0, Dst: 1, Group: "world", Tag: 2},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareUnreceived)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
