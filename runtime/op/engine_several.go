package op

// several are the operators of which a call may have more than one result, which
// scripts see as a tuple. Those whose results are a list say so themselves (List).
var several = map[string]bool{
	"adaptive_max_pool1d": true, "adaptive_max_pool2d": true, "adaptive_max_pool3d": true, "_batch_norm_with_update": true, "_native_batch_norm_legit": true, "native_batch_norm": true, "native_group_norm": true, "native_layer_norm": true, "aminmax": true, "eigh": true, "element_at": true, "fractional_max_pool2d": true, "fractional_max_pool3d": true, "kthvalue": true, "lstsq": true, "max": true, "max_pool1d": true, "max_pool2d": true, "max_pool3d": true, "median": true, "min": true,
	"qr": true, "running_extreme": true, "slogdet": true, "sort": true, "std_mean": true, "svd": true, "topk": true, "var_mean": true,
}

// Several reports whether a call of the operator may have more than one result.
func (d *Def) Several() bool { return several[d.Name] }
