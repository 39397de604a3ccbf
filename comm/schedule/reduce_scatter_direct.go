package schedule

// reduceScatterDirect leaves the reduction of every In[r] in Out[0] of member
// r, which reads them in place. For S bytes a member, each member reads S
// bytes and writes S/P on P members.
func reduceScatterDirect(s Position) []Step {
	return []Step{reduceInPlace(s, []Part{s.Out(0)}, s.In(s.Rank)), meetStep}
}
