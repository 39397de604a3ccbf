package wire

import (
	"bytes"
	"math"
	"math/bits"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm"
)

// drawDesc draws from few values, so that two draws are often alike.
func drawDesc(t *rapid.T) *comm.Desc {
	number := rapid.SampledFrom([]int{-1, 0, 1, 2, math.MaxInt, math.MinInt})
	d := &comm.Desc{
		Op:     rapid.SampledFrom([]string{"all_reduce", "all_gather", "", "f"}).Draw(t, "op"),
		DType:  rapid.SampledFrom([]string{"float32", "loat32", ""}).Draw(t, "dtype"),
		Reduce: rapid.SampledFrom([]string{"", "sum"}).Draw(t, "reduce"),
		Exact:  rapid.Bool().Draw(t, "exact"),
		Root:   number.Draw(t, "root"),
		Dims:   [2]int{number.Draw(t, "dim"), number.Draw(t, "dim")},
		Flags:  comm.Flags(rapid.IntRange(0, 7).Draw(t, "flags")),
		Free:   -1,
	}
	if rapid.Bool().Draw(t, "tensor") {
		d.Shape = append([]int{}, rapid.SliceOfN(rapid.IntRange(0, 2), 0, 3).Draw(t, "shape")...)
		d.Free = rapid.IntRange(-1, len(d.Shape)-1).Draw(t, "free")
	}
	for range rapid.IntRange(0, 2).Draw(t, "pairs") {
		d.Pairs = append(d.Pairs, [2]int{rapid.IntRange(0, 1).Draw(t, "from"), rapid.IntRange(0, 1).Draw(t, "to")})
	}
	return d
}

func TestDescRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawDesc(t)
		encoded := appendDesc([]byte("x"), want)[1:]
		got, err := decodeDesc(encoded)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v and %v, want %+v", got, err, want)
		}
		for n := range encoded {
			if got, err := decodeDesc(encoded[:n]); err == nil {
				t.Fatalf("the first %d of %d bytes: got %+v, want an error", n, len(encoded), got)
			}
		}
		if _, err := decodeDesc(append(encoded, 0)); err == nil {
			t.Fatal("one byte more: want an error")
		}
	})
}

func TestDecodeDescChecksFree(t *testing.T) {
	for _, d := range []*comm.Desc{{Free: 0}, {Free: -2}, {Shape: []int{1, 2}, Free: 2}, {Shape: []int{1}, Free: math.MaxInt}} {
		if got, err := decodeDesc(appendDesc(nil, d)); err == nil {
			t.Errorf("got %+v, want an error", got)
		}
	}
}

// varied returns d with one field changed at a time.
func varied(d comm.Desc) map[string]comm.Desc {
	all := map[string]comm.Desc{}
	vary := func(name string, change func(d *comm.Desc)) {
		v := d
		v.Shape = append([]int{}, d.Shape...)
		v.Pairs = append([][2]int{}, d.Pairs...)
		change(&v)
		all[name] = v
	}
	vary("nothing", func(*comm.Desc) {})
	vary("Op", func(d *comm.Desc) { d.Op = "all_gathe" })
	vary("DType", func(d *comm.Desc) { d.DType = "rfloat32" })
	vary("Shape, other axis", func(d *comm.Desc) { d.Shape[0]++ })
	vary("Shape, fewer", func(d *comm.Desc) { d.Shape = d.Shape[:2] })
	vary("Shape, none", func(d *comm.Desc) { d.Shape, d.Free = nil, -1 })
	vary("Shape, scalar", func(d *comm.Desc) { d.Shape, d.Free = []int{}, -1 })
	vary("Free", func(d *comm.Desc) { d.Free = 0 })
	vary("Free, none", func(d *comm.Desc) { d.Free = -1 })
	vary("Reduce", func(d *comm.Desc) { d.Reduce = "max" })
	vary("Exact", func(d *comm.Desc) { d.Exact = true })
	vary("Detail", func(d *comm.Desc) { d.Detail = "[S(0)] to [R]" })
	vary("Root", func(d *comm.Desc) { d.Root = 1 })
	vary("Dims", func(d *comm.Desc) { d.Dims[0]++ })
	vary("Dims, second", func(d *comm.Desc) { d.Dims[1]++ })
	vary("Pairs", func(d *comm.Desc) { d.Pairs[0] = [2]int{1, 0} })
	vary("Pairs, fewer", func(d *comm.Desc) { d.Pairs = nil })
	return all
}

