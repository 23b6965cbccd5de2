"""Goldens of single operations (weft/ops)."""

import numpy
import torch
import torch.nn.functional as F

from goldens import reference
from goldens.case import Case

ACTIVATIONS = tuple(reference.ACTIVATIONS)


def cases():
    yield from linear_cases()
    yield from activation_cases()
    yield from embedding_cases()
    yield from norm_cases()
    yield from cross_entropy_cases()
    yield from attention_cases()
    yield from rotary_cases()


def linear_cases():
    for activation in ACTIVATIONS:
        case = Case(f"linear/{activation}", activation=activation)
        x = case.input("x", (2, 5, 24))
        weight = case.parameter("weight", (20, 24))
        bias = case.parameter("bias", (20,))
        case.differentiate({"y": reference.ACTIVATIONS[activation](F.linear(x, weight, bias))})
        yield case
    case = Case("linear/no_bias", activation="none")
    x = case.input("x", (7, 33))
    case.differentiate({"y": F.linear(x, case.parameter("weight", (19, 33)))})
    yield case


def activation_cases():
    for activation in ACTIVATIONS[1:]:
        case = Case(f"activation/{activation}", activation=activation)
        x = case.input("x", (9, 38), scale=3.0)
        gate, up = x.chunk(2, dim=-1)
        function = reference.ACTIVATIONS[activation]
        case.differentiate({"plain": function(x), "gated": function(gate) * up})
        yield case


def embedding_cases():
    b, s, v, d = 3, 6, 11, 16
    for name, scale, with_positions in (("tokens", 1.0, False), ("scaled", 4.0, False), ("positions", 4.0, True)):
        case = Case(f"embedding/{name}", scale=scale)
        # Few different ids: rows that are read several times must add up, others stay zero.
        ids = case.constant("ids", case.random.randint(0, v - 4, (b, s)))
        y = scale * F.embedding(ids, case.parameter("token.weight", (v, d), scale=1.0))
        if with_positions:
            position_ids = case.constant("position_ids", numpy.stack([numpy.arange(s), numpy.arange(s) + 2, [4] * s]))
            y = y + F.embedding(position_ids, case.parameter("position.weight", (10, d), scale=1.0))
        case.differentiate({"y": y})
        yield case


def norm_cases():
    epsilon = 1e-3  # large enough to be seen
    for kind in ("layer_norm", "rms_norm"):
        for fused in (False, True):
            case = Case(f"norm/{kind}{'_residual' if fused else ''}", norm=kind, norm_epsilon=epsilon)
            total = case.input("x", (4, 5, 40))
            if fused:
                total = total + case.input("residual", (4, 5, 40))
            weight = case.parameter("weight", (40,), offset=1.0)
            bias = case.parameter("bias", (40,)) if kind == "layer_norm" else None
            outputs = {"normalised": reference.norm(kind, total, weight, bias, epsilon)}
            if fused:
                outputs["sum"] = total
            case.differentiate(outputs)
            yield case


def cross_entropy_cases():
    n, d, v = 14, 12, 29
    for name, ignored, smoothing in (
        ("plain", (), 0.0),
        ("ignored", (0, 5, 13), 0.0),
        ("smoothed", (), 0.1),
        ("ignored_smoothed", (2, 3, 12), 0.2),
    ):
        case = Case(f"cross_entropy/{name}", ignore_id=0, label_smoothing=smoothing)
        targets = case.random.randint(1, v, n)
        targets[list(ignored)] = 0
        targets = case.constant("targets", targets)
        x = case.input("x", (n, d), scale=2.0)
        weight, bias = case.parameter("weight", (v, d)), case.parameter("bias", (v,))
        logits = F.linear(x, weight, bias)
        logits.retain_grad()
        loss = F.cross_entropy(logits, targets, ignore_index=0, label_smoothing=smoothing)
        case.result("loss", loss)
        case.backward(loss)
        case.result("logits", logits)
        case.result("logits_gradient", logits.grad)
        yield case


