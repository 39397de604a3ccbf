package schedule

// A Kind is the pattern by which a collective moves its blocks. In what
// follows n is the size of the group; In and Out are the fields of Op.
type Kind uint8

const (
	// Barrier moves nothing.
	Barrier Kind = iota
	// Broadcast copies In[0] of the root to Out[0] of every member.
	Broadcast
	// AllGather copies In[0] of member r to Out[r] of every member.
	AllGather
	// Gather copies In[0] of member r to Out[r] of the root.
	Gather
	// Scatter copies In[r] of the root to Out[0] of member r.
	Scatter
	// AllToAll copies In[r] of member s to Out[s] of member r.
	AllToAll
	// AllReduce leaves the reduction of every In[0] in Out[0] of every member.
	AllReduce
	// Reduce leaves the reduction of every In[0] in Out[0] of the root.
	Reduce
	// ReduceScatter leaves the reduction of every In[r] in Out[0] of member r.
	ReduceScatter
	// Permute copies In[0] of pair[0] to Out[0] of pair[1] for each of
	// Desc.Pairs.
	Permute

	// Kinds is how many there are.
	Kinds
)

// A Block is a region of a buffer: Rows runs of Width bytes that start Pitch
// bytes apart. Its bytes are counted row by row.
type Block struct {
	Data  []byte
	Rows  int
	Width int
	Pitch int
}

// A Reducer combines runs of equal length in the order given:
// dst = srcs[0] + srcs[1] + ... for whatever its + is. dst overlaps no src.
type Reducer func(dst []byte, srcs [][]byte)

// A Fold does the work of a Reducer one stretch of members after the other, so that what is
// reduced so far can go from one to the next: the same bits as those of the Reducer.
type Fold struct {
	// Bytes is how many bytes stand for an element that is not reduced to the end.
	Bytes int
	// Add reduces srcs, in their order, onto the sums that acc stands for, or on their own if acc is
	// nil. dst may be acc; it overlaps no src.
	Add func(dst, acc []byte, srcs [][]byte)
	// End does that for the last stretch, and leaves elements in dst, which overlaps
	// nothing: the bytes that the Reducer makes of all n runs.
	End func(dst, acc []byte, srcs [][]byte, n int)
}
