package inproc

import "tpsh/comm"

// NewOfMany is New, with groups of any size taken for such of many members.
func NewOfMany(size int) *comm.Fabric { return newFabric(size, 0) }