def attention_cases():
    """Scaled dot-product attention alone; q (b, q, h·e), k and v (b, k, kv_heads·e)."""
    yield attention_case("multi_head", b=2, q=7, k=7, heads=4, kv_heads=4)
    yield attention_case("grouped", b=2, q=6, k=6, heads=4, kv_heads=2)
    yield attention_case("multi_query", b=2, q=6, k=6, heads=4, kv_heads=1)
    yield attention_case("causal", b=2, q=9, k=9, heads=2, kv_heads=2, causal=True)
    yield attention_case("causal_after_cache", b=2, q=3, k=8, heads=2, kv_heads=1, causal=True)
    yield attention_case("cross", b=2, q=5, k=11, heads=2, kv_heads=2)
    yield attention_case("cross_lengths", b=3, q=5, k=11, heads=2, kv_heads=2, k_lengths=(11, 4, 1))
    yield attention_case("lengths", b=3, q=8, k=8, heads=2, kv_heads=2, lengths=(8, 5, 1))
    yield attention_case("causal_lengths", b=3, q=8, k=8, heads=4, kv_heads=2, causal=True, lengths=(3, 8, 6))
    yield attention_case("allowed_q_k", b=2, q=6, k=7, heads=2, kv_heads=2, allowed_shape=(6, 7))
    yield attention_case("allowed_per_sequence", b=2, q=6, k=7, heads=2, kv_heads=2, allowed_shape=(2, 1, 6, 7))
    yield attention_case("allowed_per_head", b=2, q=6, k=7, heads=4, kv_heads=2, allowed_shape=(2, 4, 6, 7))
    yield attention_case("allowed_causal", b=2, q=7, k=7, heads=2, kv_heads=2, causal=True, allowed_shape=(2, 1, 7, 7))
    yield attention_case("long_causal", b=1, q=150, k=150, heads=2, kv_heads=1, head_dim=12, causal=True)
    yield attention_case("long_cross", b=1, q=70, k=140, heads=2, kv_heads=2, head_dim=12, k_lengths=(133,))


def attention_case(name, *, b, q, k, heads, kv_heads, head_dim=8, causal=False, lengths=None, k_lengths=None,
                   allowed_shape=None):
    case = Case(f"attention/{name}", heads=heads, kv_heads=kv_heads, head_dim=head_dim, causal=causal)
    queries = case.input("q", (b, q, heads * head_dim), scale=1.5)
    keys, values = (case.input(part, (b, k, kv_heads * head_dim), scale=1.5) for part in ("k", "v"))
    allowed = torch.ones(b, 1, q, k, dtype=torch.bool)
    counted = None
    if causal:
        allowed = allowed & reference.causal_mask(q, k)
    if lengths is not None:
        lengths = case.constant("lengths", lengths)
        allowed = allowed & reference.length_mask(lengths, k)
        counted = (torch.arange(q)[None, :] < lengths[:, None]).double()
    if k_lengths is not None:
        allowed = allowed & reference.length_mask(case.constant("k_lengths", k_lengths), k)
    if allowed_shape is not None:
        bits = case.random.uniform(size=allowed_shape) < 0.6
        bits[..., 2, :] = False  # a query that may attend to nothing
        allowed = allowed & case.constant("allowed", bits, numpy.uint8).bool()
    output, weights = reference.dot_product_attention(
        queries.unflatten(-1, (heads, head_dim)),
        keys.unflatten(-1, (kv_heads, head_dim)),
        values.unflatten(-1, (kv_heads, head_dim)),
        allowed,
    )
    if q * k <= 100:
        case.result("weights", weights)
    case.differentiate({"y": output.flatten(-2)}, counted)
    return case


def rotary_cases():
    b, s, heads, e = 2, 6, 3, 16
    for layout in ("interleaved", "half_split"):
        for rotary_dim, base in ((e, 10000.0), (e // 2, 500.0)):
            name = f"rotary/{layout}{'_partial' if rotary_dim < e else ''}"
            case = Case(name, heads=heads, head_dim=e, rotary_layout=layout, rotary_dim=rotary_dim, rotary_base=base)
            position_ids = case.constant("position_ids", numpy.stack([numpy.arange(s), 100 + 3 * numpy.arange(s)]))
            x = case.input("x", (b, s, heads * e))
            y = reference.rotary(x.unflatten(-1, (heads, e)), position_ids, layout, rotary_dim, base)
            case.differentiate({"y": y.flatten(-2)})
            yield case
