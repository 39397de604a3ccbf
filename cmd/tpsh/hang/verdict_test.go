package hang

import (
	"slices"
	"strings"
	"testing"
)

// Dumps of real jobs with faults that are known.
func TestReal(t *testing.T) {
	for dir, want := range map[string]string{
		"gpu_error_1st": "culprits 12 not finished 14 not finished",
		"lock_gil_1st":  "culprits 9 never called 14 never called",
		"gloo_ok":       Nothing,
		"gloo_missing":  "culprits 2 never called",
		"gloo_p2p":      CannotTell,
	} {
		j, err := Read([]string{"testdata/real/" + dir})
		if err != nil {
			t.Fatal(err)
		}
		v := Explain(j)
		if got := short(v); got != want {
			t.Errorf("%s: got %s, want %s", dir, got, want)
		}
		for _, w := range v.Waiting {
			if len(w.For) == 0 {
				t.Errorf("%s: rank %d waits for nobody", dir, w.Rank)
			}
		}
	}
}

// Made-up jobs, each for a rule.
func TestRules(t *testing.T) {
	sub := map[string][]int{"1": {0, 1}, "2": {0, 1}, "3": {1, 2, 3}}
	one, two := func(r row) row { return r.group("1", "undefined", 1) }, func(r row) row { return r.group("2", "undefined", 2) }
	three := func(r row) row { return r.group("3", "undefined", 3) }
	for name, c := range map[string]struct {
		w    *world
		want string
	}{
		"all have made a call and none has finished": {&world{n: 2, ranks: map[int][]row{0: {sum(1).pending()}, 1: {sum(1).pending()}}}, CannotTell},
		"a rank without a call":                      {&world{n: 3, ranks: map[int][]row{0: {sum(1).pending()}, 1: {}, 2: {sum(1).pending()}}}, "culprits 1 never called"},
		"no dump of the rank that all wait for":      {&world{n: 3, ranks: map[int][]row{0: {sum(1).pending()}, 2: {sum(1).pending()}}}, CannotTell},
		"no dump of another rank":                    {&world{n: 3, ranks: map[int][]row{0: {sum(1).pending()}, 2: {}}}, "culprits 2 never called"},
		"no dump of a rank, and nothing wrong":       {&world{n: 3, ranks: map[int][]row{0: {sum(1).done()}, 2: {sum(1).done()}}}, CannotTell},
		"nothing recorded":                           {&world{n: 2, ranks: map[int][]row{0: {}, 1: {}}}, CannotTell},
		"one that lags on its device": {&world{n: 3, ranks: map[int][]row{
			0: {sum(1).done(), sum(2).pending()}, 1: {sum(1).pending(), sum(2).pending()}, 2: {sum(1).done(), sum(2).pending()}}}, "culprits 1 not finished"},
		"one that finished less than another, and waits for a third": {&world{n: 3, ranks: map[int][]row{
			0: {sum(1).done(), sum(2).done(), sum(3).pending()}, 1: {sum(1).done(), sum(2).pending(), sum(3).pending()}, 2: {sum(1).pending(), sum(2).pending(), sum(3).pending()}}}, "culprits 2 not finished"},
		"one whose device went on without its knowing, in a receive": {&world{n: 3, ranks: map[int][]row{
			0: {sum(1).done(), sum(2).done(), p2p("recv", 0, 1, 2).pending()},
			1: {p2p("recv", 1, 0, 1).pending(), sum(1).pending(), sum(2).pending(), p2p("send", 1, 0, 2).pending()},
			2: {sum(1).done(), sum(2).done(), sum(3).pending()}}}, "culprits 1 not finished"},
		"one held up at the end of a call by that one": {&world{n: 3, ranks: map[int][]row{
			0: {sum(1).done(), sum(2).done()}, 1: {sum(1).pending(), sum(2).pending()}, 2: {sum(1).done(), sum(2).pending()}}}, "culprits 1 not finished"},
		"one that sends before the first call of all, and another in that call": {&world{n: 2, ranks: map[int][]row{
			0: {p2p("send", 0, 1, 1).pending()}, 1: {sum(1).pending()}}}, "culprits 0 cycle 1 cycle"},
		"one that has sent, and does not make the first call of all": {&world{n: 2, ranks: map[int][]row{
			0: {p2p("send", 0, 1, 1).done()}, 1: {p2p("recv", 1, 0, 1).done(), sum(1).pending()}}}, "culprits 0 never called"},
		"transfers of which more may be known": {&world{n: 2, ranks: map[int][]row{
			0: {p2p("recv", 0, 1, 1).pending()}, 1: {p2p("recv", 1, 0, 1).pending(), p2p("send", 1, 0, 2).pending()}}}, CannotTell},
		"a member of gloo's that gave up where others wait for a rank outside the evidence": {&world{n: 4, plain: true, ranks: map[int][]row{
			0: {sum(1).gloo(true), one(sum(1)).gloo(true)}, 1: {sum(1).gloo(true), one(sum(1)).gloo(false)},
			2: {sum(1).gloo(true)}, 3: {sum(1).gloo(true), sum(2).gloo(false)}}}, "culprits 2 never called"},
		"a chain of groups": {&world{n: 4, groups: sub, ranks: map[int][]row{
			0: {one(sum(1)).pending()}, 1: {three(sum(1)).pending()}, 2: {three(sum(1)).pending()}, 3: {}}}, "culprits 3 never called"},
		"two groups in another order": {&world{n: 2, groups: sub, ranks: map[int][]row{
			0: {one(sum(1)).pending()}, 1: {two(sum(1)).pending()}}}, "culprits 0 cycle 1 cycle"},
		"two groups in another order, both enqueued": {&world{n: 2, groups: sub, ranks: map[int][]row{
			0: {one(sum(1)).pending(), two(sum(1)).pending()}, 1: {two(sum(1)).pending(), one(sum(1)).pending()}}}, "culprits 0 cycle 1 cycle"},
		"two groups in another order, of which the recorder has rows": {&world{n: 2, groups: sub, ranks: map[int][]row{
			0: {sum(1).done(), one(sum(1)).pending()}, 1: {sum(1).done(), two(sum(1)).pending()}},
			status: map[int]map[string]Status{0: {"0": {1, 1}, "1": {1, -1}}, 1: {"0": {1, 1}, "1": {-1, -1}, "2": {1, -1}}}}, "culprits 0 cycle 1 cycle"},
		"a group that the one row without a name may be of": {&world{n: 2, groups: sub, ranks: map[int][]row{
			0: {one(sum(1)).pending()}, 1: {sum(1).done()}},
			status: map[int]map[string]Status{0: {"1": {1, -1}}, 1: {"0": {1, 1}, "7": {1, 1}}}}, CannotTell},
		"a ring of receives": {&world{n: 3, ranks: map[int][]row{
			0: {p2p("recv", 0, 1, 1).pending()}, 1: {p2p("recv", 1, 2, 1).pending()}, 2: {p2p("recv", 2, 0, 1).pending()}}}, "culprits 0 cycle 1 cycle 2 cycle"},
		"both ends of a transfer": {&world{n: 2, ranks: map[int][]row{
			0: {p2p("recv", 0, 1, 1).pending()}, 1: {p2p("send", 1, 0, 1).pending()}}}, CannotTell},
		"a send that was never made": {&world{n: 2, ranks: map[int][]row{0: {p2p("recv", 0, 1, 1).pending()}, 1: {sum(1).done()}}}, "culprits 1 never called"},
		"numbers of sends in pg_status": {&world{n: 3,
			ranks:  map[int][]row{0: {sum(7).done(), p2p("send", 0, 1, 90).done(), sum(8).pending()}, 1: {sum(7).done(), sum(8).pending()}, 2: {sum(7).done()}},
			status: map[int]map[string]Status{0: {"0": {8, 7}}, 1: {"0": {8, 7}}, 2: {"0": {90, 90}}}}, "culprits 2 never called"},
		"numbers of pg_status alone": {&world{n: 3,
			ranks:  map[int][]row{0: {sum(8).pending()}, 1: {sum(8).pending()}, 2: {}},
			status: map[int]map[string]Status{0: {"0": {8, 7}}, 1: {"0": {8, 7}}, 2: {"0": {7, 7}}}}, "culprits 2 never called"},
		"one of many": {&world{n: 4, ranks: map[int][]row{
			0: {sum(1).pending()}, 1: {sum(1).pending()}, 2: {call("barrier", 1, []any{}, []any{}).pending()}, 3: {sum(1).pending()}}}, "culprits 2 calls differ"},
		"a difference that did no harm": {&world{n: 2, ranks: map[int][]row{
			0: {call("broadcast", 1, sizes(3), sizes(3)).done(), sum(2).done()}, 1: {call("broadcast", 1, sizes(4), sizes(4)).done(), sum(2).done()}}}, Nothing},
		"one against one, and a call that was made before": {&world{n: 2, ranks: map[int][]row{
			0: {sum(1).done(), sum(2).pending()}, 1: {sum(1).done(), call("all_reduce", 2, sizes(5, 4), sizes(5, 4)).pending()}}}, "culprits 1 calls differ"},
		"gloo, a group of which pg_config has nothing": {&world{n: 4, plain: true, ranks: map[int][]row{
			0: {one(sum(1)).gloo(false)}, 1: {two(sum(1)).gloo(false)}, 2: {sum(1).gloo(false)}, 3: {sum(1).gloo(false)}}}, "culprits 0 cycle 1 cycle"},
		"gloo, a member that has never called in its group": {&world{n: 4, plain: true, ranks: map[int][]row{
			0: {one(sum(1)).gloo(false)}, 1: {sum(1).gloo(false)}, 2: {}, 3: {one(sum(1)).gloo(false)}}}, "culprits 2 never called"},
		"gloo, two that may be the member": {&world{n: 4, plain: true, ranks: map[int][]row{
			0: {one(sum(1)).gloo(false)}, 1: {}, 2: {}, 3: {one(sum(1)).gloo(false)}}}, CannotTell},
		"gloo, a group that has finished a call without those of whom none is recorded": {&world{n: 4, plain: true, ranks: map[int][]row{
			0: {sum(1).gloo(true)}, 1: {sum(1).gloo(true), sum(2).gloo(false)},
			2: {sum(1).gloo(true), one(sum(1)).gloo(true), one(sum(2)).gloo(false), sum(2).gloo(false)},
			3: {sum(1).gloo(true), one(sum(1)).gloo(true), one(sum(2)).gloo(true), sum(2).gloo(false)}}}, "culprits 0 never called"},
		"gloo, a group of two that both wait in it, and one who has nothing to do with it": {&world{n: 3, plain: true, ranks: map[int][]row{
			0: {sum(1).gloo(true)}, 1: {sum(1).gloo(true), one(sum(1)).gloo(true), one(sum(2)).gloo(false)},
			2: {sum(1).gloo(true), one(sum(1)).gloo(true), one(sum(2)).gloo(false)}}}, CannotTell},
		"gloo, a call that failed for a peer had gone": {&world{n: 3, plain: true, ranks: map[int][]row{
			0: {sum(1).gloo(true), sum(2).gloo(true)}, 1: {sum(1).gloo(true)}, 2: {sum(1).gloo(true), sum(2).gloo(false)}}}, "culprits 1 never called"},
	} {
		if got := c.w.verdict(t); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// The JSON and the page have the line of a culprit's last call, and of the call
// that it never made.
func TestLines(t *testing.T) {
	w := &world{n: 3, plain: true, ranks: map[int][]row{
		0: {sum(1).gloo(true).line(10), sum(2).gloo(false).line(20)}, 1: {sum(1).gloo(true).line(10)}, 2: {sum(1).gloo(true).line(10), sum(2).gloo(false).line(20)}}}
	v := Explain(w.job(t))
	if c := v.Culprits[0]; c.Where != "/job/train.py:10 in step" || c.Call != "all_reduce(float32[4, 4]) #2" || c.Group != "0:default_pg" {
		t.Errorf("culprit %+v", c)
	}
	if r := v.Waiting[0]; r.Where != "/job/train.py:20 in step" || !slices.Equal(r.For, []int{1}) {
		t.Errorf("waiting %+v", r)
	}
	var text strings.Builder
	v.WriteText(&text)
	for _, want := range []string{"rank 1 of 3: the cause: never called", "train.py:20 in step; the last call: all_reduce(float32[4, 4]) #1 in group 0:default_pg at /job/train.py:10", "ranks 0,2 wait in", "gloo records none"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}

// pg_ids are matched with names where the counts agree, and nowhere else.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		ids, names string
		known      map[string]string
		want       string
	}{
		{"0 1 4", "0 7 34", map[string]string{}, "0=0 1=7 4=34"},
		{"0 1 4", "0 7 34 40", map[string]string{}, ""},
		{"0 1 4 5", "0 7 9 34 40", map[string]string{"4": "34"}, "5=40"},
		{"0 1 4 5", "0 7 34 35 40", map[string]string{"4": "34"}, "0=0 1=7"},
		{"0 1", "0 7", map[string]string{"0": "7", "1": "0"}, ""},
	} {
		out := map[string]string{}
		for k, v := range c.known {
			out[k] = v
		}
		fillNames(out, strings.Fields(c.ids), strings.Fields(c.names))
		var got []string
		for _, id := range strings.Fields(c.ids) {
			if out[id] != "" && c.known[id] == "" {
				got = append(got, id+"="+out[id])
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("ids %s and names %s: got %v, want %s", c.ids, c.names, got, c.want)
		}
	}
}

// Names that are no numbers are in no order: only one that is left over is known.
func TestHashedNames(t *testing.T) {
	for _, c := range []struct {
		ids, names string
		known      map[string]string
		want       string
	}{
		{"0 1 2", "0 a1 f2", map[string]string{}, "0=0"},
		{"0 1 2", "0 a1 f2", map[string]string{"1": "f2"}, "0=0 2=a1"},
		{"0 1 2", "0 a1 f2 f3", map[string]string{"1": "f2"}, "0=0"},
		{"0 1", "a1 f2", map[string]string{}, ""},
	} {
		out := map[string]string{}
		for k, v := range c.known {
			out[k] = v
		}
		fillLast(out, strings.Fields(c.ids), strings.Fields(c.names))
		var got []string
		for _, id := range strings.Fields(c.ids) {
			if out[id] != "" && c.known[id] == "" {
				got = append(got, id+"="+out[id])
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("ids %s and names %s: got %v, want %s", c.ids, c.names, got, c.want)
		}
	}
}
