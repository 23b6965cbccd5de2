"""Goldens of the functional forms (weft/ops), with the arguments of PyTorch's functions of their names."""

import math

import numpy
import torch
import torch.nn.functional as F

from goldens import reference
from goldens.case import Case


def cases():
    yield from scaled_dot_product_cases()
    yield from multi_head_cases()


def random_mask(case, shape, kind, empty_row=None):
    """A boolean mask, or numbers to add of which some are -inf; `empty_row`: a query that no key is left for."""
    bits = case.random.uniform(size=shape) < 0.7
    if empty_row is not None:
        bits[..., empty_row, :] = False
    if kind == "bool":
        return bits
    if kind == "infinities":
        return numpy.where(bits, 0.0, -math.inf)
    numbers = case.random.standard_normal(shape).astype(numpy.float32)
    return numpy.where(bits, numbers, -math.inf)


def store_mask(case, name, values):
    """Keeps the mask as the test gives it to weft: u8 or f32. Returns it for PyTorch."""
    dtype = numpy.uint8 if values.dtype == bool else numpy.float32
    case.tensors["inputs." + name] = values.astype(dtype)
    return torch.from_numpy(values if values.dtype == bool else values.astype(numpy.float64))


def attend(q, k, v, *, attn_mask=None, is_causal=False, scale=None):
    """(..., h, q, e) and (..., kv_heads, k, e): the output and the weights; rows without a key are zeros.

    PyTorch 1.13 has neither scale, nor grouped heads, nor masks of numbers here; selfcheck compares what it has.
    """
    group = q.shape[-3] // k.shape[-3] if q.dim() > 2 else 1
    if group > 1:
        k, v = (x.repeat_interleave(group, dim=-3) for x in (k, v))
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -math.inf)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = scores.masked_fill(empty, 0.0).softmax(-1).masked_fill(empty, 0.0)
    return weights @ v, weights


def scaled_dot_product_cases():
    yield scaled_dot_product_case("plain", b=2, h=3, q=5, k=7)
    yield scaled_dot_product_case("no_heads", b=None, h=None, q=4, k=6)
    yield scaled_dot_product_case("no_batch", b=None, h=4, q=4, k=6, mask=(4, 1, 6), kind="float")
    yield scaled_dot_product_case("scale", b=2, h=2, q=6, k=6, scale=0.3)
    yield scaled_dot_product_case("wide_values", b=2, h=2, q=5, k=6, w=12, is_causal=True)
    yield scaled_dot_product_case("wide_values_float", b=2, h=2, q=5, k=6, w=3, mask=(5, 6), kind="float")
    yield scaled_dot_product_case("causal", b=2, h=2, q=8, k=8, is_causal=True)
    yield scaled_dot_product_case("causal_more_keys", b=2, h=2, q=4, k=9, is_causal=True)
    yield scaled_dot_product_case("causal_more_queries", b=2, h=2, q=9, k=4, is_causal=True)
    yield scaled_dot_product_case("causal_float", b=2, h=2, q=5, k=7, is_causal=True, mask=(5, 7), kind="float")
    yield scaled_dot_product_case("bool_q_k", b=2, h=2, q=6, k=7, mask=(6, 7), kind="bool", empty_row=2)
    yield scaled_dot_product_case("bool_per_sequence", b=2, h=3, q=6, k=7, mask=(2, 1, 1, 7), kind="bool")
    yield scaled_dot_product_case("bool_per_head", b=2, h=3, q=6, k=7, mask=(2, 3, 6, 7), kind="bool", empty_row=0)
    yield scaled_dot_product_case("float_q_k", b=2, h=2, q=6, k=7, mask=(6, 7), kind="float", empty_row=5)
    yield scaled_dot_product_case("float_per_query", b=2, h=2, q=6, k=7, mask=(6, 1), kind="float")
    yield scaled_dot_product_case("float_per_head", b=2, h=3, q=6, k=7, mask=(1, 3, 6, 7), kind="float")
    yield scaled_dot_product_case("float_per_sequence", b=2, h=3, q=6, k=7, mask=(2, 3, 6, 7), kind="float",
                                  empty_row=1)
    yield scaled_dot_product_case("infinities", b=2, h=2, q=6, k=7, mask=(2, 1, 6, 7), kind="infinities", empty_row=3)
    yield scaled_dot_product_case("grouped", b=2, h=4, kv_heads=2, q=6, k=7)
    yield scaled_dot_product_case("grouped_float", b=2, h=4, kv_heads=2, q=6, k=7, mask=(4, 6, 7), kind="float")
    yield scaled_dot_product_case("multi_query_causal", b=2, h=4, kv_heads=1, q=6, k=6, is_causal=True)
    yield scaled_dot_product_case("long_causal", b=1, h=2, q=70, k=131, e=12, is_causal=True)
    for name, mask in (("one_source", None), ("one_source_float", (6, 6))):
        yield scaled_dot_product_case(name, b=2, h=2, q=6, k=6, mask=mask, kind="float", one_source=True)


