// Package rundiff says where two runs part: of a reference and a candidate, each a
// folder of named tensors, it finds the first tensor that differs by more than its
// dtype explains, and of what kind the difference is.
//
// A folder has .safetensors, .npz, .npy or .pt files, of the whole or one for each rank,
// of one or several steps. Words of the path tell these: "rank3", "step_12". What else a
// file is called matters only where two files have a tensor of one name.
//
// Terms:
//
//   - A pair is a tensor of one name and step in both runs.
//   - A fit is a way in which the blocks of the candidate's ranks are parts of the
//     reference: a layout, which gives each dim of a mesh a placement (replicated, cut
//     along a dim, a summand), and the error that is left. Layouts come from a Plan, or
//     all that suit the shapes are tried.
//   - The error of a pair is the rms of the difference, relative to the rms of the
//     reference. It is compared with a tolerance that grows with the number of layers
//     before the tensor and with the steps (diffing.tolerance). Gradients and states of
//     the optimizer far smaller than their likes count as if they were larger, and what
//     an optimizer makes of pure noise is told from what has an effect (judge.go).
//   - A finding is a kind of difference with what is left when it is taken for that. A
//     probe looks for all kinds (kinds.go, forms.go, forms_blocks.go, update.go); the one that leaves least
//     is reported. Guesses count only where nothing has been recognised.
//
// An example:
//
//	r, err := rundiff.Compare("one-gpu", "eight-gpus", &rundiff.Options{})
//	if !r.Equal {
//		fmt.Println(*r.First, *r.Kind, r.Says)
//	}
package rundiff
