"""The plugin of pytest, in a pytest of its own."""

import pytest

SAMPLE = """
PARAMS = {"test_sum": [(1, 2), (2, 5)]}

def test_sum(a, b):
    assert.eq(a + 1, b)

def test_ranks():
    print("there are", world_size())
    assert.eq(all_reduce(ones(1))[0].item(), float(world_size()))

def test_skipped():
    skip("not today")
"""


@pytest.fixture
def run(pytester):
    def run(*args, **files):
        pytester.makefile(".star", **(files or {"sample_test": SAMPLE, "other": "fail()"}))
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *args)

    return run


def test_every_test_is_an_item(run):
    result = run("-v", "-rs", "--tpsh-n", "1,2")
    result.assert_outcomes(passed=4, failed=2, skipped=2)
    result.stdout.fnmatch_lines([
        "*sample_test.star::test_sum[[]1, 2-n1-inproc[]] PASSED*",
        "*sample_test.star::test_sum[[]2, 5-n2-inproc[]] FAILED*",
        "*sample_test.star::test_skipped[[]n1-inproc[]] SKIPPED*",
        "*ranks 0,1 of 2:",
        "  *sample_test.star:4:14: in test_sum",
        "Error in assert.eq: got 3, want 5",
        "SKIPPED*sample_test.star:10: not today",
    ])


def test_selection(run):
    run("-k", "test_ranks and n2", "--tpsh-transport", "inproc,shm").assert_outcomes(passed=2, deselected=22)


def test_one_node(run):
    run("sample_test.star::test_ranks[n4-inproc]", "-rA").stdout.fnmatch_lines(["there are 4", "PASSED*"])


def test_file_that_does_not_parse(run):
    result = run(broken_test="def test_x(:\n    pass\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*broken_test.star:1:12: *"])


def test_file_that_does_not_compile(run):
    result = run("--tpsh-n", "2", broken_test="def test_x():\n    nothing()\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*broken_test.star:2:5: undefined: nothing*"])
