package op

// several are the operators of which a call may have more than one result, which
// scripts see as a tuple. Those whose results are a list say so themselves (List).
var several = map[string]bool{
	"aminmax": true, "eigh": true, "kthvalue": true, "lstsq": true, "max": true, "median": true, "min": true,
	"qr": true, "slogdet": true, "sort": true, "std_mean": true, "svd": true, "topk": true, "var_mean": true,
}

// Several reports whether a call of the operator may have more than one result.
func (d *Def) Several() bool { return several[d.Name] }