// The hash tells any two calls apart that differ in one field.
func TestHashDescCoversFields(t *testing.T) {
	d := comm.Desc{
		Op: "all_gather", DType: "float32", Shape: []int{2, 3, 4}, Free: 1, Reduce: "sum",
		Root: 0, Dims: [2]int{1, -1}, Pairs: [][2]int{{0, 1}},
	}
	seen := map[uint64]string{}
	for name, v := range varied(d) {
		h := HashDesc(&v)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
	same := d
	same.Flags = comm.Async | comm.RequiresGrad
	same.Shape = []int{2, 7, 4}
	if HashDesc(&same) != HashDesc(&d) {
		t.Error("the hash depends on Flags, or on the size along Free")
	}
	if d.Shape[1] != 3 {
		t.Error("hashDesc changes its argument")
	}
}

// Hashes are equal where calls agree.
func TestHashDescAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawDesc(t), drawDesc(t)
		if comm.Agree(a, b) != (HashDesc(a) == HashDesc(b)) {
			t.Fatalf("%+v and %+v: agree is %v, but equal hashes %v", a, b, comm.Agree(a, b), HashDesc(a) == HashDesc(b))
		}
		like := *a
		like.Pairs = append([][2]int{}, a.Pairs...)
		if HashDesc(&like) != HashDesc(a) {
			t.Fatalf("the hash of %+v depends on whether Pairs is nil", a)
		}
	})
}

// A small change turns about half the bits of the hash.
func TestHashDescMixes(t *testing.T) {
	turned, first := 0, HashDesc(&comm.Desc{Root: 0})
	const rounds = 256
	for i := 1; i <= rounds; i++ {
		turned += bits.OnesCount64(first ^ HashDesc(&comm.Desc{Root: i}))
	}
	if mean := float64(turned) / rounds; mean < 28 || mean > 36 {
		t.Errorf("got %.1f of 64 bits turned on average, want about 32", mean)
	}
}

func decodedContract(b []byte) (*Contract, error) {
	c := &Contract{}
	err := c.Decode(b)
	return c, err
}

func TestContractRoundTrip(t *testing.T) {
	for _, want := range []*Contract{
		{},
		{Hash: math.MaxUint64, Flags: comm.Async, Free: 3, Bytes: math.MaxInt, Meta: []byte("meta")},
		{Staging: 2, Use: 1 << 31, First: 3, Meta: []byte("m"), Data: []byte("data")},
		{First: 1},
	} {
		encoded := AppendContract([]byte("x"), want)[1:]
		if got, err := decodedContract(encoded); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
		for n := range len(encoded) - len(want.Data) {
			if _, err := decodedContract(encoded[:n]); err == nil {
				t.Errorf("the first %d bytes: want an error", n)
			}
		}
	}
	if _, err := decodedContract(AppendContract(nil, &Contract{Data: []byte("data")})); err == nil {
		t.Error("data of no message: want an error")
	}
	negative := AppendContract(nil, &Contract{Free: -1})
	if _, err := decodedContract(negative); err == nil {
		t.Error("a negative size: want an error")
	}
}

// Whatever is decoded is encoded as the same bytes.
func FuzzDecodeDesc(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendDesc(nil, &comm.Desc{Free: -1}))
	f.Add(appendDesc(nil, &comm.Desc{Op: "all_gather", DType: "int8", Shape: []int{2, 3}, Free: 1, Pairs: [][2]int{{0, 1}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := decodeDesc(b)
		if err == nil && !bytes.Equal(appendDesc(nil, d), b) {
			t.Fatalf("%q decodes to %+v, which is encoded otherwise", b, d)
		}
		if err == nil {
			HashDesc(d)
		}
	})
}

func FuzzDecodeContract(f *testing.F) {
	f.Add([]byte{})
	f.Add(AppendContract(nil, &Contract{Hash: 1, Flags: 2, Free: 3, Bytes: 4, Meta: []byte("meta")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := decodedContract(b)
		if err == nil && !bytes.Equal(AppendContract(nil, c), b) {
			t.Fatalf("%q decodes to %+v, which is encoded otherwise", b, c)
		}
	})
}

func FuzzNextListed(f *testing.F) {
	one := &Contract{Hash: 1, Flags: 2, Free: 3, Bytes: 4, Meta: []byte("meta")}
	f.Add([]byte{})
	f.Add(AppendListed(AppendListed(nil, 1, one), 300, &Contract{First: 1, Data: []byte("data")}))
	f.Fuzz(func(t *testing.T, list []byte) {
		var again []byte
		rest := list
		for len(rest) > 0 {
			var c Contract
			repeats, left, err := NextListed(rest, &c)
			if err != nil {
				return
			}
			again, rest = AppendListed(again, repeats, &c), left
		}
		if !bytes.Equal(again, list) {
			t.Fatalf("%q decodes to contracts that are encoded as %q", list, again)
		}
	})
}
