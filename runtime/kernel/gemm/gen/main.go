// Command gen writes the assembly of package gemm; see README.md.
//
// A tile is the block of the product a b that one call keeps in registers: some rows by
// some vectors of sums. tile.go writes them for AVX-512 and AVX2 and every number of
// rows; coltile.go those for a b that lies by columns; stream.go those that keep their
// sums in memory; slide.go windows of one channel; pack.go what copies operands into the order in which tiles read them.
// neon.go, neon_tile.go and neon_pack.go write all this in NEON; tables.go what Go looks
// functions up in. What is written is committed. After a change here:
//
//	go generate ./runtime/kernel/gemm
package main

import (
	"flag"
	"log"
	"os"
	"path/filepath"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is a set of instructions that kernels are written in.
type isa struct {
	name  string
	doc   string
	bytes int // of a vector
	// rows[v] is the greatest number of rows of a tile v vectors wide.
	rows map[int]int
	// past is the width in vectors of tiles that store past the caches: a line of one. 0 if there are none.
	past int
	// pairRows is rows of tiles in the order of bfloat16.
	pairRows map[int]int
	// streams[r-1] is the width in vectors of the stream of r rows.
	streams []int
	// colRows is the greatest number of rows of a colTile.
	colRows int
	// widened is how many numbers of 16 bits are widened at once.
	widened int
}

// isas are the sets of amd64.
var isas = []isa{
	{name: "avx512", doc: "AVX-512", bytes: 64, rows: map[int]int{1: 14, 2: 14, 4: 6, 8: 3}, pairRows: map[int]int{1: 7, 2: 7, 4: 3}, streams: []int{8, 8, 8, 4, 4, 4}, colRows: 8, widened: 16},
	{name: "avx2", doc: "AVX2", bytes: 32, rows: map[int]int{1: 6, 2: 6, 4: 2}, past: 2, pairRows: map[int]int{1: 3, 2: 3}, streams: []int{8}, colRows: 4, widened: 8},
}

// widths are the widths of tiles in vectors.
var widths = []int{1, 2, 4, 8}

// An elem is a type of elements.
type elem struct {
	name  string // in names of functions
	typ   string // in Go
	bytes int
}

var elems = []elem{{"F32", "float32", 4}, {"F64", "float64", 8}}

// halves are the types of 16 bits.
var halves = []string{"F16", "BF16"}

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "..", "folder of package gemm")
	flag.Parse()
	for _, s := range isas {
		if err := s.write(*dir); err != nil {
			log.Fatal(err)
		}
	}
	if err := writeNEON(*dir); err != nil {
		log.Fatal(err)
	}
	if err := writeAMX(*dir); err != nil {
		log.Fatal(err)
	}
	if err := writeAMXPack(*dir); err != nil {
		log.Fatal(err)
	}
	if err := writeTables(filepath.Join(*dir, "tables_amd64.go"), isas...); err != nil {
		log.Fatal(err)
	}
	if err := writeTables(filepath.Join(*dir, "tables_arm64.go"), neonISA); err != nil {
		log.Fatal(err)
	}
}

// write writes the assembly of s and the declarations of its functions.
func (s isa) write(dir string) error {
	g := &generator{Context: build.NewContext(), isa: s}
	g.ConstraintExpr("amd64")
	g.masks()
	for _, e := range elems {
		for _, v := range widths {
			for r := 1; r <= s.rows[v]; r++ {
				g.tile(e, r, v)
			}
		}
		for r := 1; r <= s.rows[s.past]; r++ {
			g.pastTile(e, r, s.past)
		}
		for i, v := range s.streams {
			g.stream(e, i+1, v)
		}
		for r := 1; r <= s.colRows; r++ {
			g.colTile(e, r)
		}
		for _, v := range slideWidths {
			g.slide(e, v)
		}
		for n := 1; n <= mostSums; n++ {
			g.rowSums(e, n)
		}
		g.copyRows(e)
		if !g.wide() {
			g.fromSeconds(e)
			g.toSeconds(e)
		}
		g.transpose(e)
	}
	for _, v := range widths {
		for r := 1; r <= s.pairRows[v]; r++ {
			g.pairTile(r, v)
		}
	}
	for _, h := range halves {
		g.widen(h)
	}
	return g.save(dir, s.name)
}

// save writes what g has, to name_amd64.s and name_amd64.go.
func (g *generator) save(dir, name string) error {
	f, err := g.Result()
	if err != nil {
		return err
	}
	if err := pass.Compile.Execute(f); err != nil {
		return err
	}
	config := printer.Config{Name: "gen", Argv: []string{"go", "generate", "tpsh/runtime/kernel/gemm"}, Pkg: "gemm"}
	for file, p := range map[string]printer.Printer{name + "_amd64.s": printer.NewGoAsm(config), name + "_amd64.go": printer.NewStubs(config)} {
		text, err := p.Print(f)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A generator writes the functions of one set of instructions.
type generator struct {
	*build.Context
	isa
	maskTable operand.Mem // see masks
}

// load loads a parameter into a register.
func (g *generator) load(name string) reg.GPVirtual {
	return g.Load(g.Param(name), g.GP64()).(reg.GPVirtual)
}

// loadBytes loads a parameter that counts elements, in bytes.
func (g *generator) loadBytes(e elem, name string) reg.GPVirtual {
	x := g.load(name)
	g.SHLQ(shiftOf(e), x)
	return x
}

// shiftOf is the logarithm of the size of e.
func shiftOf(e elem) operand.U8 {
	if e.bytes == 8 {
		return 3
	}
	return 2
}

// lanes returns how many elements a vector has.
func (g *generator) lanes(e elem) int { return g.bytes / e.bytes }

// begin starts the function called name; doc says what it does.
func (g *generator) begin(name, signature, doc string) {
	g.Function(g.isa.name + name)
	g.Attributes(attr.NOSPLIT)
	g.SignatureExpr(signature)
	g.Doc(g.isa.name + name + " " + doc)
}

// end ends a function.
func (g *generator) end() {
	g.VZEROUPPER()
	g.RET()
}
