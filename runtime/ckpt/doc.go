// Package ckpt reads and writes checkpoints: folders of tensors that are cut
// into pieces. It knows files and layouts; tensors and ranks it does not know.
//
// Terms:
//
//   - An Index says what a checkpoint holds: its tensors, with the pieces that
//     make up each, the files that hold these, and the State, a JSON value that
//     belongs to whoever saved it. It is the file index.json.
//   - A piece is a Box of a tensor, in row-major order at some place in a data
//     file. The pieces of a tensor tile it.
//   - A data file is a safetensors file of pieces. One writer writes it. Its
//     name holds the generation, which is another with every save.
//   - A chunk is 64 KiB of a data file. The index has a checksum (CRC32C) of
//     each, so that whoever reads a part of a file knows that it is sound.
//   - The Sum of a tensor is a hash of its elements and their places. It does
//     not depend on how the tensor is cut, and so stays what it is when a
//     checkpoint is cut anew.
//
// A save writes its data files, and when all are on disk puts its index in the
// place of the old one in one step: whoever dies meanwhile leaves the old
// checkpoint or the new one, whole. What is left over of a save that died the
// next one removes.
//
// Writing a checkpoint of one piece, and reading a part of it:
//
//	gen, err := ckpt.Begin(root)
//	f, err := ckpt.Create(root, gen, 0, []ckpt.Entry{{"w", "float32", []int{4, 5}, box}})
//	_, err = f.Write(data)
//	file, err := f.Close()
//	err = ckpt.Commit(root, ckpt.Fresh(state, tensors, files, entries))
//
//	r, err := ckpt.Open(root)
//	err = r.Read(dst, r.Tensor("w"), mesh.Box{Lo: []int{1, 0}, Hi: []int{3, 5}})
package ckpt
