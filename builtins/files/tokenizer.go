package files

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/tokenizer"
)

// A Tokenizer turns text into tokens and back.
type Tokenizer struct {
	env  *builtins.Env
	path string // as the script wrote it
	t    *tokenizer.Tokenizer
}

var (
	_ starlark.HasAttrs = (*Tokenizer)(nil)
	_ arg.Described     = (*Tokenizer)(nil)
)

func (t *Tokenizer) String() string        { return fmt.Sprintf("Tokenizer(%q)", t.path) }
func (t *Tokenizer) Describe() string      { return t.String() }
func (t *Tokenizer) Type() string          { return "Tokenizer" }
func (t *Tokenizer) Freeze()               {} // it cannot be changed
func (t *Tokenizer) Truth() starlark.Bool  { return true }
func (t *Tokenizer) Hash() (uint32, error) { return 0, builtins.Unhashable(t) }
func (t *Tokenizer) AttrNames() []string   { return builtins.AttrNames("Tokenizer") }
func (t *Tokenizer) Attr(name string) (starlark.Value, error) {
	return t.env.Attr("Tokenizer", t, name)
}

// docTokenizer begins the examples: the tokens are a, b and ab.
const docTokenizer = ">>> path = tmpdir() + \"/tokenizer.json\"\n" +
	">>> model = {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}\n" +
	">>> end = {\"id\": 3, \"content\": \"<end>\", \"special\": True}\n" +
	">>> write_text(path, json.encode({\"model\": model, \"added_tokens\": [end], \"decoder\": {\"type\": \"Fuse\"}}))\n" +
	">>> t = load_tokenizer(path)\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "load_tokenizer",
		Doc: "load_tokenizer(path) returns the tokenizer of a published model: of a tokenizer.json, or of a folder that has one.\n" +
			"All its kinds are read: BPE (GPT-2, Llama, Qwen, Gemma), WordPiece (BERT), Unigram (T5, XLM-R) and WordLevel, with\n" +
			"normalizers, pre-tokenizers, processors and decoders. A part that is not known is an error that says where it is.\n" +
			"Older layouts are read, too: vocab.txt, vocab.json with merges.txt, and tokenizer.model of SentencePiece.\n" +
			"What a file says of truncating and padding is passed over, as transformers does unless it is asked for them.\n" +
			docPath + docTokenizer +
			">>> t.encode(\"abba<end>\")\n[2, 1, 0, 3]",
		Fn: loadTokenizer,
	}, &builtins.Row{
		Name: "Tokenizer",
		Doc:  "Tokenizer is the type of what load_tokenizer returns.",
	}, &builtins.Row{
		Name: "Tokenizer.encode",
		Doc: "encode(text, add_special_tokens=True) returns the list of the numbers of the tokens of text.\n" +
			"With add_special_tokens they stand between those that the file puts around a text. Added tokens in the text are\n" +
			"found either way.\n" + docTokenizer + ">>> t.encode(\"ab\")\n[2]",
		Fn: tokenizerEncode,
	}, &builtins.Row{
		Name: "Tokenizer.decode",
		Doc: "decode(ids, skip_special_tokens=True) returns the text of a list of tokens.\n" +
			"Bytes that are no UTF-8 become U+FFFD; with skip_special_tokens the special tokens are left out.\n" +
			docTokenizer + ">>> t.decode([2, 0, 3]), t.decode([2, 0, 3], skip_special_tokens=False)\n(\"aba\", \"aba<end>\")",
		Fn: tokenizerDecode,
	}, &builtins.Row{
		Name: "Tokenizer.vocab_size",
		Doc:  "vocab_size is the number of tokens, added ones included.\n" + docTokenizer + ">>> t.vocab_size\n4",
		Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
			return starlark.MakeInt(x.(*Tokenizer).t.Size()), nil
		},
	}, &builtins.Row{
		Name: "Tokenizer.token_to_id",
		Doc: "token_to_id(token) returns the number of a token, written as the file writes it, or None if there is none.\n" +
			docTokenizer + ">>> t.token_to_id(\"<end>\")\n3",
		Fn: tokenizerID,
	}, &builtins.Row{
		Name: "Tokenizer.id_to_token",
		Doc: "id_to_token(id) returns the token with a number, as the file writes it, or None if there is none.\n" +
			docTokenizer + ">>> t.id_to_token(2)\n\"ab\"",
		Fn: tokenizerToken,
	})
}

func loadTokenizer(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path); err != nil {
		return nil, err
	}
	t, err := readTokenizer(e, b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	return &Tokenizer{e, string(path), t}, nil
}

func tokenizerEncode(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		text  arg.String
		frame = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "text", &text, "add_special_tokens?", &frame); err != nil {
		return nil, err
	}
	ids, err := b.Receiver().(*Tokenizer).t.Encode(string(text), bool(frame))
	if err != nil {
		return nil, &arg.CallError{Func: b.Name(), Text: fmt.Sprintf("for parameter %q: %v", "text", err)}
	}
	list := make([]starlark.Value, len(ids))
	for i, id := range ids {
		list[i] = starlark.MakeInt(id)
	}
	return starlark.NewList(list), nil
}

func tokenizerDecode(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		list arg.List
		skip = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "ids", &list, "skip_special_tokens?", &skip); err != nil {
		return nil, err
	}
	ids, err := arg.ToInts(starlark.Tuple(list))
	if err != nil {
		return nil, arg.In(b.Name(), "ids", err)
	}
	text, err := b.Receiver().(*Tokenizer).t.Decode(ids, bool(skip))
	if err != nil {
		return nil, &arg.CallError{Func: b.Name(), Text: fmt.Sprintf("for parameter %q: %v", "ids", err)}
	}
	return starlark.String(text), nil
}

func tokenizerID(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var token arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "token", &token); err != nil {
		return nil, err
	}
	id, ok := b.Receiver().(*Tokenizer).t.ID(string(token))
	if !ok {
		return starlark.None, nil
	}
	return starlark.MakeInt(id), nil
}

func tokenizerToken(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var id arg.Int
	if err := arg.Unpack(b.Name(), args, kwargs, "id", &id); err != nil {
		return nil, err
	}
	token, ok := b.Receiver().(*Tokenizer).t.Token(int(id))
	if !ok {
		return starlark.None, nil
	}
	return starlark.String(token), nil
}
