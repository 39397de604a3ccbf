package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tpsh/internal/spell"
	"tpsh/lang"
)

// flagsOf returns the flags of the script at path, or why it is none.
func flagsOf(path string) (*lang.Flags, error) {
	p, err := lang.ReadProgram(path)
	if err != nil {
		return nil, fileError{unread(path, err)}
	}
	if _, err := lang.Parse(p.Path, p.Source, 1); err != nil {
		return nil, err
	}
	return p.ReadFlags(), nil
}

// unread returns err, the error of reading path, with the nearest name of the folder if there is
// no such file.
func unread(path string, err error) error {
	dir, base := filepath.Split(path)
	if base == "" || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, _ := os.ReadDir(filepath.Dir(path)) // none where there is no folder
	stems := map[string]string{}
	var alike []string
	for _, e := range entries {
		name := e.Name()
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		if strings.HasPrefix(name, base) || stem == base {
			return fmt.Errorf("%w (did you mean %s?)", err, dir+name)
		}
		if filepath.Ext(name) == filepath.Ext(base) {
			stems[stem] = name
			alike = append(alike, stem)
		}
	}
	if near := spell.Nearest(strings.TrimSuffix(base, filepath.Ext(base)), alike); near != "" {
		return fmt.Errorf("%w (did you mean %s?)", err, dir+stems[near])
	}
	return err
}
