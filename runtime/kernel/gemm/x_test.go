package gemm
import "testing"
func BenchmarkX(b *testing.B) {
	f32, _ := kernelsOf(2)
	for _, s := range [][2]int{{4096,4096},{4096,4112},{4096,4096+256},{64,512},{256,512},{256,528}} {
		benchGemm(b, "f32", f32, 0, 1, s[0], s[1], "NT")
		benchGemm(b, "f32", f32, 0, 1, s[0], s[1], "NN")
	}
}
