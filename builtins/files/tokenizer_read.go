package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"tpsh/builtins"
	"tpsh/builtins/tokenizer"
)

// tokenizerFiles are the names under which folders have tokenizers, the one that
// says most first.
var tokenizerFiles = []string{"tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}

// readTokenizer returns the tokenizer at file, which may be a folder, for the
// function name.
func readTokenizer(e *builtins.Env, name, file string) (*tokenizer.Tokenizer, error) {
	if !isFolder(e, file) {
		return readTokenizerFile(e, name, file)
	}
	for _, each := range tokenizerFiles {
		if there(e, path.Join(file, each)) {
			return readTokenizerFile(e, name, path.Join(file, each))
		}
	}
	return nil, badFile(e, name, file, "a folder with a tokenizer", fmt.Errorf("it has none of %s", strings.Join(tokenizerFiles, ", ")))
}

// isFolder reports whether a path leads to a folder that may be read.
func isFolder(e *builtins.Env, file string) bool {
	abs, err := absolute(e, file)
	if err != nil {
		return false
	}
	root, err := folders(e).OpenFolder(abs, false)
	if err == nil {
		root.Close()
	}
	return err == nil
}

// there reports whether there is a file that may be read.
func there(e *builtins.Env, file string) bool {
	abs, err := absolute(e, file)
	if err != nil {
		return false
	}
	f, err := folders(e).Open(abs)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, fs.ErrNotExist)
}

// readTokenizerFile returns the tokenizer of a file, whose name says its layout.
func readTokenizerFile(e *builtins.Env, name, file string) (*tokenizer.Tokenizer, error) {
	data, err := readAll(e, name, file)
	if err != nil {
		return nil, err
	}
	var t *tokenizer.Tokenizer
	want := "a tokenizer.json"
	switch base := path.Base(file); {
	case strings.HasSuffix(base, ".model"):
		want = "a tokenizer.model of SentencePiece"
		t, err = tokenizer.ParseSentencePiece(data)
	case slices.Contains([]string{"vocab.txt", "vocab.json", "merges.txt"}, base):
		want = "a vocabulary of an older layout"
		t, err = readOlder(e, name, path.Dir(file), base, data)
	default:
		t, err = tokenizer.Parse(data)
	}
	if err != nil {
		return nil, badFile(e, name, file, want, err)
	}
	return t, nil
}

// readOlder returns the tokenizer of a file of an older layout and of those
// beside it in folder.
func readOlder(e *builtins.Env, name, folder, base string, data []byte) (*tokenizer.Tokenizer, error) {
	config := new(tokenizer.Config)
	beside := path.Join(folder, "tokenizer_config.json")
	if there(e, beside) {
		text, err := readAll(e, name, beside)
		if err != nil {
			return nil, err
		}
		if config, err = tokenizer.ParseConfig(text); err != nil {
			return nil, fmt.Errorf("tokenizer_config.json beside it: %w", err)
		}
	}
	if base == "vocab.txt" {
		return tokenizer.ParseVocab(data, config)
	}
	other := "merges.txt"
	if base == other {
		other = "vocab.json"
	}
	if !there(e, path.Join(folder, other)) {
		return nil, fmt.Errorf("there is no %s beside it", other)
	}
	more, err := readAll(e, name, path.Join(folder, other))
	if err != nil {
		return nil, err
	}
	if base == "merges.txt" {
		data, more = more, data
	}
	return tokenizer.ParseMerges(data, more, config)
}
