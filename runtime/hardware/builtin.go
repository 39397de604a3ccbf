package hardware

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed machines/*.toml
var files embed.FS

// Names lists the built-in machines, in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir("machines")
	if err != nil {
		panic(err) // embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	slices.Sort(names)
	return names
}

// Text returns the file of a built-in machine.
func Text(name string) ([]byte, error) {
	data, err := files.ReadFile("machines/" + name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("no machine is called %q%s", name, meant(name, append(Names(), "here")))
	}
	return data, nil
}

// Builtin returns the built-in machine called name.
func Builtin(name string) (*Machine, error) {
	data, err := Text(name)
	if err != nil {
		return nil, err
	}
	return Read(name+".toml", data)
}

// Load returns the machine that --hw names: one that is built in, or a file's.
func Load(nameOrPath string) (*Machine, error) {
	data, err := LoadText(nameOrPath)
	if err != nil {
		return nil, err
	}
	if slices.Contains(Names(), nameOrPath) {
		nameOrPath += ".toml"
	}
	return Read(nameOrPath, data)
}

// LoadText returns the text of the file that --hw names.
func LoadText(nameOrPath string) ([]byte, error) {
	if slices.Contains(Names(), nameOrPath) {
		return Text(nameOrPath)
	}
	data, err := os.ReadFile(nameOrPath)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	if !strings.ContainsAny(nameOrPath, "./") {
		return Text(nameOrPath)
	}
	name := strings.TrimSuffix(filepath.Base(nameOrPath), filepath.Ext(nameOrPath))
	return nil, fmt.Errorf("there is no file %s, and no machine is called so%s", nameOrPath, meant(name, append(Names(), "here")))
}
