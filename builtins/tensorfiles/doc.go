// Package tensorfiles opens folders and files of named tensors in whatever format
// they are kept, and writes checkpoints in three of them. It knows files and
// boxes; tensors of a program, ranks and meshes it does not know.
//
// What it reads:
//
//   - a checkpoint of tpsh's own (package runtime/ckpt);
//   - a folder of torch.distributed.checkpoint (package dcp);
//   - a file of torch.save, .pt, .pth or .bin (package torchfile), or several in a
//     folder with an index, as Hugging Face keeps them;
//   - a safetensors file, or several in a folder, with or without an index, of whole
//     tensors or of parts that say where they belong.
//
// Terms:
//
//   - A Set is what has been opened: Tensors by name, and a Tree, the nested value
//     that they and other values stand in.
//   - A Piece is a box of a tensor, and where its elements lie in a file: one after
//     another, or at strides. The pieces of a tensor tile it.
//   - A Folder is where files are opened by name. A name has no folder in it, so
//     that nothing outside is read or written whatever a file says.
//   - A Proof has two hashes of each tensor: of what was read and of what was
//     written. They are ckpt.Sum, which does not depend on how a tensor is cut.
//
// All readers take damaged and hostile files: sizes are compared with the file's
// before anything is allocated, and the error is a *FormatError.
//
//	set, err := tensorfiles.Open("step-1000")
//	defer set.Close()
//	w := set.Tensor("model.fc.weight")
//	err = set.Read(dst, w, mesh.Box{Lo: []int{0, 0}, Hi: []int{4, w.Shape[1]}})
//	proof, err := tensorfiles.Copy(set, "hf", &tensorfiles.Options{Format: tensorfiles.Safetensors})
package tensorfiles
