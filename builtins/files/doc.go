// Package files is the vocabulary of what scripts read and write: text, tables,
// arrays, weights, checkpoints and tokenizers.
//
//	write_text(path, "hello"); read_text(path); read_csv(path); tmpdir()
//	save_npy(path, x); load_npz(path); open_safetensors(path).get_slice("w", 0, 0, 8)
//	save_checkpoint(dir, {"model": m.state_dict(), "step": 7})
//
// A path of a script leads into the script's folder, the working folder, one of
// tmpdir or one that the user has allowed: open and write (files.go) ask package
// sandbox, and badPath is the error of every path. The formats themselves are
// packages of their own that know bytes and no tensors: npy, csv, safetensors, tokenizer.
// Here is what makes tensors of them.
//
// A checkpoint (checkpoint_save.go, checkpoint_load.go) is written by all ranks:
// each writes the boxes of a tensor that it stores, as held finds them for plain,
// distributed and flat tensors, and package ckpt says which files they go to. What
// is no tensor is the state (checkpoint_state.go), JSON that is equal on all ranks.
// A save or a load in which one rank fails fails on all: agree tells each what
// the others met with.
package files
