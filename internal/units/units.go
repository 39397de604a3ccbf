// Package units writes quantities as people read them: bytes in powers of 1024, times
// with three digits, things with the word for them. Whatever tells of a run, a trace or
// a mistake writes them alike.
//
// Bytes keeps the unit below until there are ten of the next, so that small numbers
// stay exact. Seconds has no unit for 0.
//
// For example:
//
//	units.Bytes(20 << 20) // 20.0 MiB
//	units.Bytes(1536)     // 1536 B
//	units.Seconds(0.0125) // 12.5 ms
//	units.Count(2, "rank") // 2 ranks
package units

import "fmt"

// Bytes returns a number of bytes in a unit that suits it; "-" of a negative one, which
// stands for an unknown.
func Bytes(n int64) string {
	switch {
	case n < 0:
		return "-"
	case n < 10<<10:
		return fmt.Sprintf("%d B", n)
	case n < 10<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 10<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// Seconds returns a time, in seconds, in a unit that suits it.
func Seconds(s float64) string {
	switch {
	case s == 0:
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3f s", s)
}

// Count returns n things in words: 1 file, 2 files.
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
