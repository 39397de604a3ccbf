package files

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/csv"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "read_csv",
		Doc: "read_csv(path, dtype=float32, header=False, delimiter=\",\", fill=None) returns the numbers of a text file as a tensor [rows, columns].\n" +
			"Each line is a row; empty lines do not count. With header=True the first one holds names, and is left out.\n" +
			"Cells may stand in double quotes. A cell that is no number of the dtype, and rows of several lengths, are errors. So\n" +
			"is an empty cell, unless fill is the number to put there.\n" + docPath +
			">>> path = tmpdir() + \"/table.csv\"\n" +
			">>> write_text(path, \"a,b\\n1,2.5\\n3,4\\n\")\n" +
			">>> read_csv(path, header=True).tolist()\n[[1.0, 2.5], [3.0, 4.0]]\n" +
			">>> write_text(path, \"1,,3\\n\")\n" +
			">>> read_csv(path, fill=0).tolist()\n[[1.0, 0.0, 3.0]]",
		Fn: readCSV,
	})
}

func readCSV(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		path      arg.String
		dt        arg.DType // float32
		header    arg.Bool
		delimiter                = arg.String(",")
		fill      starlark.Value = starlark.None
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "dtype?", &dt, "header?", &header, "delimiter?", &delimiter, "fill?", &fill); err != nil {
		return nil, err
	}
	o := csv.Options{Header: bool(header)}
	var size int
	o.Delimiter, size = utf8.DecodeRuneInString(string(delimiter))
	if err := csv.CheckDelimiter(o.Delimiter); err != nil || size != len(delimiter) {
		rule := ""
		if err != nil && len(delimiter) > 0 {
			rule = err.Error()
		}
		return nil, &op.ArgError{Func: b.Name(), Param: "delimiter", Got: arg.Show(starlark.String(delimiter)), Want: "one character", Rule: rule}
	}
	f, err := openText(e, b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := readTable(e, f, o, dt.D, fill)
	var bad *csv.Error
	switch {
	case errors.As(err, &bad) && bad.Names:
		err = fmt.Errorf("%w; header=True leaves out a first row of names", err)
	case errors.As(err, &bad) && bad.Empty:
		err = fmt.Errorf("%w; fill= gives empty cells a number", err)
	}
	if err != nil {
		return nil, badFile(e, b.Name(), string(path), "a table of numbers", err)
	}
	return e.Wrap(x), nil
}

// filled returns parse, but that empty cells are what fill says, unless it is
// None.
func filled[T any](fill starlark.Value, dt dtype.DType, number func(starlark.Value) (T, bool), parse func(string) (T, error)) (func(string) (T, error), error) {
	if fill == starlark.None {
		return parse, nil
	}
	x, ok := number(fill)
	if !ok {
		return nil, &op.ArgError{Func: "read_csv", Param: "fill", Got: arg.Show(fill), Want: "a number that " + dt.String() + " can hold"}
	}
	return func(cell string) (T, error) {
		if cell == "" {
			return x, nil
		}
		return parse(cell)
	}, nil
}

// written returns what takes a number of a script by its text, as parse takes a cell.
func written[T any](parse func(string) (T, error)) func(starlark.Value) (T, bool) {
	return func(v starlark.Value) (T, bool) {
		x, err := parse(v.String())
		return x, err == nil
	}
}

// readTable reads a table of elements of dt, with fill in empty cells.
func readTable(e *builtins.Env, f io.Reader, o csv.Options, dt dtype.DType, fill starlark.Value) (*tensor.Tensor, error) {
	if dt.IsFloat() {
		parse, err := filled(fill, dt, starlark.AsFloat, parseFloat(dt))
		if err != nil {
			return nil, err
		}
		return tableOf(f, o, parse, func(s shape.Shape, elems []float64) (*tensor.Tensor, error) {
			return op.FromFloats(e.Runtime.Ops(), dt, s, elems)
		})
	}
	if dt.IsComplex() {
		parse, err := filled(fill, dt, written(parseComplex(dt)), parseComplex(dt))
		if err != nil {
			return nil, err
		}
		return tableOf(f, o, parse, func(s shape.Shape, elems []complex128) (*tensor.Tensor, error) {
			return op.FromComplex(e.Runtime.Ops(), dt, s, elems)
		})
	}
	parse, err := filled(fill, dt, written(parseInt(dt)), parseInt(dt))
	if err != nil {
		return nil, err
	}
	return tableOf(f, o, parse, func(s shape.Shape, elems []int64) (*tensor.Tensor, error) {
		return op.FromInts(e.Runtime.Ops(), dt, s, elems)
	})
}

// tableOf reads a table of cells that parse understands, of which build makes
// a tensor.
func tableOf[T any](f io.Reader, o csv.Options, parse func(string) (T, error), build func(shape.Shape, []T) (*tensor.Tensor, error)) (*tensor.Tensor, error) {
	t, err := csv.Read(f, o, parse)
	if err != nil {
		return nil, err
	}
	return build(shape.Shape{t.Rows, t.Cols}, t.Data)
}

// parseFloat returns what reads a cell of dt, a float dtype. Its errors say
// what a cell should be.
func parseFloat(dt dtype.DType) func(cell string) (float64, error) {
	bits, want := 64, errors.New("a number")
	if dt == dtype.Float32 {
		bits = 32
	}
	return func(cell string) (float64, error) {
		v, err := strconv.ParseFloat(cell, bits)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, fmt.Errorf("a number that %v can hold", dt)
		case err != nil || strings.ContainsAny(cell, "xX_"):
			return 0, want
		}
		return v, nil
	}
}

// parseComplex returns what reads a cell of dt, a complex dtype: 1.5, 2j or 1-2j, maybe
// in parentheses.
func parseComplex(dt dtype.DType) func(cell string) (complex128, error) {
	bits, want := 128, errors.New("a complex number, as 1-2j")
	if dt == dtype.Complex64 {
		bits = 64
	}
	return func(cell string) (complex128, error) {
		s := cell
		if inner, ok := strings.CutPrefix(s, "("); ok && strings.HasSuffix(inner, ")") {
			s = strings.TrimSuffix(inner, ")")
		}
		if strings.ContainsAny(s, "()xX_") || strings.HasSuffix(s, "i") {
			return 0, want
		}
		if real, ok := strings.CutSuffix(s, "j"); ok {
			s = real + "i"
		}
		v, err := strconv.ParseComplex(s, bits)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, fmt.Errorf("a number that %v can hold", dt)
		case err != nil:
			return 0, want
		}
		return v, nil
	}
}

// parseInt returns what reads a cell of dt, an integer dtype or bool.
func parseInt(dt dtype.DType) func(cell string) (int64, error) {
	want := errors.New("an int that " + dt.String() + " can hold")
	if dt == dtype.Bool {
		want = errors.New("0, 1, true or false")
	}
	return func(cell string) (int64, error) {
		if dt == dtype.Bool {
			switch strings.ToLower(cell) {
			case "1", "true":
				return 1, nil
			case "0", "false":
				return 0, nil
			}
			return 0, want
		}
		if dt == dtype.Uint64 { // the tensor takes the bits
			v, err := strconv.ParseUint(cell, 10, 64)
			if err != nil {
				return 0, want
			}
			return int64(v), nil
		}
		v, err := strconv.ParseInt(cell, 10, 64)
		if err != nil || !builtins.FitsIn(v, dt) {
			return 0, want
		}
		return v, nil
	}
}
