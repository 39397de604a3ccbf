// Package dcp reads and writes the file .metadata of a folder that PyTorch's
// torch.distributed.checkpoint has saved, without Python and without running
// anything that the file says.
//
// A folder holds .metadata and data files, as a rule __0_0.distcp, __1_0.distcp
// and so on, one or more a rank. A data file is entries, one after another, each
// a file of its own as torch.save writes it (package torchfile): of one chunk of a
// tensor, or of a value that is no tensor.
//
// Terms:
//
//   - An entry's name is the path of a value in the nested dict that was saved,
//     its parts joined by dots. Metadata.Paths has the parts, where the file has.
//   - A Chunk is a box of a tensor, and the Place of its entry. The chunks of a
//     tensor make it up; a tensor that all ranks hold alike is one chunk.
//   - A Place is a range of bytes of a data file.
//
// The file is a pickle of the class Metadata and its companions in
// torch.distributed.checkpoint.metadata. The names of these are known; any other
// is refused by its name. A data file's name is one without a folder: a name that
// climbs out of the folder is refused.
//
//	m, err := dcp.Decode(data)
//	for _, t := range m.Tensors {
//		for _, c := range t.Chunks {
//			fmt.Println(t.Name, t.DType, c.Offsets, c.Sizes, c.Place.File, c.Place.Offset)
//		}
//	}
package dcp
