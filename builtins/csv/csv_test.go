package csv

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func parseInt(cell string) (int, error) {
	n, err := strconv.Atoi(cell)
	if err != nil {
		return 0, errors.New("an int")
	}
	return n, nil
}

func TestRead(t *testing.T) {
	comma := Options{Delimiter: ','}
	tests := []struct {
		name, text string
		o          Options
		want       Table[int]
	}{
		{"plain", "1,2\n3,4\n", comma, Table[int]{[]int{1, 2, 3, 4}, 2, 2}},
		{"no newline at the end", "1,2\n3,4", comma, Table[int]{[]int{1, 2, 3, 4}, 2, 2}},
		{"carriage returns", "1,2\r\n3,4\r\n", comma, Table[int]{[]int{1, 2, 3, 4}, 2, 2}},
		{"empty lines", "\n1,2\n\n3,4\n\n", comma, Table[int]{[]int{1, 2, 3, 4}, 2, 2}},
		{"space and quotes", " 1 , \"2\"\n3,\" 4\"\n", comma, Table[int]{[]int{1, 2, 3, 4}, 2, 2}},
		{"byte order mark", "\ufeff1,2\n", comma, Table[int]{[]int{1, 2}, 1, 2}},
		{"one cell", "7", comma, Table[int]{[]int{7}, 1, 1}},
		{"header", "a,\"b,c\"\n1,2\n", Options{',', true}, Table[int]{[]int{1, 2}, 1, 2}},
		{"header alone", "a,b\n", Options{',', true}, Table[int]{nil, 0, 2}},
		{"semicolon", "1;2\n", Options{';', false}, Table[int]{[]int{1, 2}, 1, 2}},
		{"tab", "1\t2\n3\t4\n", Options{'\t', false}, Table[int]{[]int{1, 2, 3, 4}, 2, 2}},
	}
	for _, test := range tests {
		got, err := Read(strings.NewReader(test.text), test.o, parseInt)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		} else if !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, *got, test.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "the file holds no row"},
		{"\n\n", "the file holds no row"},
		{"1,2\n3,x\n", `line 2, column 2: got "x", want an int`},
		{"1,2\n\n3,\n", `line 3, column 2: got "", want an int`},
		{"1,2\n3,4,5\n", "line 2: got a row of 3, want 2, as in the first row"},
		{"1,2\n3\n", "line 2: got a row of 1, want 2, as in the first row"},
		{"1,2\n3,4\"\n", "line 2: got a quote inside a cell"},
		{"1,2\n3,\"4\n5,6\n", "line 2: got a quote that is not closed"},
		{"1,2\n\"3\" ,4\n", "line 2: got a quote that is not closed, or text or space behind one"},
		{"1," + strings.Repeat("y", 100), `got "` + strings.Repeat("y", 60) + `"..., want an int`},
	}
	for _, test := range tests {
		_, err := Read(strings.NewReader(test.text), Options{Delimiter: ','}, parseInt)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Read(%q): got error %v, want one with %q", test.text, err, test.want)
		}
	}
}

func TestCheckDelimiter(t *testing.T) {
	for _, r := range ",;\t |:" {
		if err := CheckDelimiter(r); err != nil {
			t.Errorf("CheckDelimiter(%q): %v", r, err)
		}
	}
	for _, r := range "\x00\"\r\n7.-e\ufffd" {
		if CheckDelimiter(r) == nil {
			t.Errorf("CheckDelimiter(%q): got no error", r)
		}
	}
}

// FuzzRead: a table that can be read holds Rows times Cols cells, and written
// out it reads the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte("1,2\n3,4\n"), ',', false)
	f.Add([]byte("a;b\r\n1;\"2\"\r\n"), ';', true)
	f.Fuzz(func(t *testing.T, data []byte, delimiter rune, header bool) {
		if CheckDelimiter(delimiter) != nil {
			return
		}
		o := Options{delimiter, header}
		table, err := Read(bytes.NewReader(data), o, parseInt)
		if err != nil {
			return
		}
		if len(table.Data) != table.Rows*table.Cols {
			t.Fatalf("got %d cells in %d rows and %d columns", len(table.Data), table.Rows, table.Cols)
		}
		if table.Rows == 0 {
			return
		}
		o.Header = false
		again, err := Read(write(table, delimiter), o, parseInt)
		if err != nil || !reflect.DeepEqual(again, table) {
			t.Errorf("%v is read back as %v, %v", table, again, err)
		}
	})
}

func write(t *Table[int], delimiter rune) *bytes.Buffer {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Comma = delimiter
	row := make([]string, t.Cols)
	for i := range t.Rows {
		for j := range row {
			row[j] = fmt.Sprint(t.Data[i*t.Cols+j])
		}
		w.Write(row)
	}
	w.Flush()
	return &b
}
