package source

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"
)

// refusals have the advice for statements that Python has, by the word
// with which they begin.
var refusals = map[Token]string{
	syntax.CLASS:    "there are no classes: nn.Module(forward=f, **children) makes a module, struct(a=1) a record, and def the rest",
	syntax.TRY:      "there are no exceptions to catch: r = attempt(f, x) calls f(x) and gives r.ok, r.value and r.error",
	syntax.EXCEPT:   "there are no exceptions to catch: r = attempt(f, x) calls f(x) and gives r.ok, r.value and r.error",
	syntax.FINALLY:  "there is no finally: r = attempt(f, x) calls f(x), what follows it always runs, and fail(str(r.error)) fails again",
	syntax.RAISE:    `there are no exceptions to raise: write fail("what went wrong")`,
	syntax.DEL:      "there is no del: write d.pop(key) or l.pop(i), or give the name another value",
	syntax.GLOBAL:   "a function cannot assign a global: keep what changes in a list or a dict (count = [0], then count[0] += 1), or return it",
	syntax.NONLOCAL: "a function cannot assign the names of another: keep what changes in a list or a dict (count = [0], then count[0] += 1), or return it",
	syntax.YIELD:    "there are no generators: append to a list and return it",
	syntax.ASYNC:    "there is no async: collectives take async_op=True and give (result, work)",
	syntax.AWAIT:    "there is no await: collectives take async_op=True and give (result, work), and work.wait() waits",
	AT:              "there are no decorators: write f = decorator(f) below the function",
	syntax.ELSE:     "this else belongs to no if: it lines up with the if of its own",
	syntax.ELIF:     "this elif belongs to no if: it lines up with the if of its own",
	syntax.FROM:     importAdvice,
	syntax.IMPORT:   importAdvice,
	syntax.WITH:     "there is no with: a context is a function that takes the body: no_grad(f) calls f",
	syntax.AS:       "there is no as: give a value another name with =",
}

const importAdvice = `there is no import: tensors, F, nn, optim, json and math are there, and load("file.star", "name") takes names from another file`

// refuseStmt refuses statements that Python has and the language has not, by their first
// word.
func (p *parser) refuseStmt() {
	switch p.kind {
	case syntax.IMPORT, syntax.FROM:
		fail(p.token.pos, "%s", p.importAdvice())
	case syntax.WITH:
		fail(p.token.pos, "%s", p.withAdvice())
	case syntax.IDENT:
		p.refuseWord()
	default:
		if text, ok := refusals[p.kind]; ok {
			fail(p.token.pos, "%s", text)
		}
	}
}

// ahead returns the texts of the tokens that follow, to the end of the line, at
// most n of them.
func (p *parser) ahead(n int) []string {
	next := p.scanner
	var texts []string
	for len(texts) < n {
		t := next.tryNext()
		if t.raw == "" || t.raw == "\n" {
			break
		}
		texts = append(texts, t.raw)
	}
	return texts
}

// importAdvice returns the advice for an import.
func (p *parser) importAdvice() string {
	names := p.ahead(1)
	if len(names) == 0 {
		return importAdvice
	}
	switch names[0] {
	case "torch", "numpy", "jax", "torchvision":
		return fmt.Sprintf("there is no import: what %s has is there without a name in front: delete this line, and write zeros(2, 3), x.sum(), F.relu(x), nn.Linear(4, 8), optim.SGD(...)", names[0])
	case "math", "json", "toml", "yaml":
		return names[0] + " is there without an import: delete this line"
	case "time":
		return "there is no import: time() gives seconds: delete this line"
	case "random":
		return "there is no import: rand, randn, randint and randperm draw tensors, from the seed of manual_seed(n): delete this line"
	case "os", "sys", "pathlib", "argparse":
		return "there is no import: a script reads flag(name, default), args and files (read_text, load_npy), and no environment: delete this line"
	}
	return importAdvice
}

