"""Tensors of PyTorch as Starlark."""


def number(v):
    if v != v:
        return 'float("nan")'
    if v in (float("inf"), float("-inf")):
        return 'float("%sinf")' % ("-" if v < 0 else "")
    return repr(v)


def text(t):
    """t as (elements, shape)."""
    return "([%s], %s)" % (", ".join(number(float(v)) for v in t.detach().reshape(-1).tolist()), list(t.shape))
