// Package fit finds the constants of a machine that explain measured runs.
//
// A [Sample] is one run: what was measured of it, and a function that says what
// a machine with given constants would take. [Fit] changes constants of a
// hardware file until the relative errors are least; it changes few of them
// where there are few samples. Terms:
//
//   - the prior is the file's own value: a constant is held to it as if by one
//     more measurement, of the width that hardware.Constant.Spread says, so that
//     what no sample speaks of stays as it is;
//   - an error is relative: predicted over measured, less one;
//   - a sample is left out in turn to see how well the others foretell it.
//
// For example:
//
//	r, err := fit.Fit(ctx, m, samples, fit.Options{})
//	for i, e := range r.Errors { fmt.Println(i, e, r.LeftOut[i]) }
//	better := m.Set(r.Values)
//
// The problem is bounded, nonlinear and small. It is solved by the method of
// Levenberg and Marquardt in the logarithms of the constants, with weights that
// hold outliers back.
package fit
