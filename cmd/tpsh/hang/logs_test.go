package hang

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// timeout returns the lines of a rank whose call ran out of time.
func timeout(rank int, op string, numel, seq, made, done int) string {
	return fmt.Sprintf(`[rank%d]:[E626 06:24:44.903881913 ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.
[rank%d]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank %d] Exception (either an error or timeout) detected by watchdog at work: %d, last enqueued NCCL work: %d, last completed NCCL work: %d.
`, rank, rank, seq, op, numel, numel, rank, rank, seq, made, done)
}

// alone returns the line alone of a call that ran out of time, of a rank that is inner in its group.
func alone(rank, inner, seq int) string {
	return fmt.Sprintf("[rank%d]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n", rank, inner, seq)
}

// signal returns the line of a rank that was told of another's timeout.
func signal(rank, made, done int) string {
	return fmt.Sprintf("[rank%d]:[E626 06:24:45.1 ProcessGroupNCCL.cpp:1350] [PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from rank 0 and we will try our best to dump the debug info. Last enqueued NCCL work: %d, last completed NCCL work: %d.This is most likely caused by incorrect usages of collectives\n", rank, rank, made, done)
}

func TestLogs(t *testing.T) {
	for name, c := range map[string]struct{ log, want string }{
		"a rank that never called":        {timeout(0, "ALLREDUCE", 8, 37, 38, 36) + signal(1, 36, 36) + timeout(2, "ALLREDUCE", 8, 37, 37, 36), "culprits 1 never called"},
		"a rank that did not finish":      {timeout(0, "ALLREDUCE", 8, 38, 38, 37) + timeout(1, "ALLREDUCE", 8, 37, 38, 36) + timeout(2, "ALLREDUCE", 8, 38, 38, 37), "culprits 1 not finished"},
		"all in one call":                 {timeout(0, "ALLREDUCE", 8, 37, 38, 36) + timeout(1, "ALLREDUCE", 8, 37, 38, 36), CannotTell},
		"other calls":                     {timeout(0, "ALLREDUCE", 8, 37, 38, 36) + timeout(1, "_ALLGATHER_BASE", 8, 37, 38, 36) + timeout(2, "ALLREDUCE", 8, 37, 38, 36), "culprits 1 calls differ"},
		"other sizes":                     {timeout(0, "ALLREDUCE", 8, 37, 38, 36) + timeout(1, "ALLREDUCE", 9, 37, 38, 36) + timeout(2, "ALLREDUCE", 8, 37, 38, 36), "culprits 1 calls differ"},
		"a rank of which nothing is said": {timeout(0, "ALLREDUCE", 8, 37, 38, 36) + timeout(2, "ALLREDUCE", 8, 37, 37, 36), CannotTell},
		"a version that names no rank before the line": {
			"[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1 milliseconds before timing out.\n" +
				"[E ProcessGroupNCCL.cpp:458] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=BROADCAST, Timeout(ms)=1800000) ran for 1 milliseconds before timing out.\n",
			"culprits 0 calls differ 1 calls differ"},
		"numbers of two ranks, and a timeout of a third":       {signal(1, 55, 54) + strings.Replace(signal(3, 54, 54), "from rank 0", "from  rank 2", 1), CannotTell},
		"numbers of one rank, whose last call is not finished": {"[rank0]:[E709 17:05:38.1 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank 0] PG status: last enqueued work: 9, last completed work: 8\n", CannotTell},
		"a watchdog that hangs":                                {"[rank0]:[E1203 12:00:00.1 ProcessGroupNCCL.cpp:1375] [PG 0 (default_pg) Rank 0] First PG on this rank that detected no heartbeat of its watchdog.\n" + signal(0, 54, 54), CannotTell},
		"a version that tells the shape": {
			"[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLGATHER, TensorShape=[1024], Timeout(ms)=1800000) ran for 1802694 milliseconds before timing out.\n" +
				"[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE, TensorShape=[7, 2], Timeout(ms)=1800000) ran for 1802694 milliseconds before timing out.\n",
			"culprits 1 not finished"},
		"a version that tells the shape, of two calls": {
			"[E ProcessGroupNCCL.cpp:828] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, TensorShape=[1024], Timeout(ms)=1800000) ran for 1802694 milliseconds before timing out.\n" +
				"[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, TensorShape=[7, 2], Timeout(ms)=1800000) ran for 1802694 milliseconds before timing out.\n",
			"culprits 0 calls differ 1 calls differ"},
		"calls on no one tensor":          {strings.ReplaceAll(alone(0, 0, 12), "=8", "=18446744073709551615") + strings.ReplaceAll(alone(1, 1, 11), "=8", "=18446744073709551615"), "culprits 1 not finished"},
		"two ranks in one line":           {strings.Replace(alone(0, 0, 5), "onds before", alone(1, 1, 5)+"onds before", 1) + strings.Replace(alone(2, 2, 5), "onds before", strings.Replace(alone(3, 3, 5), "ALLREDUCE", "BROADCAST", 1)+"onds before", 1), "culprits 3 calls differ"},
		"works alone, one of them behind": {alone(0, 0, 12) + alone(1, 1, 11) + alone(2, 2, 12), "culprits 1 not finished"},
		"works alone, all in one":         {alone(0, 0, 12) + alone(1, 1, 12), CannotTell},
		"works alone, of two groups":      {alone(0, 0, 12) + alone(1, 1, 12) + alone(2, 0, 11) + alone(3, 1, 11), CannotTell},
		"works alone, far apart":          {alone(0, 0, 12) + alone(1, 1, 9), CannotTell},
		"a version with the group's status": {
			"[rank0]:[E709 17:05:38.1 ProcessGroupNCCL.cpp:632] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=5, NumelOut=5, Timeout(ms)=600000) ran for 600000 milliseconds before timing out.\n" +
				"[rank0]:[E709 17:05:38.1 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work sequence id: 9 PG status: last enqueued work: 9, last completed work: 8\n" +
				"[rank0]: Stack trace of the failed collective: \n#0 all_reduce from /venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:2501\n#1 step from /job/train.py:31\n" +
				"[rank1]:[E709 17:05:38.1 ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0(default_pg) Rank 1] Received a dump signal; last enqueued work: 8, last started work: -1, last completed work: 8\n",
			"culprits 1 never called"},
	} {
		path := filepath.Join(t.TempDir(), "train.log")
		if err := os.WriteFile(path, []byte("epoch 1\n"+c.log+"bye\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := Read([]string{path})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		v := Explain(j)
		if got := short(v); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if strings.Contains(c.log, "train.py:31") && v.Waiting[0].Where != "/job/train.py:31 in step" {
			t.Errorf("%s: rank 0 waits at %q", name, v.Waiting[0].Where)
		}
	}
}

// Lines of a subgroup, and of a rank with a dump: numbers of both count.
func TestLogsAndDumps(t *testing.T) {
	dir := t.TempDir()
	w := &world{n: 3, ranks: map[int][]row{0: {sum(1).done(), sum(2).pending()}, 2: {sum(1).done(), sum(2).pending()}}}
	for id, rows := range w.ranks {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("fr_%d", id)), w.dump(id, rows), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rank1.log"), []byte(signal(1, 1, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	j, err := Read([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := short(Explain(j)); got != "culprits 1 never called" {
		t.Errorf("got %s", got)
	}
}

// inGroup returns the lines of a rank whose call in a group besides that of all ran out
// of time.
func inGroup(rank, inner int, group, op string, numel, seq, made, done int) string {
	return fmt.Sprintf(`[rank%d]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.
[rank%d]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1785] [PG ID 3 PG GUID %s(tp) Rank %d] Exception (either an error or timeout) detected by watchdog at work: %d, last enqueued NCCL work: %d, last completed NCCL work: %d.
`, rank, inner, seq, op, numel, numel, rank, group, inner, seq, made, done)
}

// What lines leave open is not made up.
func TestLogsClaimNothing(t *testing.T) {
	gathered := func(rank int) string {
		return strings.Replace(timeout(rank, "_ALLGATHER_BASE", 100, 7, 7, 6), "NumelOut=100", "NumelOut=400", 1)
	}
	for name, c := range map[string]struct{ log, want string }{
		"a part of the job, which a gathered size tells": {gathered(0) + gathered(1), CannotTell},
		"two groups of one name": {inGroup(0, 0, "5", "ALLREDUCE", 8, 7, 7, 6) + inGroup(1, 1, "5", "ALLREDUCE", 8, 7, 7, 6) +
			inGroup(2, 0, "5", "ALLREDUCE", 9, 7, 7, 6) + inGroup(3, 1, "5", "ALLREDUCE", 9, 7, 7, 6), CannotTell},
		"two groups of one name at other numbers": {inGroup(0, 0, "5", "ALLREDUCE", 8, 7, 7, 6) + inGroup(2, 0, "5", "ALLREDUCE", 8, 9, 9, 8) + inGroup(3, 1, "5", "ALLREDUCE", 8, 9, 9, 8), CannotTell},
		"one number in two groups of a rank": {timeout(0, "ALLREDUCE", 8, 7, 7, 6) + inGroup(0, 0, "5", "BROADCAST", 3, 7, 7, 6) +
			timeout(1, "ALLREDUCE", 8, 7, 7, 6) + inGroup(1, 1, "5", "BROADCAST", 3, 7, 7, 6), CannotTell},
		"transfers":                   {timeout(0, "SEND", 8, 7, 7, 6) + timeout(1, "RECV", 8, 3, 3, 2), CannotTell},
		"coalesced calls":             {timeout(0, "COALESCED", 8, 7, 7, 6) + timeout(1, "COALESCED", 9, 7, 7, 6), CannotTell},
		"uneven exchanges":            {timeout(0, "ALLTOALL_BASE", 8, 7, 7, 6) + timeout(1, "ALLTOALL_BASE", 9, 7, 7, 6) + timeout(2, "ALLTOALL_BASE", 7, 7, 7, 6), CannotTell},
		"a group that ended together": {inGroup(0, 0, "5", "ALLREDUCE", 8, 7, 7, 6) + inGroup(4, 1, "5", "ALLREDUCE", 8, 7, 7, 6), CannotTell},
	} {
		path := filepath.Join(t.TempDir(), "train.log")
		if err := os.WriteFile(path, []byte(c.log), 0o644); err != nil {
			t.Fatal(err)
		}
		j, err := Read([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		if got := short(Explain(j)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Without the rank in the job, lines of a part of it say nothing of any rank.
func TestLinesOfNobody(t *testing.T) {
	log := strings.ReplaceAll(inGroup(2, 0, "5", "ALLREDUCE", 8, 7, 7, 6), "[rank2]:", "")
	path := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(path, []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	if j, err := Read([]string{path}); err == nil {
		for id := range j.Ranks {
			t.Errorf("got evidence of rank %d, want none", id)
		}
	}
}

// Of a rank whose numbers alone are known it is said whether its last call had finished.
func TestNumbersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(path, []byte(signal(0, 54, 54)+signal(1, 55, 54)), 0o644); err != nil {
		t.Fatal(err)
	}
	j, err := Read([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Explain(j).WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"rank 0: outside any recorded call; the last calls are not recorded, but that they finished\n",
		"rank 1: outside any recorded call; the last call is not recorded, but that it had not finished\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("got\n%s\nwant in it\n%s", text.String(), want)
		}
	}
}