def scaled_dot_product_case(name, *, b, h, q, k, kv_heads=None, e=8, w=None, mask=None, kind=None, empty_row=None,
                            is_causal=False, scale=None, one_source=False):
    case = Case(f"scaled_dot_product/{name}", is_causal=is_causal, scale=scale, one_source=one_source,
                enable_gqa=kv_heads is not None)

    def shape(heads, tokens, width):
        return tuple(size for size in (b, heads, tokens, width) if size is not None)

    query = key = value = case.input("q", shape(h, q, e), scale=1.5)
    if not one_source:
        key = case.input("k", shape(kv_heads or h, k, e), scale=1.5)
        value = case.input("v", shape(kv_heads or h, k, w or e))
    attn_mask = None
    if mask is not None:
        attn_mask = store_mask(case, "attn_mask", random_mask(case, mask, kind, empty_row))
    output, weights = attend(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale)
    if q * k <= 100:
        case.result("weights", weights)
    if scale is None and kv_heads is None and kind in (None, "bool"):
        with torch.no_grad():
            theirs = F._scaled_dot_product_attention(query, key, value, attn_mask, 0.0, True, is_causal)
        require_equal("scaled_dot_product_attention", output, theirs[0])
        require_equal("scaled_dot_product_attention's weights", weights, theirs[1])
    case.differentiate({"y": output})
    return case


def multi_head_cases():
    yield multi_head_case("self", b=2, q=6)
    yield multi_head_case("unbatched", b=None, q=6, attn_mask=(6, 6), kind="bool")
    yield multi_head_case("memory", b=2, q=4, k=7)
    yield multi_head_case("separate_inputs", b=2, q=4, k=7, inputs="qkv")
    yield multi_head_case("shared_query_key", b=2, q=5, inputs="qqv")
    yield multi_head_case("separate_weights", b=2, q=4, k=7, inputs="qkv", widths=(10, 18))
    yield multi_head_case("separate_weights_self", b=2, q=6, widths=(24, 24))
    yield multi_head_case("no_bias", b=2, q=6, bias=False)
    yield multi_head_case("causal", b=2, q=6, is_causal=True)
    yield multi_head_case("causal_padded", b=3, q=6, is_causal=True, key_padding="bool")
    yield multi_head_case("causal_more_keys", b=2, q=4, k=7, is_causal=True)
    yield multi_head_case("bool", b=2, q=4, k=7, attn_mask=(4, 7), kind="bool")
    yield multi_head_case("bool_per_head", b=2, q=4, k=7, attn_mask=(6, 4, 7), kind="bool", key_padding="bool")
    yield multi_head_case("float", b=2, q=4, k=7, attn_mask=(4, 7), kind="float")
    yield multi_head_case("float_per_head", b=2, q=4, k=7, attn_mask=(6, 4, 7), kind="float", key_padding="bool")
    yield multi_head_case("float_padding", b=3, q=6, key_padding="float")
    yield multi_head_case("masked_rows", b=2, q=4, k=7, attn_mask=(4, 7), kind="bool", empty_row=1, key_padding="bool")
    yield multi_head_case("masked_rows_float", b=2, q=4, k=7, attn_mask=(4, 7), kind="float", empty_row=3)
    yield multi_head_case("bias_k", b=2, q=4, k=7, bias_k=True, attn_mask=(4, 7), kind="bool", key_padding="bool")
    yield multi_head_case("zero_attention", b=2, q=6, add_zero_attn=True, is_causal=True)
    yield multi_head_case("bias_k_zero_attention", b=2, q=4, k=7, bias_k=True, add_zero_attn=True, attn_mask=(6, 4, 7),
                          kind="float")
    yield multi_head_case("unbatched_bias_k", b=None, q=4, k=7, bias_k=True, key_padding="bool")


