package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Models of every family, of random weights as transformers makes them now, answer on 1,
// 2 and 4 ranks along tp as they do there: to 1e-5 of the largest number, and with the
// same tokens behind a text. TPSH_PYTHON names a Python that has transformers.
func TestTorchFamilies(t *testing.T) {
	python := os.Getenv("TPSH_PYTHON")
	if python == "" {
		t.Skip("left out: some 40 models that transformers makes now; TPSH_PYTHON names a Python that has it")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "../../.ci/pytorch/hf_models.py", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) < 40 {
		t.Fatalf("got %d models, want 40 at least: %v", len(list), err)
	}
	for _, e := range list {
		folder := filepath.Join(dir, e.Name())
		for _, n := range []string{"1", "2", "4"} {
			t.Run(fmt.Sprint(e.Name(), "/", n), func(t *testing.T) {
				out := runExample(t, "-n", n, "--allow", dir, filepath.Join(exampleDir, "logits.star"), "--", folder, "--given", filepath.Join(folder, "expected.safetensors"))
				if !strings.Contains(out, "agree within 1e-05 of the largest") {
					t.Errorf("got\n%s", out)
				}
				if n == "1" {
					t.Log(difference.FindString(out))
				}
			})
		}
	}
}

var difference = regexp.MustCompile(`difference \S+`)

// Without transformers the models of examples/data do, on ranks along tp and dp: the
// examples compare what they make with what transformers did.
func TestFamiliesFromFiles(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"logits.star", "logits agree within 1e-05 of the largest"},
		{"generate.star", `goes on "esinH`},
		{"embed.star", "means agree to 1e-5"},
	} {
		for _, mesh := range []struct{ ranks, tp string }{{"1", "1"}, {"2", "2"}, {"4", "2"}, {"4", "4"}} {
			out := runExample(t, "-n", mesh.ranks, filepath.Join(exampleDir, c.script), "--", "--tp", mesh.tp)
			if !strings.Contains(out, c.want) {
				t.Errorf("%s on %s ranks, %s along tp, prints\n%s", c.script, mesh.ranks, mesh.tp, out)
			}
		}
	}
}

// The configs of published models, old ones and new, say nothing that is not known.
func TestFamiliesConfigs(t *testing.T) {
	const source = `
load("models/config.star", "reader")
load("models/open.star", "FAMILIES")
mesh = init_device_mesh("cpu", (1,), mesh_dim_names=("tp",))
for name, config in json.decode(read_text("testdata/families.json")).items():
    c = reader(config, name)
    FAMILIES[config["model_type"]](c, mesh, {})
    c.done()
    print(name)
`
	out := runExample(t, "--lib", exampleDir, "-c", source)
	if n := strings.Count(out, "\n"); n < 24 {
		t.Errorf("got %d configs, want 24 at least:\n%s", n, out)
	}
}

// A decoder refuses a mask, which it would pass over: all that is behind counts.
func TestFamiliesMask(t *testing.T) {
	const source = `
load("models/open.star", "open_model")
model = open_model(args[0], init_device_mesh("cpu", (2,), mesh_dim_names=("tp",)))
ids = tensor([[1, 5, 7]])
assert.eq(model({"ids": ids, "mask": ids * 0 + 1})["logits"], model({"ids": ids})["logits"])
assert.fails(lambda: model({"ids": ids, "mask": ids.gt(1)}), "mask: got one that leaves tokens out, want none")
print("as it should be")
`
	dir := filepath.Join(exampleDir, "data", "llama")
	if out := runExample(t, "-n", "2", "--lib", exampleDir, "--allow", dir, "-c", source, "--", dir); !strings.Contains(out, "as it should be") {
		t.Errorf("got\n%s", out)
	}
}

// A text stands for its tokens.
func TestLogitsOfText(t *testing.T) {
	dir := filepath.Join(exampleDir, "data", "llama")
	script := filepath.Join(exampleDir, "logits.star")
	tokens := runExample(t, "-n", "2", "--allow", dir, "-c", "print(load_tokenizer(args[0]).encode('a fine day'))", "--", dir)
	ids := strings.NewReplacer("[", "", "]", "", " ", "", "\n", "").Replace(tokens)
	text := runExample(t, "-n", "2", script, "--", "data/llama", "a fine day")
	if want := runExample(t, "-n", "2", script, "--", "data/llama", "--ids", ids); text != want || !strings.Contains(text, "likeliest") {
		t.Errorf("the text gives\n%s\nits tokens\n%s", text, want)
	}
}

// A text ends where generation_config.json says, if there is one.
func TestGenerateEnds(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(exampleDir, "data", "llama"))); err != nil {
		t.Fatal(err)
	}
	written := func() []string {
		out := runExample(t, "-n", "2", "--allow", dir, filepath.Join(exampleDir, "generate.star"), "--", dir, "--ids", "1,5", "--count", "6")
		list := regexp.MustCompile(`\[(.*)\]\s*$`).FindStringSubmatch(out)
		if list == nil {
			t.Fatalf("got\n%s", out)
		}
		return strings.Split(list[1], ", ")
	}
	all := written()
	if len(all) != 6 {
		t.Fatalf("got %v, want 6 tokens", all)
	}
	end := slices.Index(all, all[2]) + 1
	config := fmt.Sprintf(`{"eos_token_id": [%s, 1000000]}`, all[2])
	if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := written(); !slices.Equal(got, all[:end]) {
		t.Errorf("got %v, want %v, which end in %s", got, all[:end], all[2])
	}
}

