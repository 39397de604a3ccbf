package operator

import (
	"errors"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/lang/source"
)

// What makes a value longer than its operands asks for its bytes first, and is not made
// where there is no room.
func TestRoom(t *testing.T) {
	const n = 100_000
	const setup = "s = str('x' * 100000)\nl = list(range(100000))\nt = tuple(l)\nd = {i: i for i in l}\n"
	for _, c := range []struct {
		stmt string
		want int // bytes
	}{
		{"s = s * 101", 101 * n}, {"t = t * 2000", 2000 * 16 * n}, {"s = s + s", 2 * n}, {"s += s", 2 * n}, {"s = f'{s}{s}-'", 2*n + 1},
		{"l = l + l", 2 * 16 * n}, {"l += l", 2 * 16 * n}, {"t = t + t", 2 * 16 * n}, {"t += t", 2 * 16 * n},
		{"l.append(1)", 16 * (n + n/4)}, {"l.insert(0, 1)", 16 * (n + n/4)}, {"[i for i in l]", 16 * (n + n/5*4)}, {"{i for i in l}", 16 * (n + n/5*4)},
		{"l.extend(l)", 2 * 16 * n}, {"l.extend(range(7))", 16 * (n + 7)}, {"l[1:2] = l", 2 * 16 * n}, {"[*l, *t, 1]", 16 * (2*n + 1)}, {"(*l, *t)", 2 * 16 * n},
		// A table of 100,000 has 16,384 buckets, which hold 106,496; twice as many hold 212,992.
		{"d.update(d)", 32768 * 456}, {"d.update(range(6497))", 32768 * 456}, {"e = d | d", (32768 + 16384) * 456}, {"e = d\nd |= e", (32768 + 16384) * 456},
		{"for i in range(1 << 20):\n    d.setdefault(i, i)", 32768 * 456},
		{"e = set(l)\nfor i in range(1 << 20):\n    e.add(i)", 32768 * 456}, {"e = set(l)\ne |= e", (32768 + 16384) * 456},
		{"', '.join([s, s])", 2*n + 4}, {"''.join([s, s])", 2 * n}, {"s.split('x')", 32 * n}, {"s.replace('x', 'yyyyyyyyyyyyyyyyy')", 16 * n},
		{"k = [s] * 20\n'{} {}'.format(', '.join(k), s)", 21*n + 39}, {"k = [s] * 20\n'%s %s' % (', '.join(k), s)", 21*n + 39},
	} {
		core, err := source.Parse("f.star", setup+c.stmt, source.Options{Dialect: dialect})
		if err != nil {
			t.Fatal(err)
		}
		file, err := source.Lower(core)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := starlark.FileProgram(file, Library.Has)
		if err != nil {
			t.Fatal(err)
		}
		full, most := errors.New("no room"), 0
		thread := new(starlark.Thread)
		thread.SetLocal(RoomKey, func(bytes int) error {
			most = max(most, bytes)
			if bytes == c.want {
				return full
			}
			return nil
		})
		if _, err := prog.Init(thread, Library); !errors.Is(err, full) || most != c.want {
			t.Errorf("%s: got %v and %d bytes at most, want %d refused", c.stmt, err, most, c.want)
		}
	}
}

// What asks for room does as it does without: values, the order of operands, other types.
func TestRoomChangesNothing(t *testing.T) {
	for _, c := range []struct{ stmt, want string }{
		{"s = 'a'\ns += 'b' + s\nx = s", "aba"}, {"l = [1]\nk = l\nl += (2,)\nl += l\nx = k", "[1, 2, 1, 2]"}, {"l = [1]\nl.extend(l)\nx = l", "[1, 1]"},
		{"d = {}\nd.update([(1, 2)])\nd.update({3: 4})\nx = d", "{1: 2, 3: 4}"}, {"l = ['a', 'b']\nx = '-'.join(l)", "a-b"}, {"x = ''.join('ab'.elems())", "ab"},
		{"s = 'a,b'\nx = s.split(',')", `["a", "b"]`}, {"s = 'a b'\nx = s.split(None)", `["a", "b"]`}, {"o = struct(update=lambda x: x + 1)\nx = o.update(1)", "2"},
		{"l = [1]\ndef f():\n    l.append(2)\n    return [3]\nx = l + f()", "[1, 2, 3]"}, {"l = [1]\nl.insert(0, l.append(2))\nx = l", "[None, 1, 2]"}, {"d = {}\nfor i in range(3):\n    d[i], d[i, 1] = i, 2\nx = d", "{0: 0, (0, 1): 2, 1: 1, (1, 1): 2, 2: 2, (2, 1): 2}"}, {"d = {}\ndef f():\n    d['a'] = 1\n    return 'b'\ndef g():\n    d[f()] = len(d)\n    return d\nx = g()", `{"a": 1, "b": 0}`},
		{"d = {1: 2}\nx = [d.setdefault(1, 3), d.setdefault(2, 3)]", "[2, 3]"}, {"s = set([1])\ns.add(2)\nx = len(s | set([3]))", "3"}, {"x = 1\nx |= 6", "7"}, {"d = {1: 2}\nd |= {3: 4}\nx = d | {1: 0}", "{1: 0, 3: 4}"}, {"o = struct(append=lambda v: v + 1)\nx = o.append(1)", "2"}, {"f = [1].append\nx = f(2)", "None"}, {"a, b = 1, 'é'\nx = f'{a}{b}{a:02}'", "1é01"},
	} {
		globals, err := run(c.stmt)
		if err != nil {
			t.Errorf("%s: %v", c.stmt, err)
		} else if got := str(globals["x"]); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.stmt, got, c.want)
		}
	}
	for _, c := range []struct{ stmt, want string }{
		{"l = [1]\nl = l + 2", "unknown binary op: list + int"}, {"s = 'a'\ns += 1", "unknown binary op: string + int"}, {"l = [1]\nl.extend(2)", "extend: for parameter 1: got int, want iterable"},
		{"l = [1]\nfor i in l:\n    l.append(i)", "append: cannot append to list during iteration"}, {"(1,).append(2)", "tuple has no .append field or method"}, {"[1].insert('a', 1)", "insert: for parameter 1: got string, want int"},
		{"d = {}\nfor i in [[]]:\n    d[i] = 1", "unhashable type: list"}, {"d = {1: 2}\nfor i in d:\n    d[i + 1] = 1", "cannot insert into hash table during iteration"}, {"x = (1,)\ndef f(x):\n    x[len(x)] = 1\nf(x)", "tuple value does not support item assignment"},
		{"a = 1\nb = []\na = a | b", "unknown binary op: int | list"}, {"[].add(1)", "list has no .add field or method"}, {"{}.setdefault([], 1)", "setdefault: unhashable type: list"},
		{"''.join([1])", "join: in list, want string, got int"},
	} {
		if _, err := run(c.stmt); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.stmt, err, c.want)
		}
	}
}