// withAdvice returns the advice for a with.
func (p *parser) withAdvice() string {
	line := strings.Join(p.ahead(8), "")
	for name, advice := range map[string]string{
		"no_grad": "no_grad(f) calls f without recording gradients", "inference_mode": "no_grad(f) calls f without recording gradients",
		"no_sync": "no_sync(module, f) calls f and leaves gradients unaveraged", "autocast": "autocast(dtype, f) calls f",
		"open": "read_text(path) and write_text(path, text) read and write whole files",
	} {
		if strings.Contains(line, name+"(") {
			return "there is no with: " + advice
		}
	}
	return refusals[syntax.WITH]
}

// refuseWord refuses statements that begin with a word which is a name here.
func (p *parser) refuseWord() {
	switch p.raw {
	case "assert":
		if assertsNext(p.ahead(2)) {
			fail(p.token.pos, "assert is a module: write assert.true(x > 1), assert.eq(x, 1) or assert.close(x, y)")
		}
	case "print", "exec":
		if next := p.ahead(1); len(next) == 1 && startsOperand(next[0]) {
			fail(p.token.pos, "%s is a function: write %s(...)", p.raw, p.raw)
		}
	case "match":
		if next := p.ahead(30); len(next) > 1 && next[len(next)-1] == ":" && startsOperand(next[0]) {
			fail(p.token.pos, "there is no match: write if, elif and else")
		}
	}
}

// assertsNext reports whether tokens behind the word assert make it Python's statement: they
// begin an operand, and do not go on from one. A call of the module is taken for one, too.
func assertsNext(next []string) bool {
	if len(next) == 0 {
		return false
	}
	switch next[0] {
	case "(", "{", "~", "lambda":
		return true
	case "not":
		return len(next) == 1 || next[1] != "in"
	}
	return startsOperand(next[0])
}

// startsOperand reports whether a token begins an operand, and nothing else.
func startsOperand(raw string) bool {
	c := rune(raw[0])
	_, word := words[raw]
	return !word && (isLetter(c) || isDigit(c) || c == '"' || c == '\'')
}

// refuseAfter fails where a statement should end.
func (p *parser) refuseAfter(s syntax.Stmt) {
	if x, ok := s.(*syntax.ExprStmt); ok {
		if id, ok := x.X.(*syntax.Ident); ok && p.kind == syntax.COLON {
			fail(p.token.pos, "there are no annotations: write %s = value without the : and the type", id.Name)
		}
		if p.kind == syntax.COLON {
			fail(p.token.pos, "a : ends the head of a block (if, for, while, def), and this is none")
		}
	}
	p.refuseToken()
	fail(p.token.pos, "the statement should end here, and there is %s: put one statement on a line, or an operator or a comma between two values", p.found())
}

// refuseToken refuses tokens that other languages have where this one has none.
func (p *parser) refuseToken() {
	switch p.kind {
	case BANG:
		if p.startsLine() {
			fail(p.token.pos, "programs run no commands of the system: ! begins none")
		}
		fail(p.token.pos, `the character '!' means nothing here: write not x, or a != b`)
	case WALRUS:
		fail(p.token.pos, ":= is not there: assign on a line of its own, with =")
	case ARROW:
		fail(p.token.pos, "-> is not there: there are no annotations, and x.name is an attribute")
	case syntax.EQ:
		fail(p.token.pos, "= assigns, and cannot stand in an expression: write == to compare")
	case syntax.YIELD, syntax.AWAIT, syntax.RAISE, syntax.IMPORT, syntax.AS:
		fail(p.token.pos, "%s", refusals[p.kind])
	case syntax.IDENT, syntax.LBRACE:
		if p.before.kind == syntax.INT || p.before.kind == syntax.FLOAT {
			p.refuseNumber()
		}
	}
	if assigns[p.kind] {
		fail(p.token.pos, "%s assigns, and cannot stand in an expression", p.raw)
	}
}

// refuseNumber fails at a name right behind a number.
func (p *parser) refuseNumber() {
	if !p.tied {
		return
	}
	switch p.raw {
	case "j", "J":
		fail(p.before.pos, "%sj is no number: complex numbers are elements of complex64 and complex128 tensors", p.before.raw)
	case "l", "L":
		fail(p.before.pos, "%s%s is no number: leave the %s out", p.before.raw, p.raw, p.raw)
	}
	fail(p.before.pos, "%s%s is neither a number nor a name: a name begins with a letter", p.before.raw, p.raw)
}

