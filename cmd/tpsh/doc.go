package main

import (
	"flag"
	"fmt"
	"strings"

	"tpsh/builtins"
	"tpsh/internal/spell"
	"tpsh/lang"
)

var docCommand = &command{
	name:  "doc",
	usage: "[NAME | -k WORD]",
	short: "explains a name of the language, lists them all, or those about a word",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		word := fs.String("k", "", "list the names whose name or documentation has `WORD`")
		return func(std *stdio, args []string) error {
			if *word != "" {
				return docAbout(std, *word)
			}
			return doc(std, args)
		}
	},
}

// synonyms are what others call names of the language.
var synonyms = map[string]string{
	"xmap": "shard_map", "pmap": "shard_map", "allreduce": "all_reduce", "Allreduce": "all_reduce", "MPI_Allreduce": "all_reduce", "ncclAllReduce": "all_reduce",
	"permute_ranks": "collective_permute", "sendrecv": "collective_permute", "allgather": "all_gather", "MPI_Allgather": "all_gather", "all_gather_into_tensor": "all_gather", "all_gather_tensor": "all_gather", "reduce_scatter_tensor": "reduce_scatter", "alltoall": "all_to_all", "all_to_all_single": "all_to_all", "bcast": "broadcast", "MPI_Bcast": "broadcast", "isend": "send", "irecv": "recv", "MPI_Send": "send", "MPI_Recv": "recv",
	"with_sharding_constraint": "DTensor.redistribute", "Mesh": "DeviceMesh", "make_mesh": "init_device_mesh", "einops": "einsum", "rearrange": "Tensor.reshape", "FSDP": "fully_shard", "FullyShardedDataParallel": "fully_shard", "DDP": "replicate", "DistributedDataParallel": "replicate", "ZeRO": "fully_shard", "value_and_grad": "grad", "jvp": "grad", "remat": "checkpoint", "get_rank": "rank", "get_world_size": "world_size", "axis_index": "rank", "concatenate": "cat", "concat": "cat", "array": "tensor", "argparse": "flag", "sys.argv": "args", "try": "attempt", "clip_grad_norm": "optim.clip_grad_norm_", "_Partial": "Partial", "Variable": "tensor",
}

// docAbout lists the names whose name, documentation or synonym has a word.
func docAbout(std *stdio, word string) error {
	word = strings.ToLower(word)
	about := map[string]string{}
	for other, name := range synonyms {
		if strings.Contains(strings.ToLower(other), word) {
			about[name] = "  (" + other + " elsewhere)"
		}
	}
	found := 0
	for _, name := range builtins.Names() {
		text, _ := builtins.Doc(name)
		if !strings.Contains(strings.ToLower(name+"\n"+text), word) && about[name] == "" {
			continue
		}
		found++
		first, _, _ := strings.Cut(text, "\n")
		fmt.Fprintf(std.out, "%-28s %s%s\n", name, first, about[name])
	}
	if found == 0 {
		fmt.Fprintf(std.err, "tpsh: doc: nothing about %q\n", word)
		return status(lang.StatusFailed)
	}
	return nil
}

func doc(std *stdio, args []string) error {
	switch len(args) {
	case 0:
		for _, name := range builtins.Names() {
			fmt.Fprintln(std.out, name)
		}
		return nil
	case 1:
		return docOf(std, args[0])
	}
	return usagef("doc: got %d names, want at most 1", len(args))
}

// docOf explains a name, or what is called so elsewhere.
func docOf(std *stdio, name string) error {
	text, err := docText(name)
	if err != nil {
		fmt.Fprintf(std.err, "tpsh: doc: %v (tpsh doc -k WORD looks for a word)\n", err)
		return status(lang.StatusFailed)
	}
	fmt.Fprintln(std.out, text)
	return nil
}

// docText returns the documentation of a name, or of what is called so elsewhere.
func docText(name string) (string, error) {
	text, ok := builtins.Doc(name)
	if other := synonyms[name]; !ok && other != "" {
		if text, ok = builtins.Doc(other); ok {
			text = fmt.Sprintf("%s is called %s here.\n%s", name, other, text)
		}
	}
	if !ok {
		return "", fmt.Errorf("no name %q%s", name, didYouMean(name, builtins.Names()))
	}
	return text, nil
}

// didYouMean returns a suggestion of the name that is nearest to x, or "".
func didYouMean(x string, names []string) string {
	if near := spell.Nearest(x, names); near != "" {
		return fmt.Sprintf(": did you mean %s?", near)
	}
	return ""
}
