// Package conv computes convolutions of float32 and float64, and their two
// gradients, as matrix products of package gemm.
//
// A convolution of images [n, c, d, h, w] with a weight [o, c / groups, ..] is for
// each image, and each group of channels, the product of the weight as a matrix of
// c / groups · taps columns and of the matrix of all windows, which has a column for
// each place of the result. That matrix is never made: gemm.Windows says where
// what it would hold lies in the image, and the panels that the product reads are
// packed from there. Around the image there must be zeros for windows that reach
// beyond it, so an image with padding, and one whose windows do not lie side by
// side, is copied into a frame first, a part of so many images at a time as fill the
// columns of a product.
//
// The gradient of the images is such a product too, with windows over the gradient
// of the result and the weight turned round: of elements as many apart as windows
// are, the same taps of the weight meet the result, and each such set is a
// convolution of its own. In the gradient of the weight, places are the inner
// dim.
//
// # The order of sums
//
// All sums have the order of package gemm along the inner dim: of the result,
// channels and in each the elements of the window, row-major; of the images'
// gradient, the channels of the result and in each those elements of the window;
// of the weight's, the places, row-major, image after image; a new block begins at the
// first place of an image, or of the first of several that have few places each.
//
// Groups that make few results do it tap by tap, without panels: what a tap sees of all
// channels is then a block of the sum, or of one channel what neighbouring taps see.
// The weight's gradient of groups of one channel and result has the sums of rows of
// places, added up in order.
//
// Where a window sees one channel alone, kernels of package gemm keep its sums in registers,
// and for the gradient of such a weight several rows side by side. The order is that.
//
// So no sum depends on the instructions in use or the number of goroutines.
package conv