def multi_head_case(name, *, b, q, k=None, inputs=None, widths=None, bias=True, bias_k=False, add_zero_attn=False,
                    attn_mask=None, kind=None, empty_row=None, key_padding=None, is_causal=False, d=24, heads=3):
    """`inputs`: which variable is query, key and value; `kind`: of attn_mask; true in a boolean = may not attend."""
    inputs = inputs or ("qqq" if k is None else "qkk")
    k = k or q
    case = Case(f"multi_head/{name}", num_heads=heads, is_causal=is_causal, add_zero_attn=add_zero_attn, inputs=inputs)
    given = {}
    for role, letter in enumerate(inputs):
        if letter not in given:
            width = widths[role - 1] if widths and role > 0 else d
            shape = (q if letter == "q" else k, width)
            given[letter] = case.input(letter, shape if b is None else (b,) + shape, scale=1.5)
    query, key, value = (given[letter] for letter in inputs)
    parameters = multi_head_parameters(case, d, widths, bias, bias_k)
    mask = padding = None
    if attn_mask is not None:
        values = random_mask(case, attn_mask, kind, empty_row)
        mask = store_mask(case, "attn_mask", ~values if kind == "bool" else values)
    if key_padding is not None:
        lengths = [k - 2 * (i + 1) for i in range(b or 1)]
        values = numpy.arange(k)[None, :] >= numpy.array(lengths)[:, None]
        if key_padding == "float":
            values = numpy.where(values, -math.inf, case.random.standard_normal(values.shape).astype(numpy.float32))
        padding = store_mask(case, "key_padding_mask", values if b is not None else values[0])
    output, weights = multi_head_attention(parameters, query, key, value, heads, mask, padding, is_causal,
                                           add_zero_attn)
    case.result("weights", weights)
    case.result("mean_weights", weights.mean(-3))
    case.differentiate({"y": output})
    return case


def multi_head_parameters(case, d, widths, bias, bias_k):
    parameters = {}
    if widths is None:
        parameters["in_proj_weight"] = case.parameter("in_proj_weight", (3 * d, d))
    else:
        for name, width in zip(("q", "k", "v"), (d,) + widths):
            parameters[f"{name}_proj_weight"] = case.parameter(f"{name}_proj_weight", (d, width))
    parameters["out_proj_weight"] = case.parameter("out_proj_weight", (d, d))
    if bias:
        parameters["in_proj_bias"] = case.parameter("in_proj_bias", (3 * d,))
        parameters["out_proj_bias"] = case.parameter("out_proj_bias", (d,))
    if bias_k:
        parameters["bias_k"] = case.parameter("bias_k", (1, 1, d), scale=1.0)
        parameters["bias_v"] = case.parameter("bias_v", (1, 1, d), scale=1.0)
    return parameters


