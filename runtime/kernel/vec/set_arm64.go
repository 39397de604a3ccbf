package vec

// find returns Sets.
func find() []Set { return []Set{Portable, NEON} }
