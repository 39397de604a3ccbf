package advice

import "testing"

func TestUndefined(t *testing.T) {
	known := map[string]bool{"zeros": true, "F.softmax": true, "F.cross_entropy": true, "nn.Linear": true, "linalg.norm": true, "tensor": true, "replicate": true}
	for _, c := range []struct {
		name string
		path []string
		want string
	}{
		{"torch", []string{"zeros"}, "what torch has is there without a name in front: write zeros"},
		{"torch", []string{"nn", "functional", "softmax"}, "what torch has is there without a name in front: write F.softmax"},
		{"torch", []string{"nn", "Linear"}, "what torch has is there without a name in front: write nn.Linear"},
		{"np", []string{"array"}, "what np has is there without a name in front: write tensor"},
		{"np", []string{"linalg", "norm"}, "what np has is there without a name in front: write linalg.norm"},
		{"np", nil, "what np has is there without a name in front"},
		{"np", []string{"quux"}, "what np has is there without a name in front; tpsh doc -k quux looks for names"},
		{"torch", []string{"reshape"}, "what torch has is there without a name in front; it is a method of tensors: write x.reshape(...)"},
		{"torch", []string{"compile"}, "what torch has is there without a name in front; nothing: programs are not compiled"},
		{"torch", []string{"as_tensor"}, "what torch has is there without a name in front: write tensor"},
		{"torch", []string{"_dynamo", "disable"}, "what torch has is there without a name in front; tpsh doc -k disable looks for names"},
		{"reshape", nil, "it is a method of tensors: write x.reshape(...)"},
		{"true", nil, "write True"},
		{"map", nil, "a list is made by [f(x) for x in xs]"},
		{"cumsum", nil, "it is a method of tensors: write x.cumsum(...)"},
		{"Linear", nil, "write nn.Linear"},
		{"norm", nil, "it is a method of tensors: write x.norm(...)"},
		{"cross_entropy", nil, "write F.cross_entropy"},
		{"hann_window", nil, "signal.windows.hann(n, sym=False)"},
		{"CPUOffloadPolicy", nil, "fully_shard offloads nothing: parameters are in the memory of the processor already"},
		{"PipelineStage", nil, "give each rank the function of its stage: pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches)"},
		{"torch", []string{"distributed", "pipelining", "ScheduleGPipe"}, `what torch has is there without a name in front; pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches, schedule="gpipe")`},
		{"DDP", nil, "write replicate"},
		{"zerso", nil, ""},
	} {
		if got := Undefined(c.name, c.path, func(n string) bool { return known[n] }); got != c.want {
			t.Errorf("%s %v\ngot  %s\nwant %s", c.name, c.path, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{"list has no .sort field or method", "sorted(x) gives a list in order"},
		{"list has no .tolist field or method", "it is a list, or a tuple, already: leave .tolist() out"},
		{"list has no .flatten field or method", "tensor(x) makes a tensor of numbers and lists of them"},
		{"can't assign to .data of a tensor", "x.data.copy_(y) puts the elements of y in their place, and m.weight = nn.Parameter(y) makes another parameter"},
		{"local variable n referenced before assignment", "a function that assigns n anywhere has its own: give it a value first, or keep what is global in a list or a dict"},
		{"nn has no .LazyConv2d", "nn.Conv2d takes the size of its input, which a lazy layer would wait for"},
		{"F has no .relu_", "x = F.relu(x): F does nothing in place"},
		{"F has no .max_pool2d_with_indices", "F.max_pool2d(x, ..., return_indices=True) gives both"},
		{"builtin_function_or_method has no .get_rank field or method", "what torch.distributed has is there without a name in front: write rank()"},
		{"builtin_function_or_method has no .isend field or method", "what torch.distributed has is there without a name in front: write send, which needs no wait()"},
		{"builtin_function_or_method has no .all_gather_object field or method", "what torch.distributed has is there without a name in front: write all_gather_object"},
		{"builtin_function_or_method has no .all_gather_into_tensor field or method", "what torch.distributed has is there without a name in front: write y = all_gather(x)"},
		{"builtin_function_or_method has no .shape field or method", "what stands before .shape is a function: call it with (), or leave it out"},
		{"jax has no .value_and_grad", "y = f(x), and then grad(y, [x]), of an x that requires grad"},
		{"invalid start index: got tensor, want int", "int(i) is the number that a tensor of one element holds: x[int(i):int(i) + n]"},
		{"abs: got tensor, want int or float", "of a tensor it is x.abs()"},
		{"floored division by zero", ""},
	} {
		if got := Refused(c.message); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.message, got, c.want)
		}
	}
	if got, want := With("list has no .sort field or method (did you mean .sort?)", "x"), "list has no .sort field or method (x)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := With("m (did you mean a?)", ""); got != "m (did you mean a?)" {
		t.Errorf("got %s", got)
	}
}
