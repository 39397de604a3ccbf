package builtins_test

import (
	"strings"
	"testing"

	"tpsh/builtins"
)

// TestPinnedNamesOfCommunication checks that the names that the language page
// pins for communication, assertions, inspection and files are there.
func TestPinnedNamesOfCommunication(t *testing.T) {
	for _, name := range strings.Fields(`
		rank world_size local_rank args attempt fmt
		all_reduce all_gather reduce_scatter broadcast reduce gather scatter all_to_all barrier send recv collective_permute
		broadcast_object all_gather_object scatter_object new_group
		Group.rank Group.size Group.ranks Group.global_rank Work.wait Work.is_completed
		ReduceOp ReduceOp.SUM ReduceOp.AVG ReduceOp.PRODUCT ReduceOp.MAX ReduceOp.MIN
		load_npy save_npy load_npz save_npz open_safetensors save_safetensors read_text write_text read_csv tmpdir output
		assert assert.eq assert.ne assert.true assert.false assert.lt assert.contains assert.close assert.fails
		assert.same_on_all_ranks assert.comm comm_trace comm_counts faults faults.kill faults.delay
		CommTrace.op CommTrace.group CommTrace.bytes CommTrace.wire_bytes CommTrace.shape CommTrace.dtype CommTrace.seconds
		CommTrace.predicted_seconds CommTrace.where Attempt.ok Attempt.value Attempt.error
		SafetensorsFile.keys SafetensorsFile.shape SafetensorsFile.get SafetensorsFile.get_slice
		load_tokenizer Tokenizer.encode Tokenizer.decode Tokenizer.vocab_size Tokenizer.token_to_id Tokenizer.id_to_token
		init_parallel ParallelMode ParallelMode.GLOBAL ParallelMode.DATA ParallelMode.PIPELINE ParallelMode.TENSOR ParallelMode.MODEL
		send_forward recv_forward send_backward recv_backward send_forward_recv_forward send_backward_recv_backward
		send_forward_recv_backward send_backward_recv_forward send_forward_backward_recv_forward_backward
		send_tensor_meta recv_tensor_meta ring_forward pipeline_schedule Pipeline.loss Pipeline.outputs Pipeline.bubble
		Error.message Error.function Error.kind Error.ranks Error.where`) {
		if _, ok := builtins.Doc(name); !ok {
			t.Errorf("no documentation of %s", name)
		}
	}
}

// Values have every name that is listed of their type: members are found one by one.
func TestListedMembersAreThere(t *testing.T) {
	for _, owner := range builtins.Owners() {
		for _, name := range builtins.AttrNames(owner) {
			if !builtins.IsMember(owner, name) {
				t.Errorf("%s.%s is listed, but is not there", owner, name)
			}
		}
	}
}
