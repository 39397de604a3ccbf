package format

import (
	"fmt"
	"reflect"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/source"
)

// Tree returns a text that two programs share if their trees are alike but for
// positions and for how literals are written.
func Tree(f *source.File) string {
	t := &treeWriter{file: f}
	t.value(reflect.ValueOf(f.Stmts))
	return t.out.String()
}

type treeWriter struct {
	file *source.File
	out  strings.Builder
}

func (t *treeWriter) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			t.out.WriteString("nil ")
			return
		}
		t.marks(v.Interface())
		t.value(v.Elem())
	case reflect.Slice:
		t.out.WriteByte('[')
		for i := range v.Len() {
			t.value(v.Index(i))
		}
		t.out.WriteByte(']')
	case reflect.Struct:
		t.fields(v)
	default:
		fmt.Fprintf(&t.out, "%#v ", v.Interface())
	}
}

// fields writes a node. The numbers of math/big are values.
func (t *treeWriter) fields(v reflect.Value) {
	if v.Type().PkgPath() == "math/big" {
		fmt.Fprintf(&t.out, "%v ", v.Addr().Interface())
		return
	}
	fmt.Fprintf(&t.out, "%s{", v.Type().Name())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Type == reflect.TypeFor[syntax.Position]() || f.Name == "Raw" {
			continue
		}
		t.value(v.Field(i))
	}
	t.out.WriteByte('}')
}

// marks writes the marks of a node that its type does not tell.
func (t *treeWriter) marks(node any) {
	switch n := node.(type) {
	case *syntax.Literal:
		if f := t.file.FStrings[n]; f != nil {
			t.value(reflect.ValueOf(*f))
		}
	case *syntax.BinaryExpr:
		fmt.Fprint(&t.out, t.file.Joined[n])
	case *syntax.Comprehension:
		fmt.Fprint(&t.out, t.file.Generators[n])
	}
}