def pytorch_multi_head(parameters, query, key, value, heads, mask, padding, is_causal, add_zero_attn):
    """PyTorch's function, tokens first inside."""
    q, k, v = (x if x.dim() == 2 else x.transpose(0, 1) for x in (query, key, value))
    if is_causal:  # there a promise about attn_mask, which has to be given
        causal = ~torch.ones(q.shape[0], k.shape[0], dtype=torch.bool).tril()
        mask = causal if mask is None else mask | causal
    separate = "q_proj_weight" in parameters
    weight = parameters.get
    return F.multi_head_attention_forward(
        q, k, v, query.shape[-1], heads, weight("in_proj_weight"), weight("in_proj_bias"), weight("bias_k"),
        weight("bias_v"), add_zero_attn, 0.0, weight("out_proj_weight"), weight("out_proj_bias"), training=False,
        key_padding_mask=padding, need_weights=True, attn_mask=mask, use_separate_proj_weight=separate,
        q_proj_weight=weight("q_proj_weight"), k_proj_weight=weight("k_proj_weight"),
        v_proj_weight=weight("v_proj_weight"), average_attn_weights=False)


def multi_head_attention(parameters, query, key, value, heads, mask=None, padding=None, is_causal=False,
                         add_zero_attn=False):
    """The output and the weights (b, heads, q, k): PyTorch's numbers, but zeros where a query sees no key."""
    b = query.shape[0] if query.dim() == 3 else 1
    d = query.shape[-1]
    if "in_proj_weight" in parameters:
        projections = parameters["in_proj_weight"].chunk(3)
    else:
        projections = [parameters[f"{name}_proj_weight"] for name in "qkv"]
    biases = parameters["in_proj_bias"].chunk(3) if "in_proj_bias" in parameters else (None,) * 3
    q, k, v = (F.linear(x.reshape(b, -1, x.shape[-1]), weight, bias)
               for x, weight, bias in zip((query, key, value), projections, biases))
    tokens, keys = q.shape[1], k.shape[1]
    added = torch.zeros(b, 1, tokens, keys, dtype=torch.double)
    if is_causal:
        added = added.masked_fill(~torch.ones(tokens, keys, dtype=torch.bool).tril(), -math.inf)
    for given, shape in ((mask, (b, heads) if mask is not None and mask.dim() == 3 else (1, 1)), (padding, (b, 1))):
        if given is not None:
            given = given.reshape(shape + (-1, keys))
            added = added.masked_fill(given, -math.inf) if given.dtype == torch.bool else added + given
    if "bias_k" in parameters:
        k, v = (torch.cat((x, parameters[name].expand(b, 1, d)), 1) for x, name in ((k, "bias_k"), (v, "bias_v")))
    if add_zero_attn:
        k, v = (torch.cat((x, torch.zeros(b, 1, d, dtype=torch.double)), 1) for x in (k, v))
    added = F.pad(added, (0, k.shape[1] - keys))
    output, weights = attend(*(x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v)), attn_mask=added)
    output = F.linear(output.transpose(1, 2).flatten(-2), parameters["out_proj_weight"],
                      parameters.get("out_proj_bias"))
    with torch.no_grad():
        theirs = pytorch_multi_head(parameters, query, key, value, heads, mask, padding, is_causal, add_zero_attn)
    require_equal("multi_head_attention_forward", output, theirs[0] if query.dim() == 2 else theirs[0].transpose(0, 1))
    require_equal("multi_head_attention_forward's weights", weights, theirs[1])
    return (output, weights) if query.dim() == 3 else (output[0], weights[0])


def require_equal(what, ours, theirs):
    """Stops unless PyTorch gives the same numbers, NaN aside: its answer to a query that sees no key."""
    theirs = theirs.reshape(ours.shape)
    counted = ~theirs.isnan()
    if counted.sum() == 0 or (ours - theirs)[counted].abs().max() > 1e-12:
        raise SystemExit(f"functional: the reference differs from PyTorch's {what}")