// What cannot be read as the config says is refused, with the field and its value.
func TestFamiliesRefuse(t *testing.T) {
	swap := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	const index = "model.safetensors.index.json"
	for _, c := range []struct {
		name, file string
		change     func(string) string
		ranks      string
		want       string
	}{
		{"family", "config.json", swap(`"llama"`, `"mamba"`), "2", `config.json: got model_type "mamba", want one of bert, distilbert, .*whisper`},
		{"no family", "config.json", swap(`"model_type"`, `"type"`), "2", `config.json: got model_type None, want one of bert`},
		{"list", "config.json", func(string) string { return "[]" }, "2", `config.json: got model_type None`},
		{"quantized", "config.json", swap(`"hidden_act"`, `"quantization_config": {"bits": 4}, "hidden_act"`), "2", `config.json: got quantization_config {"bits": 4}, which is not known of such a model \(--ignore quantization_config reads on without\)`},
		{"field of another", "config.json", swap(`"hidden_act"`, `"attn_logit_softcapping": 50.0, "hidden_act"`), "2", `config.json: got attn_logit_softcapping 50.0, which is not known of such a model`},
		{"activation", "config.json", swap(`"silu"`, `"relu6"`), "2", `config.json: got hidden_act "relu6", want "gelu" or .*"silu"`},
		{"size", "config.json", swap(`"hidden_size": 32`, `"hidden_size": "32"`), "2", `config.json: got hidden_size "32", want an int above 0`},
		{"no size", "config.json", swap(`"hidden_size"`, `"hidden_sizes"`), "2", `config.json: got no hidden_size, want an int above 0`},
		{"truth", "config.json", swap(`"mlp_bias": false`, `"mlp_bias": 1`), "2", `config.json: got mlp_bias 1, want true or false`},
		{"rope", "config.json", swap(`"llama3"`, `"spiral"`), "2", `rope_(parameters|scaling): got rope_type "spiral", want "default" or "linear"`},
		{"rope's factor", "config.json", swap(`"low_freq_factor"`, `"lower_factor"`), "2", `rope_(parameters|scaling): got no low_freq_factor, want a number`},
		{"rope's field", "config.json", swap(`"low_freq_factor"`, `"curl": 2, "low_freq_factor"`), "2", `rope_(parameters|scaling): got curl 2, which is not known`},
		{"part of a head", "config.json", swap(`"low_freq_factor"`, `"partial_rotary_factor": 0.5, "low_freq_factor"`), "2", `got partial_rotary_factor 0.5, want 1.0: whole heads turn in such a model`},
		{"bias", "config.json", swap(`"mlp_bias": false`, `"mlp_bias": true`), "2", `the checkpoint has no tensor "model.layers.0.mlp.gate_proj.bias"`},
		{"heads", "config.json", swap(`"silu"`, `"silu" `), "3", `got 8 heads, want a multiple of 3, the ranks that share them`},
		{"width", "config.json", swap(`"intermediate_size": 48`, `"intermediate_size": 64`), "2", `tensor "model.layers.0.mlp.gate_proj.weight": got the shape \(48, 32\), want \(64, 32\), as config.json says`},
		{"layers", "config.json", swap(`"num_hidden_layers": 2`, `"num_hidden_layers": 1`), "2", `the checkpoint has a tensor "model.layers.1.input_layernorm.weight", which is not known of such a model`},
		{"no weights", "model-00002-of-00002.safetensors", func(string) string { return "" }, "2", `open_safetensors: for parameter "path": got .*model-00002-of-00002.safetensors"`},
		{"no files", index, func(string) string { return "" }, "2", "model.safetensors\", want a file that is there .*; of a pytorch_model.bin `tpsh ckpt reshard --format safetensors` makes one"},
		{"broken index", index, func(s string) string { return s[:40] }, "2", `model.safetensors.index.json: got no object weight_map, want one of the names of tensors and of their files`},
		{"no tensor", index, swap(`"model.norm.weight"`, `"model.form.weight"`), "2", `the checkpoint has no tensor "model.norm.weight"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := spoil(t, "llama", c.file, c.change)
			var out, errs bytes.Buffer
			args := []string{"run", "-n", c.ranks, "--allow", dir, filepath.Join(exampleDir, "generate.star"), "--", dir, "a"}
			if code := run(&stdio{strings.NewReader(""), &out, &errs}, args); code != 1 {
				t.Errorf("exit status %d, want 1", code)
			}
			if !regexp.MustCompile(c.want).Match(errs.Bytes()) {
				t.Errorf("got:\n%s\nwant a match of %s", &errs, c.want)
			}
		})
	}
}
