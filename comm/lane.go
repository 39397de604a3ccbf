package comm

// lanesBytes returns the bytes of the lanes of one rank among size.
func lanesBytes(size int) int { return 0 }
