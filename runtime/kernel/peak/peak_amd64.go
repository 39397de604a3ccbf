package peak

import "tpsh/runtime/kernel/vec"

// fma256 does n rounds of chains multiply-adds of 8 float32 each.
//
//go:noescape
func fma256(n int)

// fma512 does n rounds of chains multiply-adds of 16 float32 each.
//
//go:noescape
func fma512(n int)

// tiles does n rounds of tileChains products of bfloat16 tiles: 16 by 32 times 32 by 16.
//
//go:noescape
func tiles(config *[64]byte, n int)

// tileChains is how many products of a round do not wait for each other: together
// they take longer than one takes to end.
const tileChains = 4

// tileConfig gives each of the eight tiles 16 rows of 64 bytes.
var tileConfig = func() (config [64]byte) {
	config[0] = 1 // the palette
	for i := range 8 {
		config[16+2*i], config[48+i] = 64, 16
	}
	return config
}()

// pairRounds does n rounds with the instructions of a set.
func pairRounds(s vec.Set, n int) (operations int) {
	if s != vec.AMX {
		return rounds(s, n)
	}
	tiles(&tileConfig, n)
	return 2 * 16 * 32 * 16 * tileChains * n
}

// rounds does n rounds with the instructions of a set.
func rounds(s vec.Set, n int) (operations int) {
	switch s {
	case vec.AVX512, vec.AMX:
		fma512(n)
		return 2 * 16 * chains * n
	case vec.AVX2:
		fma256(n)
		return 2 * 8 * chains * n
	}
	return scalar(n)
}
