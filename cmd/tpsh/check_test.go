package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tpsh/lang"
	static "tpsh/lang/check"
)

func languageOf(t *testing.T, lib ...string) *static.Language {
	t.Helper()
	l, err := theLanguage()
	if err != nil {
		t.Fatal(err)
	}
	return &static.Language{Language: l, Lib: lib}
}

// Nothing is found in programs that run.
func TestCheckFindsNothingInProgramsThatRun(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	language, checked := languageOf(t, examples), 0
	for _, dir := range []string{"../../examples", "../../builtins/testdata", "testdata", "../../../shared/acceptance", "../../../../shared/acceptance"} {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".star") || strings.Contains(filepath.ToSlash(path), "/testdata/torch/") {
				return nil // what is under torch is the second half of programs whose first half PyTorch makes
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			for _, f := range static.Source(path, lang.WithoutMark(string(data)), language) {
				t.Errorf("%s", f)
			}
			return nil
		})
	}
	if checked < 80 {
		t.Errorf("%d programs were checked, want at least 80", checked)
	}
}

// mutants are mistakes that a slip makes of a program that runs.
var mutants = []struct{ text, rule string }{
	{"x = ones(2\n", "syntax"}, {"if True\n    pass\n", "syntax"}, {"x = 1 +\n", "syntax"}, {"def f(:\n    pass\n", "syntax"}, {"x == = 1\n", "syntax"},
	{"x = onse(2)\n", "undefined"}, {"def f(a):\n    return b\n", "undefined"}, {"print(true)\n", "undefined"}, {"x = torch.ones(2)\n", "undefined"}, {"y = [a for b in range(3)]\n", "undefined"}, {"print(f\"{lossy}\")\n", "undefined"}, {"for i in range(2):\n    print(j)\n", "undefined"},
	{"y = F.reluu(ones(2))\n", "member"}, {"m = nn.Lineer(2, 3)\n", "member"}, {"o = optim.Adma([])\n", "member"}, {"x = math.sqrtt(2)\n", "member"}, {"assert.equals(1, 1)\n", "member"}, {"x = json.dumps(1)\n", "member"}, {"x = linalg.invv(ones(2, 2))\n", "member"}, {"def f():\n    return F.sofmax(ones(2), dim=0)\n", "member"},
	{"x = all_reduce(ones(2), opp=\"sum\")\n", "arguments"}, {"x = all_gather(ones(2), dimm=0)\n", "arguments"}, {"x = broadcast(ones(2), source=0)\n", "arguments"}, {"x = matmul(ones(2, 2))\n", "arguments"}, {"x = matmul(ones(2, 2), ones(2, 2), ones(2, 2))\n", "arguments"}, {"x = F.softmax(ones(2), dims=0, extra=1)\n", "arguments"}, {"m = nn.Linear(2)\n", "arguments"}, {"m = nn.Linear(2, 3, bais=True)\n", "arguments"}, {"x = F.relu()\n", "arguments"}, {"x = F.relu(ones(2), True, False)\n", "arguments"}, {"s = Shard()\n", "arguments"}, {"s = Replicate(1)\n", "arguments"}, {"def f(a, b):\n    return a\nf(1)\n", "arguments"}, {"def f(a):\n    return a\nf(1, 2)\n", "arguments"}, {"def f(a):\n    return a\nf(1, c=2)\n", "arguments"}, {"x = rand(2, sede=1)\n", "arguments"}, {"assert.eq(1)\n", "arguments"},
	{"load(\"nowhere.star\", \"f\")\nf()\n", "load"}, {"def f():\n    return 1\n    print(2)\n", "unreachable"}, {"for i in range(2):\n    break\n    print(i)\n", "unreachable"}, {"def test_a():\n    print(1)\n", "no-assert"}, {"def help():\n    print(1)\n\ndef test_b():\n    help()\n", "no-assert"},
}

func TestCheckFindsMutants(t *testing.T) {
	language, missed := languageOf(t), 0
	for _, m := range mutants {
		found := static.Source("m_test.star", m.text, language)
		if len(found) == 0 || found[0].Rule != m.rule {
			missed++
			t.Logf("%q: got %v, want a finding of %s", m.text, found, m.rule)
		}
	}
	if len(mutants) < 40 || missed*10 > len(mutants) {
		t.Errorf("%d of %d mutants are not found, want at most a tenth of at least 40", missed, len(mutants))
	}
}

// The page of editors has a row for every rule.
func TestEditorPageHasRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/editor.md")
	if err != nil {
		t.Fatal(err)
	}
	for rule := range static.Rules {
		if !strings.Contains(string(page), "`"+rule+"`") {
			t.Errorf("docs/editor.md lacks the rule %s", rule)
		}
	}
}
