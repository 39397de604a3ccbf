package mesh

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// A picture is well-formed, and names every block and its range.
func TestDrawSVG(t *testing.T) {
	l := mustPlace(t, mustMesh(t, 2, 3), []int{7, 5}, Shard(0), Shard(1))
	picture := DrawSVG(l, 0, 1)
	for _, want := range []string{">0:4<", ">4:7<", ">4:5<", ">0<", ">5<", "[S(0), S(1)]"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %s: %s", want, picture)
		}
	}
	d := xml.NewDecoder(strings.NewReader(picture))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
