package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
)

// pairs calls f with the index of an element of each of the images, the weight and
// the result for every product that s is made of.
func (s *Shape) pairs(f func(x, w, y int)) {
	channels, outputs := s.own()
	for n := range s.Images {
		for o := range s.Outputs {
			y := (n*s.Outputs + o) * s.places()
			each(s.Out, func(at [3]int) {
				for c := range channels {
					w := (o*channels + c) * s.taps()
					each(s.Size, func(t [3]int) {
						p, inside := (n*s.Channels + o/outputs*channels + c), true
						for d := range t {
							i := at[d]*s.Stride[d] + t[d]*s.Dilation[d] - s.Before[d]
							p, inside = p*s.In[d]+i, inside && i >= 0 && i < s.In[d]
						}
						if inside {
							f(p, w, y)
						}
						w++
					})
				}
				y++
			})
		}
	}
}

// drawShape draws a convolution of few enough products for the loop.
func drawShape(t *rapid.T) Shape {
	few := rapid.IntRange(1, 5)
	s := Shape{Images: few.Draw(t, "images"), Groups: rapid.IntRange(1, 3).Draw(t, "groups")}
	s.Channels = s.Groups * rapid.OneOf(few, rapid.IntRange(1, 40)).Draw(t, "channels")
	s.Outputs = s.Groups * few.Draw(t, "outputs")
	for d := range s.In {
		s.Size[d], s.Stride[d], s.Dilation[d] = rapid.IntRange(1, 3).Draw(t, "size"), rapid.IntRange(1, 3).Draw(t, "stride"), rapid.IntRange(1, 3).Draw(t, "dilation")
		s.Before[d] = rapid.IntRange(0, 3).Draw(t, "before")
		s.In[d] = rapid.IntRange(1, 4+5*(d/2)).Draw(t, "in")
		after := rapid.IntRange(0, 3).Draw(t, "after")
		s.Out[d] = max(0, s.In[d]+s.Before[d]+after-s.Dilation[d]*(s.Size[d]-1)-1+s.Stride[d]) / s.Stride[d]
	}
	return s
}

// numbers returns n numbers that are not far from 0.
func numbers[T dtype.Float](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

// room returns n NaN.
func room[T dtype.Float](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.NaN())
	}
	return x
}

// results returns what the three functions make of x, w and dy with the help of some workers.
func results[T dtype.Float](c *crew.Workers, s Shape, x, w, dy []T) [3][]T {
	y, dx, dw := room[T](len(dy)), room[T](len(x)), room[T](len(w))
	Forward(c, s, y, x, w, room[T](s.ForwardRoom()))
	Data(c, s, dx, dy, w, room[T](s.DataRoom()))
	Weight(c, s, dw, x, dy, room[T](s.WeightRoom()))
	return [3][]T{y, dx, dw}
}

// The three are the sums of the products of the loop, with the same bits on all sets
// of instructions.
func testSums[T dtype.Float](t rapid.TB, s Shape, seed uint64, within float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	x, w := numbers[T](r, s.Images*s.Channels*s.pixels()), numbers[T](r, s.Outputs*s.Channels/s.Groups*s.taps())
	dy := numbers[T](r, s.Images*s.Outputs*s.places())
	var want, size [3][]float64
	for i, n := range []int{len(dy), len(x), len(w)} {
		want[i], size[i] = make([]float64, n), make([]float64, n)
	}
	s.pairs(func(i, j, k int) {
		for which, term := range [3]struct {
			at int
			v  float64
		}{{k, float64(x[i]) * float64(w[j])}, {i, float64(dy[k]) * float64(w[j])}, {j, float64(x[i]) * float64(dy[k])}} {
			want[which][term.at] += term.v
			size[which][term.at] += math.Abs(term.v)
		}
	})
	var first [3][]T
	for n, set := range vec.Sets() {
		vec.Use(set)
		got := results(nil, s, x, w, dy)
		vec.Use(vec.Best())
		if n == 0 {
			first = got
		}
		for which, name := range []string{"Forward", "Data", "Weight"} {
			for i, v := range got[which] {
				if !(math.Abs(float64(v)-want[which][i]) <= within*size[which][i]) {
					t.Fatalf("%s of %+v by %v: element %d is %v, want %v", name, s, set, i, v, want[which][i])
				}
				if v != first[which][i] {
					t.Fatalf("%s of %+v: element %d is %v by %v, but %v by %v", name, s, i, v, set, first[which][i], vec.Sets()[0])
				}
			}
		}
	}
}

func TestSums(t *testing.T) {
	seed := rapid.Uint64()
	t.Run("float64", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { testSums[float64](t, drawShape(t), seed.Draw(t, "seed"), 1e-13) })
	})
	t.Run("float32", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { testSums[float32](t, drawShape(t), seed.Draw(t, "seed"), 1e-5) })
	})
}