// found describes the token at which the parser is.
func (p *parser) found() string {
	switch p.kind {
	case syntax.EOF:
		return "the end of the file"
	case syntax.NEWLINE:
		return "the end of the line"
	case syntax.INDENT, syntax.OUTDENT:
		return "a line of another indentation"
	case syntax.IDENT:
		return "the name " + p.raw
	case syntax.INT, syntax.FLOAT:
		return "the number " + p.raw
	case syntax.STRING, syntax.BYTES, FSTRING:
		return "a text"
	}
	return quoted(p.kind)
}

// quoted returns a token as messages show it.
func quoted(t Token) string { return `"` + Text(t) + `"` }

// misplaced fails where something else should stand. The text names the thing that is
// missing.
func (p *parser) misplaced(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.kind == syntax.EOF {
		p.endsEarly(text)
	}
	p.refuseToken()
	fail(p.token.pos, "%s: here is %s", text, p.found())
}

// endsEarly fails at the end of the source.
func (p *parser) endsEarly(text string) {
	if n := len(p.open); n > 0 {
		b := p.open[n-1]
		failEnd(b.pos, "the %c that opens here is never closed", b.char)
	}
	failEnd(p.token.pos, "%s: here is the end of the file", text)
}

// noExpr fails where an expression should begin.
func (p *parser) noExpr() {
	if p.kind == syntax.EOF && p.counts() {
		fail(p.before.pos, "x++ and x-- are written x += 1 and x -= 1")
	}
	if p.kind == syntax.EOF {
		p.endsEarly("a value is missing")
	}
	p.refuseToken()
	switch {
	case p.kind == syntax.NEWLINE && p.counts():
		fail(p.before.pos, "x++ and x-- are written x += 1 and x -= 1")
	case p.kind == syntax.NEWLINE && p.before.raw != "":
		fail(p.token.pos, "a value is missing behind %q, where the line ends", p.before.raw)
	case p.kind == syntax.AMP && p.before.kind == syntax.AMP:
		fail(p.token.pos, `"&&" is written and`)
	case p.kind == syntax.PIPE && p.before.kind == syntax.PIPE:
		fail(p.token.pos, `"||" is written or`)
	case p.kind == syntax.PERCENT && p.startsLine():
		fail(p.token.pos, "there are no commands that begin with %%: time() gives seconds, and tpsh bench measures")
	case p.kind == syntax.LAMBDA:
		fail(p.token.pos, "a lambda between operators stands in brackets: write (lambda x: ...)")
	case p.kind == syntax.NOT:
		fail(p.token.pos, "not binds looser than the operator before it: write (not ...) in brackets")
	case p.kind == syntax.IF:
		fail(p.token.pos, "an if inside an expression stands behind a value: a if condition else b")
	}
	if text, ok := refusals[p.kind]; ok && p.kind != AT && p.kind != syntax.ELSE && p.kind != syntax.ELIF {
		fail(p.token.pos, "%s", text)
	}
	fail(p.token.pos, "a value is missing: here is %s", p.found())
}

// startsLine reports whether the parser is at the first token of a line.
func (p *parser) startsLine() bool {
	return p.before.raw == "" || p.before.kind == syntax.NEWLINE
}

// counts reports whether the parser is behind a ++ or a --.
func (p *parser) counts() bool {
	text := strings.TrimSpace(p.src[:p.off])
	return strings.HasSuffix(text, "++") || strings.HasSuffix(text, "--")
}

// noElse fails where an if inside an expression has no else.
func (p *parser) noElse(at syntax.Position) {
	if p.kind == syntax.EOF {
		p.endsEarly("else is missing behind the if inside the expression")
	}
	if p.kind == syntax.COLON {
		fail(at, "an if that begins a block stands at the start of its line")
	}
	fail(at, "an if inside an expression needs an else: a if condition else b")
}

// refuseStar refuses a * where there is no argument.
func (p *parser) refuseStar() {
	switch p.kind {
	case syntax.STAR:
		fail(p.token.pos, "a * stands before a list among arguments or elements, or before one of the names on the left of =, but not here (for x in xs: a, *b = x)")
	case syntax.STARSTAR:
		fail(p.token.pos, "a ** stands before a dict among arguments or in another dict, but not here")
	}
}

