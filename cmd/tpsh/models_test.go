package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The losses of gpt.star are those of one rank on every mesh, to 1e-4.
func TestGPT(t *testing.T) {
	script := filepath.Join(exampleDir, "gpt.star")
	want := stepLosses(t, runExample(t, "-n", "1", script, "--", "3", "1", "1"))
	if len(want) != 3 || want[2] > want[0]-0.3 {
		t.Fatalf("1 rank: losses %v, want 3 that fall", want)
	}
	for _, mesh := range []struct{ ranks, tp string }{{"2", "2"}, {"4", "1"}, {"4", "4"}} {
		got := stepLosses(t, runExample(t, "-n", mesh.ranks, script, "--", "3", mesh.tp, "1"))
		if len(got) != len(want) {
			t.Fatalf("%s ranks, %s along tp: %d losses, want %d", mesh.ranks, mesh.tp, len(got), len(want))
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-4 {
				t.Errorf("%s ranks, %s along tp: loss %g at step %d, want %g to 1e-4", mesh.ranks, mesh.tp, got[i], i+1, want[i])
			}
		}
	}
}

// A pipeline of tensor-parallel stages computes what one rank does: the example
// compares losses, gradients and parameters to 1e-4 itself.
func TestGPTPipeline(t *testing.T) {
	script := filepath.Join(exampleDir, "gpt_pipeline.star")
	for ranks, want := range map[string]string{"2": "in 1 stages of 2 ranks", "4": "in 2 stages of 2 ranks", "8": "in 4 stages of 2 ranks"} {
		if out := runExample(t, "-n", ranks, script); strings.Count(out, want+", as in one piece") != 3 {
			t.Errorf("%s ranks print\n%s\nwant three steps %s", ranks, out, want)
		}
	}
}

// stepLosses reads the losses from lines "step n loss x".
func stepLosses(t *testing.T, out string) []float64 {
	t.Helper()
	var list []float64
	for _, found := range regexp.MustCompile(`(?m)^step \d+ loss (\S+)$`).FindAllStringSubmatch(out, -1) {
		x, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// What others computed from the files of llama.star and bert.star is what every
// number of ranks computes: the examples compare it themselves.
func TestModelsFromFiles(t *testing.T) {
	for _, name := range []string{"llama.star", "bert.star"} {
		for _, n := range []string{"1", "2", "4"} {
			if out := runExample(t, "-n", n, filepath.Join(exampleDir, name)); !strings.Contains(out, "agree to 1e-4") {
				t.Errorf("%s on %s ranks prints\n%s", name, n, out)
			}
		}
	}
}

// A BERT takes texts, where a folder has a tokenizer, and tokens: the same vectors
// come of both.
func TestBertTakesTexts(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(exampleDir, "data", "bert"))); err != nil {
		t.Fatal(err)
	}
	vocab := "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\ncat\n##s\nsat\n.\n"
	if err := os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte(vocab), 0o644); err != nil {
		t.Fatal(err)
	}
	example := []string{"-n", "2", "--allow", dir, filepath.Join(exampleDir, "bert.star"), "--", dir}
	texts := runExample(t, append(example, "Cats sat.", "a cat")...)
	tokens := runExample(t, append(example, "2,5,6,7,8,3", "2,4,5,3")...)
	if texts != tokens || !strings.Contains(texts, "1.0000") {
		t.Errorf("texts give\n%s\ntheir tokens\n%s", texts, tokens)
	}
}

// spoil returns a copy of one of the models in which change has changed a file;
// with "" for what it becomes, it is gone.
func spoil(t *testing.T, model, file string, change func(string) string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(exampleDir, "data", model))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := change(string(data))
	if changed == string(data) {
		t.Fatalf("%s is as before", file)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changed == "" {
		return dir
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Files that do not fit say so.
func TestModelsRefuse(t *testing.T) {
	swap := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	gone := func(string) string { return "" }
	for _, c := range []struct {
		name, model, file string
		change            func(string) string
		ranks, want       string
	}{
		{"architecture", "llama", "config.json", swap(`"llama"`, `"mamba"`), "2", `config.json: got the model_type "mamba", want "llama"`},
		{"activation", "llama", "config.json", swap(`"silu"`, `"relu"`), "2", `config.json: got hidden_act "relu", want "silu"`},
		{"rope", "llama", "config.json", swap(`"llama3"`, `"yarn"`), "2", `rope_scaling: got the type "yarn", want "linear", "llama3" or "default"`},
		{"heads", "llama", "config.json", swap(`"silu"`, `"silu"`+" "), "3", `got num_attention_heads 8, want a multiple of 3, the ranks that share the heads`},
		{"key heads", "llama", "config.json", swap(`"silu"`, `"silu"`+" "), "8", `got num_key_value_heads 4, want a multiple of 8`},
		{"sizes", "llama", "config.json", swap(`"intermediate_size": 48`, `"intermediate_size": 64`), "2", `tensor "model.layers.0.mlp.gate_proj.weight": got the shape \(48, 32\), want \(64, 32\), as config.json says`},
		{"no config", "llama", "config.json", gone, "2", `read_text: for parameter "path": got .*config.json`},
		{"no weights", "llama", "model-00002-of-00002.safetensors", gone, "2", `open_safetensors: for parameter "path": got .*model-00002-of-00002.safetensors"`},
		{"no tensor", "llama", "model.safetensors.index.json", swap(`"model.norm.weight"`, `"model.form.weight"`), "2", `the checkpoint has no tensor "model.norm.weight"`},
		{"alien file", "llama", "model-00001-of-00002.safetensors", func(string) string { return "alien" }, "2", `open_safetensors: for parameter "path": .*want a safetensors file`},
		{"tokenizer", "llama", "tokenizer.json", swap(`"type": "BPE"`, `"type": "Neural"`), "2", `load_tokenizer: for parameter "path": .*model: got the type "Neural", want BPE`},
		{"words", "llama", "config.json", swap(`"vocab_size": 320`, `"vocab_size": 300`), "2", `want \(300, 32\), as config.json says`},
		{"more tokens", "llama", "tokenizer.json", swap(`"added_tokens": [`, `"added_tokens": [{"id": 320, "content": "<more>"},`), "2", `the tokenizer has 321 tokens, the model knows 320: they do not fit`},
		{"encoder", "bert", "config.json", swap(`"bert"`, `"t5"`), "2", `config.json: got the model_type "t5", want "bert"`},
		{"encoder's heads", "bert", "config.json", swap(`"gelu"`, `"gelu"`+" "), "3", `got num_attention_heads 4, want a multiple of 3`},
		{"encoder's texts", "bert", "config.json", swap(`"gelu"`, `"gelu"`+" "), "2", `load_tokenizer: for parameter "path": .*want a folder with a tokenizer`},
		{"encoder's weights", "bert", "model.safetensors", gone, "2", `open_safetensors: for parameter "path": got .*model.safetensors"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := spoil(t, c.model, c.file, c.change)
			var out, errs bytes.Buffer
			args := []string{"run", "-n", c.ranks, "--allow", dir, filepath.Join(exampleDir, c.model+".star"), "--", dir, "one"}
			if code := run(&stdio{strings.NewReader(""), &out, &errs}, args); code != 1 {
				t.Errorf("exit status %d, want 1", code)
			}
			if !regexp.MustCompile(c.want).Match(errs.Bytes()) {
				t.Errorf("got:\n%s\nwant a match of %s", &errs, c.want)
			}
		})
	}
}