// Sizes that are computed in several parts: frames of several lengths that are
// multiplied at once, sums of several blocks, images by twos.
func TestSumsInParts(t *testing.T) {
	for _, s := range []Shape{
		{Images: 1, Channels: 2, Outputs: 2, Groups: 2, In: [3]int{1, 70, 60}},
		{Images: 1, Channels: 2, Outputs: 3, Groups: 1, In: [3]int{1, 70, 60}},
		{Images: 5, Channels: 40, Outputs: 20, Groups: 1, In: [3]int{1, 16, 15}},
	} {
		s.Size, s.Stride, s.Dilation, s.Before = [3]int{1, 3, 3}, [3]int{1, 1, 2}, [3]int{1, 1, 1}, [3]int{0, 1, 1}
		s.Out = [3]int{1, s.In[1], (s.In[2] + 1) / 2}
		testSums[float64](t, s, 1, 1e-13)
		testSums[float32](t, s, 2, 1e-5)
	}
}

// Results and images of few channels, the taps of which are multiplied at once, in an order
// of their own where windows do not lie side by side.
func TestSumsAtOnce(t *testing.T) {
	for _, s := range []Shape{
		{Images: 2, Channels: 3, Outputs: 20, Groups: 1, Stride: [3]int{1, 2, 2}},
		{Images: 1, Channels: 20, Outputs: 2, Groups: 1, Stride: [3]int{1, 1, 1}},
		{Images: 1, Channels: 20, Outputs: 2, Groups: 1, Stride: [3]int{1, 2, 2}},
		{Images: 1, Channels: 36, Outputs: 4, Groups: 2, Stride: [3]int{1, 1, 1}},
	} {
		s.In, s.Size, s.Dilation, s.Before = [3]int{1, 50, 60}, [3]int{1, 5, 3}, [3]int{1, 1, 2}, [3]int{0, 2, 2}
		s.Out = [3]int{1, (s.In[1]-1)/s.Stride[1] + 1, (s.In[2]-1)/s.Stride[2] + 1}
		testSums[float64](t, s, 1, 1e-13)
		testSums[float32](t, s, 2, 1e-5)
	}
}

// Groups that goroutines compute side by side have the bits of one after the other, and so have
// frames and results whose channels they copy.
func TestSideBySide(t *testing.T) {
	for _, s := range []Shape{
		{Images: 2, Channels: 40, Outputs: 40, Groups: 40, Stride: [3]int{1, 1, 1}},
		{Images: 1, Channels: 160, Outputs: 80, Groups: 40, Stride: [3]int{1, 2, 2}},
		{Images: 1, Channels: 40, Outputs: 40, Groups: 1, Stride: [3]int{1, 1, 1}},
		{Images: 1, Channels: 80, Outputs: 80, Groups: 1, Stride: [3]int{1, 2, 2}},
		{Images: 9, Channels: 320, Outputs: 320, Groups: 1, Stride: [3]int{1, 1, 1}, In: [3]int{1, 7, 7}},
	} {
		if s.In[0] == 0 {
			s.In = [3]int{1, 60, 61}
		}
		s.Size, s.Dilation, s.Before = [3]int{1, 3, 3}, [3]int{1, 1, 1}, [3]int{0, 1, 1}
		s.Out = [3]int{1, (s.In[1]-1)/s.Stride[1] + 1, (s.In[2]-1)/s.Stride[2] + 1}
		r := rand.New(rand.NewPCG(1, 2))
		x, w := numbers[float32](r, s.Images*s.Channels*s.pixels()), numbers[float32](r, s.Outputs*s.Channels/s.Groups*s.taps())
		dy := numbers[float32](r, s.Images*s.Outputs*s.places())
		one, some := results(nil, s, x, w, dy), results(crew.NewWorkers(3), s, x, w, dy)
		for which, name := range []string{"Forward", "Data", "Weight"} {
			if !slices.Equal(one[which], some[which]) {
				t.Errorf("%s of %+v: four goroutines make other bits than one", name, s)
			}
		}
	}
}

// Windows of which an element meets no element of the image but those before or after all:
// rows of frames then begin and end beside it.
func TestSumsBesideTheImage(t *testing.T) {
	for _, s := range []Shape{
		{In: [3]int{1, 1, 2}, Size: [3]int{1, 1, 2}, Stride: [3]int{1, 1, 2}, Dilation: [3]int{1, 1, 3}, Before: [3]int{0, 0, 3}, Out: [3]int{1, 1, 1}},
		{In: [3]int{1, 1, 1}, Size: [3]int{1, 1, 2}, Stride: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 9}, Before: [3]int{0, 0, 9}, Out: [3]int{1, 1, 1}},
		{In: [3]int{1, 1, 1}, Size: [3]int{1, 1, 2}, Stride: [3]int{1, 1, 1}, Dilation: [3]int{1, 1, 9}, Before: [3]int{0, 0, 4}, Out: [3]int{1, 1, 1}},
		{In: [3]int{1, 3, 1}, Size: [3]int{1, 2, 3}, Stride: [3]int{1, 2, 3}, Dilation: [3]int{1, 5, 4}, Before: [3]int{0, 3, 9}, Out: [3]int{1, 1, 1}},
	} {
		s.Images, s.Channels, s.Outputs, s.Groups = 1, 2, 2, 1
		testSums[float64](t, s, 1, 1e-13)
		s.Groups = 2
		testSums[float32](t, s, 2, 1e-5)
	}
}