// notInList fails where neither another element nor the closing bracket stands.
func (p *parser) notInList(of string, end Token) {
	if p.kind == syntax.EOF {
		p.endsEarly(fmt.Sprintf("%s is missing", quoted(end)))
	}
	p.refuseToken()
	if p.kind == syntax.COLON && end == syntax.RPAREN && of == "arguments" {
		fail(p.token.pos, "a : does not stand among arguments: an argument is named with =")
	}
	if p.kind == syntax.FOR && end == syntax.RPAREN {
		fail(p.token.pos, "a comprehension of pairs needs brackets: [(a, b) for ...]")
	}
	fail(p.token.pos, "between two %s stands a comma, and behind the last %s: here is %s", of, quoted(end), p.found())
}

// notClause fails where neither another clause of a comprehension nor the closing bracket stands.
func (p *parser) notClause(end Token) {
	if p.kind == syntax.EOF {
		p.endsEarly(fmt.Sprintf("%s is missing", quoted(end)))
	}
	p.refuseToken()
	if p.kind == syntax.COMMA {
		fail(p.token.pos, "a comprehension has no comma behind it or in what it goes through: write [x for x in xs] or [x for x in (a, b)] in brackets of its own")
	}
	fail(p.token.pos, "behind a comprehension stands %s, or another for or if: here is %s", quoted(end), p.found())
}

// missingColon fails where the head of a block has no : at its end.
func (p *parser) missingColon(of string) {
	if p.kind == syntax.EOF {
		p.endsEarly("a : is missing at the end of the " + of)
	}
	p.refuseToken()
	switch p.kind {
	case syntax.NEWLINE:
		fail(p.token.pos, "a : is missing at the end of the %s", of)
	case syntax.LBRACE:
		fail(p.token.pos, "a block begins with a : and is indented, without braces")
	}
	fail(p.token.pos, "a : is missing behind the %s: here is %s", of, p.found())
}

// noBlock fails where a block has no lines.
func (p *parser) noBlock(of string, head syntax.Position) {
	text := fmt.Sprintf("the block of the %s of line %d is missing: indent its lines, or write pass", of, head.Line)
	if p.kind == syntax.EOF || p.kind == syntax.OUTDENT && p.off == len(p.src) {
		failEnd(p.token.pos, "%s", text)
	}
	fail(p.token.pos, "%s", text)
}

// refuseLoopElse refuses the else of a loop.
func (p *parser) refuseLoopElse() {
	if p.kind == syntax.ELSE {
		fail(p.token.pos, "a loop has no else: note in a variable whether it was left by break")
	}
}

// checkTarget refuses targets that cannot be assigned to, behind which an assignment
// stands.
func (p *parser) checkTarget(x syntax.Expr) {
	stars := 0
	for _, e := range elements(x) {
		if y, ok := star(e, syntax.STAR); ok {
			if stars++; stars > 1 {
				fail(syntax.Start(e), "two names have a *: one of them takes what the others leave")
			}
			e = y
		} else if hasStar(elements(e), syntax.STAR) {
			fail(syntax.Start(e), "a name with a * stands in no brackets inside of others: take the list apart in a line of its own")
		}
		p.checkTarget(e)
	}
	switch x := x.(type) {
	case *syntax.Literal:
		fail(x.TokenPos, "a value cannot be assigned to: write == to compare")
	case *syntax.CallExpr:
		fail(syntax.Start(x), "what a call returns cannot be assigned to: write x[i] = v or x.name = v, or == to compare")
	case *syntax.BinaryExpr, *syntax.UnaryExpr, *syntax.CondExpr, *syntax.LambdaExpr, *syntax.Comprehension, *syntax.DictExpr:
		fail(syntax.Start(x), "an expression cannot be assigned to: write == to compare")
	case *syntax.Ident:
		checkName(x)
	}
}

// checkName refuses a name of a value of the language where one is bound.
func checkName(id *syntax.Ident) {
	if constants[id.Name] {
		fail(id.NamePos, "%s is a value, and cannot be assigned to", id.Name)
	}
}

// constants are names that are values of the language. Starlark lets programs
// assign them.
var constants = map[string]bool{Ellipsis: true, "None": true, "True": true, "False": true}
