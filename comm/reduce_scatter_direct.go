package comm

// reduceScatterDirect leaves the reduction of every In[r] in Out[0] of member
// r, which reads them in place. For S bytes a member, each member reads S
// bytes and writes S/P on P members.
func reduceScatterDirect(s position) []step {
	return []step{reduceInPlace(s, []part{s.out(0)}, s.in(s.rank)), meetStep}
}
