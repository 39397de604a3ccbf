package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tpsh/runtime/hardware"
)

// A schema has the fields of each message of a .proto file, by number.
type schema map[string]map[uint64]protoField

type protoField struct {
	kind, name string
	repeated   bool
}

// readSchema reads a .proto file, as far as Chakra's needs it.
func readSchema(t *testing.T, path string) schema {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, message := schema{}, ""
	opens := regexp.MustCompile(`^message (\w+) \{`)
	field := regexp.MustCompile(`^\s+(repeated )?(\w+) (\w+) = (\d+);`)
	for _, line := range strings.Split(string(text), "\n") {
		if m := opens.FindStringSubmatch(line); m != nil {
			message = m[1]
			s[message] = map[uint64]protoField{}
		} else if m := field.FindStringSubmatch(line); m != nil && message != "" {
			n, _ := strconv.ParseUint(m[4], 10, 64)
			s[message][n] = protoField{m[2], m[3], m[1] != ""}
		}
	}
	return s
}

// decode returns the fields of a message by name, a list of what each has. A field that
// the schema has not, or has of another type, is an error.
func (s schema) decode(kind string, data []byte) (map[string][]any, error) {
	out := map[string][]any{}
	r := bytes.NewReader(data)
	for r.Len() > 0 {
		tag, err := binary.ReadUvarint(r)
		if err != nil {
			return nil, err
		}
		f, ok := s[kind][tag>>3]
		if !ok {
			return nil, fmt.Errorf("%s has no field %d", kind, tag>>3)
		}
		_, nested := s[f.kind]
		var v any
		switch wire := tag & 7; {
		case wire == 1 && f.kind == "double":
			b := make([]byte, 8)
			_, err = io.ReadFull(r, b)
			v = math.Float64frombits(binary.LittleEndian.Uint64(b))
		case wire == 0 && !nested && f.kind != "double" && f.kind != "string":
			v, err = binary.ReadUvarint(r)
		case wire == 2 && (nested || f.kind == "string" || f.repeated && f.kind != "double"):
			var n uint64
			if n, err = binary.ReadUvarint(r); err != nil || n > uint64(r.Len()) {
				return nil, fmt.Errorf("%s.%s: a length of %d: %v", kind, f.name, n, err)
			}
			b := make([]byte, n)
			io.ReadFull(r, b)
			switch {
			case nested:
				v, err = s.decode(f.kind, b)
			case f.kind == "string":
				v = string(b)
			default:
				for rest := bytes.NewReader(b); rest.Len() > 0 && err == nil; {
					var one uint64
					one, err = binary.ReadUvarint(rest)
					out[f.name] = append(out[f.name], one)
				}
				continue
			}
		default:
			err = fmt.Errorf("%s.%s is a %s, and comes as type %d of the wire", kind, f.name, f.kind, wire)
		}
		if err != nil {
			return nil, err
		}
		out[f.name] = append(out[f.name], v)
	}
	return out, nil
}

// readTrace returns the nodes of a file, each with its attributes beside its fields.
func (s schema) readTrace(t *testing.T, path string) (nodes []map[string]any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for kind, r := "GlobalMetadata", bytes.NewReader(data); r.Len() > 0; kind = "Node" {
		n, err := binary.ReadUvarint(r)
		if err != nil || n > uint64(r.Len()) {
			t.Fatalf("%s: a length of %d: %v", path, n, err)
		}
		b := make([]byte, n)
		io.ReadFull(r, b)
		m, err := s.decode(kind, b)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		node := map[string]any{"data_deps": m["data_deps"]}
		for _, name := range []string{"id", "name", "type", "duration_micros"} {
			if v := m[name]; v != nil {
				node[name] = v[0]
			}
		}
		for _, a := range m["attr"] {
			for name, v := range a.(map[string][]any) {
				if name != "name" {
					node[a.(map[string][]any)["name"][0].(string)] = v[0]
				}
			}
		}
		if kind == "Node" {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// Traces of a plan are of Chakra's schema, and have what a run communicates: each call of
// each rank, in order, and its bytes.
func TestChakraMovesWhatARunDoes(t *testing.T) {
	s := readSchema(t, "chakra/testdata/et_def.proto")
	m, err := hardware.Builtin("hgx-h100")
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range []string{"collectives.star", "redistribute.star", "groups.star", "ring.star", "flat.star", "local_map.star"} {
		t.Run(script, func(t *testing.T) {
			const n = 4
			path := "../../examples/" + script
			want := traceOf(t, path, nil, n)
			program, err := evaluate(context.Background(), question{Script: path, Ranks: n})
			if err != nil {
				t.Fatal(err)
			}
			p := &planner{chakra: t.TempDir()}
			if _, err := p.writeTraces(program.Replay(m), program, m, path); err != nil {
				t.Fatal(err)
			}
			for rank := range n {
				var got []string
				lastPermute := ""
				for i, node := range s.readTrace(t, filepath.Join(p.chakra, fmt.Sprint(strings.TrimSuffix(script, ".star"), ".", rank, ".et"))) {
					if id := node["id"].(uint64); id != uint64(i+1) {
						t.Fatalf("rank %d: node %d has id %d", rank, i, id)
					}
					for _, dep := range node["data_deps"].([]any) {
						if dep.(uint64) > uint64(i) {
							t.Errorf("rank %d: node %d depends on node %d, which comes later", rank, i+1, dep)
						}
					}
					name, _ := node["name"].(string)
					if kind := node["type"].(uint64); kind == 4 {
						continue
					} else if name == "collective_permute" { // a send and a receive
						if where := fmt.Sprint(node["where"], node["comm_tag"]); kind == 6 && where == lastPermute {
							lastPermute = ""
							continue
						} else {
							lastPermute = where
						}
					}
					got = append(got, fmt.Sprint(name, " ", node["bytes"]))
				}
				var calls []string
				for _, c := range want[rank] {
					fields := strings.Fields(c)
					calls = append(calls, fields[0]+" "+fields[1])
				}
				compareCalls(t, rank, got, calls)
			}
		})
	}
}
