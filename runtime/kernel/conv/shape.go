package conv

// A Shape is the sizes of a convolution. Along the three dims that windows move
// over, element t of window p stands at p·Stride + t·Dilation - Before of the image;
// where that is outside, it counts as 0. Convolutions of fewer dims have dims of size
// 1 in front.
type Shape struct {
	Images, Channels, Outputs int // n, c and o
	Groups                    int // divides Channels and Outputs
	In, Size, Out             [3]int
	Stride, Dilation, Before  [3]int
}

// fewPlaces is how many columns a product should have: with fewer, the weight is
// packed too often.
const fewPlaces = 512

// together returns how many images are one product: more than one if each has few
// places.
func together(images, places int) int {
	if places >= fewPlaces/2 {
		return 1
	}
	m := ceil(fewPlaces, max(places, 1))
	return ceil(images, max(ceil(images, m), 1))
}

// together is together for products of so many rows, whose places are those of out.
func (s *Shape) together(out [3]int, rows int) int {
	if s.direct(rows) {
		return 1
	}
	return together(s.Images, volume(out))
}

func (s *Shape) taps() int   { return volume(s.Size) }
func (s *Shape) places() int { return volume(s.Out) }
func (s *Shape) pixels() int { return volume(s.In) }

// own returns the channels and outputs of a group.
func (s *Shape) own() (channels, outputs int) { return s.Channels / s.Groups, s.Outputs / s.Groups }

// empty reports whether there is nothing to multiply.
func (s *Shape) empty() bool {
	return s.Images*s.Channels*s.Outputs*s.taps()*s.places()*s.pixels() == 0
}

func volume(n [3]int) int { return n[0] * n[1] * n[2] }

func ceil(n, d int) int { return (n + d - 1) / d }

// each calls f with every index of n, row-major.
func each(n [3]int, f func(i [3]int)) {
	for i := range n[0] {
		for j := range n[1] {
			for k := range n[2] {
				f([3]int{i, j, k})
			}
		}
	}
}