// drawAlone draws a convolution of groups of one channel, of rows that fill vectors and that
// do not.
func drawAlone(t *rapid.T) Shape {
	s := Shape{Images: rapid.IntRange(1, 2).Draw(t, "images"), Groups: rapid.IntRange(1, 3).Draw(t, "groups")}
	s.Channels, s.Outputs = s.Groups, s.Groups*rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "outputs")
	s.In, s.Size, s.Stride, s.Dilation, s.Out = [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{1, 1, 1}, [3]int{1, 1, 1}
	for d := rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(t, "first dim"); d < 3; d++ {
		s.Size[d], s.Stride[d], s.Dilation[d] = rapid.IntRange(1, 5).Draw(t, "size"), rapid.IntRange(1, 3).Draw(t, "stride"), rapid.IntRange(1, 3).Draw(t, "dilation")
		s.Before[d] = rapid.IntRange(0, 3).Draw(t, "before")
		s.In[d] = rapid.IntRange(1, 5+20*d).Draw(t, "in")
		after := rapid.IntRange(0, 3).Draw(t, "after")
		s.Out[d] = max(0, s.In[d]+s.Before[d]+after-s.Dilation[d]*(s.Size[d]-1)-1+s.Stride[d]) / s.Stride[d]
	}
	return s
}

func TestSumsAlone(t *testing.T) {
	seed := rapid.Uint64()
	t.Run("float64", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { testSums[float64](t, drawAlone(t), seed.Draw(t, "seed"), 1e-13) })
	})
	t.Run("float32", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) { testSums[float32](t, drawAlone(t), seed.Draw(t, "seed"), 1e-5) })
	})
}

// resnet are convolutions of ResNets and MobileNets.
var resnet = []struct {
	name                                   string
	in, out, size, stride, padding, groups int
	side                                   int
}{
	{"3-64,7x7,s2,224", 3, 64, 7, 2, 3, 1, 224},
	{"64-64,3x3,56", 64, 64, 3, 1, 1, 1, 56},
	{"64-128,3x3,s2,56", 64, 128, 3, 2, 1, 1, 56},
	{"64-256,1x1,56", 64, 256, 1, 1, 0, 1, 56},
	{"256-64,1x1,56", 256, 64, 1, 1, 0, 1, 56},
	{"256-512,1x1,s2,56", 256, 512, 1, 2, 0, 1, 56},
	{"512-512,3x3,7", 512, 512, 3, 1, 1, 1, 7},
	{"96,3x3,depthwise,56", 96, 96, 3, 1, 1, 96, 56},
	{"128,3x3,groups=32,56", 128, 128, 3, 1, 1, 32, 56},
}

func BenchmarkResNet(b *testing.B) {
	for _, images := range []int{1, 8} {
		for _, c := range resnet {
			n := (c.side+2*c.padding-c.size)/c.stride + 1
			s := Shape{Images: images, Channels: c.in, Outputs: c.out, Groups: c.groups, In: [3]int{1, c.side, c.side}, Size: [3]int{1, c.size, c.size},
				Out: [3]int{1, n, n}, Stride: [3]int{1, c.stride, c.stride}, Dilation: [3]int{1, 1, 1}, Before: [3]int{0, c.padding, c.padding}}
			r := rand.New(rand.NewPCG(1, 2))
			x, w := numbers[float32](r, images*c.in*c.side*c.side), numbers[float32](r, c.out*c.in/c.groups*c.size*c.size)
			y := numbers[float32](r, images*c.out*n*n)
			for name, k := range map[string]struct {
				room int
				run  func(room []float32)
			}{
				"forward": {s.ForwardRoom(), func(room []float32) { Forward(nil, s, y, x, w, room) }},
				"data":    {s.DataRoom(), func(room []float32) { Data(nil, s, x, y, w, room) }},
				"weight":  {s.WeightRoom(), func(room []float32) { Weight(nil, s, w, x, y, room) }},
			} {
				b.Run(fmt.Sprintf("%s/x%d/%s", c.name, images, name), func(b *testing.B) {
					room := make([]float32, k.room)
					for b.Loop() {
						k.run(room)
					}
					b.ReportMetric(2*float64(len(y))*float64(c.in/c.groups*c.size*c.size)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
