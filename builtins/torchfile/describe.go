package torchfile

import (
	"archive/zip"
	"errors"
	"fmt"
	"path"
	"strings"

	"tpsh/builtins/pickle"
)

// saveState says how what is in a file can be had.
const saveState = "torch.save(module.state_dict(), path) writes tensors alone"

// explained returns the error of a pickle, with what the file is instead of one
// of tensors, where the error tells.
func explained(err error) error {
	var name *pickle.RefusedError
	switch {
	case !errors.As(err, &name):
		return err
	case strings.HasPrefix(name.Module, "__torch__"):
		return fmt.Errorf("%w: it is a TorchScript program; %s", err, saveState)
	case strings.HasPrefix(name.Module, "torch.") && !strings.HasPrefix(name.Module, "torch.nn") && !strings.HasPrefix(name.Module, "torch.fx"):
		return err
	case strings.HasPrefix(name.Module, "numpy"):
		return err
	case name.Module == "torch" || name.Module == "builtins" || name.Module == "collections": // a dtype, or a plain value of a kind that is not read
		return err
	}
	return fmt.Errorf("%w: it is a whole object, such as a module, and not its tensors; %s", err, saveState)
}

// KindOf says what a value of a file is that is neither a tensor nor a plain value.
func KindOf(v any) string {
	switch v.(type) {
	case *typedStorage:
		return "a storage"
	case storageClass:
		return "a class of storages"
	case pickle.Callable:
		return "a function or a class"
	}
	return fmt.Sprintf("a %T", v)
}

// archiveKind says what a zip archive without data.pkl is.
func archiveKind(files []*zip.File) string {
	for _, f := range files {
		switch base := path.Base(f.Name); {
		case base == "archive_format" || strings.HasPrefix(base, "serialized_exported_program") || path.Base(path.Dir(f.Name)) == "models":
			return "it is a program of torch.export, and not tensors: " + saveState
		case strings.HasSuffix(base, ".npy"):
			return "it is an .npz file of NumPy: load_npz reads it"
		}
	}
	return "it is a zip archive without data.pkl, and so none that torch.save wrote"
}

// AlienKind says what a file is that is neither a zip archive nor one of older
// versions, by its first bytes: ErrAlien if they do not tell.
func AlienKind(start []byte) error {
	switch text := string(start); {
	case strings.HasPrefix(text, "\x93NUMPY"):
		return errors.New("it is an .npy file of NumPy: load_npy reads it")
	case strings.HasPrefix(text, "GGUF"):
		return errors.New("it is a GGUF file of llama.cpp, which is not read")
	case strings.HasPrefix(text, "\x89HDF"):
		return errors.New("it is an HDF5 file, which is not read")
	case len(text) > 8 && text[8] == '{' && start[4]|start[5]|start[6]|start[7] == 0:
		return errors.New("it is a safetensors file: open_safetensors reads it")
	case len(text) > 1 && start[0] == 0x80 && 2 <= start[1] && start[1] <= 5:
		return errors.New("it is a pickle of Python's, which torch.save has not written: torch.save(dict, path) writes tensors")
	}
	return ErrAlien
}
