package main

import "fmt"

// An imageLayer is a convolution of ResNets and MobileNets, of images of side by side.
type imageLayer struct{ in, out, window, stride, padding, groups, side int }

var imageLayers = []imageLayer{
	{3, 64, 7, 2, 3, 1, 224},
	{64, 64, 3, 1, 1, 1, 56}, {64, 128, 3, 2, 1, 1, 56}, {512, 512, 3, 1, 1, 1, 7},
	{64, 256, 1, 1, 0, 1, 56}, {256, 64, 1, 1, 0, 1, 56}, {256, 512, 1, 2, 0, 1, 56},
	{96, 96, 3, 1, 1, 96, 56}, {128, 128, 3, 1, 1, 32, 56},
}

// name names c on so many images.
func (c imageLayer) name(images int) string {
	return fmt.Sprintf("%d-%d,%dx%d,s%d,g%d,%d/x%d", c.in, c.out, c.window, c.window, c.stride, c.groups, c.side, images)
}

// flops returns the operations of c on so many images.
func (c imageLayer) flops(images int) float64 {
	n := (c.side+2*c.padding-c.window)/c.stride + 1
	return 2 * float64(images) * float64(n*n*c.out) * float64(c.in/c.groups*c.window*c.window)
}

// imageCases are convolutions of one rank: the result alone, and with the gradients
// of images and weight.
func (b *bench) imageCases() []*benchCase {
	var all []*benchCase
	for _, c := range imageLayers {
		for _, images := range []int{1, 8} {
			before := fmt.Sprintf("x = randn(%d, %d, %d, %d)\nw = randn(%d, %d, %d, %d)", images, c.in, c.side, c.side, c.out, c.in/c.groups, c.window, c.window)
			call := fmt.Sprintf("F.conv2d(x, w, None, %d, %d, 1, %d)", c.stride, c.padding, c.groups)
			bytes := 4 * images * c.in * c.side * c.side
			all = append(all,
				&benchCase{suite: "images", name: "conv2d/" + c.name(images), ranks: 1, before: before, body: call, cost: cost{bytes: bytes, flops: c.flops(images)}},
				&benchCase{suite: "images", name: "conv2d+grad/" + c.name(images), ranks: 1,
					before: before + "\nx.requires_grad_()\nw.requires_grad_()\ndy = ones_like(" + call + ").detach()",
					body:   "grad(" + call + ", [x, w], grad_outputs=dy)", cost: cost{bytes: bytes, flops: 3 * c.flops(images)}})
		}
	}
	return all
}
