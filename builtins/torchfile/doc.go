// Package torchfile reads the files that torch.save writes, .pt and .bin,
// without Python and without running anything that they say, and writes such
// files of one tensor.
//
// A file is a value, as a rule dicts of tensors, and storages, flat runs of
// elements that the tensors look at. Two forms are read:
//
//   - a zip archive, of which the entry data.pkl is a pickle of the value and
//     data/KEY the bytes of the storage of that key, not compressed;
//   - the form before PyTorch 1.6: pickles of a magic number, of a version, of
//     what wrote it, of the value, and of the keys of the storages, which then
//     follow one after another.
//
// Terms:
//
//   - A Tensor says what a tensor is and which elements of which storage it has:
//     an offset and a stride for each dim, all counted in elements. Tensors may
//     share a storage, as tied weights do.
//   - A Storage is a run of bytes of the file.
//
// The pickle may name the few functions that make tensors, parameters and plain
// containers, and the dtypes; any other name is refused by that name.
//
//	f, err := torchfile.Open(r, size)
//	weights := f.Value.(*pickle.Dict)
//	w := weights.Get("fc.weight").(*torchfile.Tensor)
//	_, err = r.ReadAt(buf, w.Storage.Offset+w.Start*4) // of a float32 without gaps
package torchfile
