package embed_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"tpsh/embed"
)

// Four ranks add up the rows of a matrix, each its own.
func ExampleRun() {
	const script = `
mine = table[rank()] * scale
total = all_reduce(mine)
print("rows", world_size(), "total", total.tolist())
answer = ask(total.sum().item())
`
	result, err := embed.Run(context.Background(), script, embed.Options{
		Ranks: 4,
		Values: map[string]any{
			"table": embed.NewTensor([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2),
			"scale": 10,
		},
		Funcs: map[string]embed.Func{
			"ask": func(c embed.Call) (any, error) { return c.Args[0].(float64) / 2, nil },
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(result.Output)
	fmt.Println(result.Ranks[3]["mine"].(*embed.Tensor).Data, result.Ranks[0]["answer"])
	// Output:
	// rows 4 total [160.0, 200.0]
	// [70 80] 180
}

// Values go in and come out as they were.
func TestValues(t *testing.T) {
	in := map[string]any{
		"a": nil, "b": true, "c": -7, "d": 2.5, "e": "text", "f": []any{1, "x", []any{}}, "g": map[string]any{"k": 1},
		"h": embed.NewTensor([]float64{1, 2}, 2, 1), "i": embed.NewTensor([]int64{1}, 1), "j": embed.NewTensor([]int32{1}, 1), "k": embed.NewTensor([]uint8{255}, 1), "l": embed.NewTensor([]bool{true, false}, 2), "m": embed.NewTensor([]float32{}, 0, 3),
	}
	var b strings.Builder
	for name := range in {
		fmt.Fprintf(&b, "out_%s = %s\n", name, name)
	}
	result, err := embed.Run(t.Context(), b.String(), embed.Options{Ranks: 2, Values: in})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range in {
		for rank := range 2 {
			if got := result.Ranks[rank]["out_"+name]; !reflect.DeepEqual(got, want) {
				t.Errorf("rank %d: %s: got %#v, want %#v", rank, name, got, want)
			}
		}
	}
	result, err = embed.Run(t.Context(), "x = v.sum().item()\ny = zeros(2, dtype=bfloat16)\ndef f(): pass", embed.Options{Values: map[string]any{"v": []float32{1, 2}}})
	if err != nil || result.Ranks[0]["x"] != 3.0 || !reflect.DeepEqual(result.Ranks[0]["y"], embed.NewTensor([]float32{0, 0}, 2)) || len(result.Ranks[0]) != 2 {
		t.Errorf("got %v, %v", result, err)
	}
}

// Mistakes are errors with the report of tpsh.
func TestErrors(t *testing.T) {
	_, err := embed.Run(t.Context(), "x = 1\nzeros(2).reshape(3)", embed.Options{Ranks: 2, Name: "a.star"})
	var e *embed.Error
	if !errors.As(err, &e) || e.Kind != "argument" || !strings.Contains(e.Report, "ranks 0,1 of 2:\nTraceback (most recent call last):\n  a.star:2:17: in <toplevel>\nError in reshape: ") {
		t.Errorf("got %v", err)
	}
	if _, err := embed.Run(t.Context(), "if rank() == 0: barrier()", embed.Options{Ranks: 2}); !errors.As(err, &e) || e.Kind != "deadlock" {
		t.Errorf("got %v, want a deadlock", err)
	}
	if _, err := embed.Run(t.Context(), "if rank() == 0: send(ones(2), 1)", embed.Options{Ranks: 2}); err == nil || !strings.Contains(err.Error(), "never received") {
		t.Errorf("got %v, want the message that nobody received", err)
	}
	if _, err := embed.Run(t.Context(), "x = 1 +", embed.Options{}); err == nil || !strings.HasPrefix(err.Error(), "script.star:1:8: ") {
		t.Errorf("got %v, want the place", err)
	}
	if _, err := embed.Run(t.Context(), "x = 1", embed.Options{Values: map[string]any{"v": make(chan int)}}); err == nil || !strings.Contains(err.Error(), "value v: got a chan int") {
		t.Errorf("got %v, want the value's name", err)
	}
	if _, err := embed.Run(t.Context(), "x = 1", embed.Options{Values: map[string]any{"v": embed.NewTensor([]float32{1}, 2)}}); err == nil || !strings.Contains(err.Error(), "want 2 elements") {
		t.Errorf("got %v, want the number of elements", err)
	}
	if _, err := embed.Run(t.Context(), "f(1)", embed.Options{Funcs: map[string]embed.Func{"f": func(embed.Call) (any, error) { return nil, errors.New("not today") }}}); err == nil || !strings.Contains(err.Error(), "Error in f: not today") {
		t.Errorf("got %v, want the function's error", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := embed.Run(ctx, "while True: pass", embed.Options{}); err == nil {
		t.Error("got no error of a program that does not end")
	}
}
