//go:build !linux

package main

func floats(n int) []float32 { return make([]float32, n) }
