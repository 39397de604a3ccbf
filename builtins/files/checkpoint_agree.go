package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"tpsh/builtins"
	"tpsh/runtime/ckpt"
	"tpsh/runtime/op"
)

// A ckptMessage is what a rank tells the others while they save or load.
type ckptMessage struct {
	Func       string       `json:"func"`
	Error      string       `json:"error,omitempty"`
	State      []byte       `json:"state,omitempty"`
	Offers     []ckpt.Offer `json:"offers,omitempty"`
	Generation int          `json:"generation,omitempty"`
	File       *ckpt.File   `json:"file,omitempty"`
	Index      []byte       `json:"index,omitempty"`
	Problem    string       `json:"problem,omitempty"`
	Foreign    bool         `json:"foreign,omitempty"`
}

// agree tells all ranks m, and err if that is one, and returns what each tells.
// If one has failed, all do.
func agree(e *builtins.Env, fn string, m ckptMessage, err error) ([]ckptMessage, error) {
	m.Func = fn
	if err != nil {
		m.Error = err.Error()
	}
	data, bad := json.Marshal(m)
	if bad != nil {
		return nil, bad
	}
	ckpt.Step("rank %d tells the others %d bytes", e.Runtime.Self(), len(data))
	var list [][]byte
	bad = e.Runtime.Untraced(func() (err error) {
		list, err = e.Runtime.AllGatherObject(e.Runtime.World(), data, nil)
		return err
	})
	ckpt.Step("rank %d has heard the others", e.Runtime.Self())
	if err != nil {
		return nil, err
	}
	if bad != nil {
		return nil, bad
	}
	all := make([]ckptMessage, len(list))
	for r, data := range list {
		if err := json.Unmarshal(data, &all[r]); err != nil || all[r].Func != fn {
			return nil, &op.ResourceError{Func: fn, Err: fmt.Errorf("rank %d is in another function", r)}
		}
	}
	for r := range all {
		if all[r].Error != "" {
			return nil, &op.ResourceError{Func: fn, Err: &toldError{r, all[r].Error}}
		}
	}
	return all, nil
}

// A toldError is a failure that a rank has told all others in agree: no rank
// goes on. After any other error of agree some ranks may know that all have
// succeeded, and have gone on.
type toldError struct {
	rank int
	text string
}

func (e *toldError) Error() string { return fmt.Sprintf("rank %d has failed: %s", e.rank, e.text) }

// folder opens the folder at dir, an argument of fn; with create it makes it.
func folder(e *builtins.Env, fn, dir string, create bool) (*os.Root, error) {
	abs, err := absolute(e, dir)
	if err == nil {
		var root *os.Root
		if root, err = folders(e).OpenFolder(abs, create); err == nil {
			return root, nil
		}
	}
	err = badPath(e, fn, dir, err)
	var bad *op.ArgError
	if errors.As(err, &bad) {
		bad.Param = "dir"
		switch bad.Want {
		case "a file that can be used":
			bad.Want = "a folder that can be used"
		case "a file that is there":
			bad.Want = "a folder that is there"
		}
	}
	return nil, err
}
