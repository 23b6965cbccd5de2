"""Transformers in plain PyTorch, with weft's parameter names: what the goldens compare weft with.

Written for reading, from the definitions; b batch, s length, q and k query and key length, d model width, h heads,
e head width.
"""

import math

import torch
import torch.nn.functional as F

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


def norm(kind, x, weight, bias, epsilon):
    if kind == "layer_norm":
        return F.layer_norm(x, x.shape[-1:], weight, bias, epsilon)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon) * weight


def sinusoidal_table(length, d, base=10000.0):
    """Vaswani et al. 2017: sine on even, cosine on odd columns."""
    angles = torch.arange(length).double()[:, None] * base ** (-torch.arange(0, d, 2).double() / d)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(length, d)


def rotary(x, position_ids, layout, rotary_dim, base):
    """Su et al. 2021; x (b, s, h, e), position_ids (b, s)."""
    frequencies = base ** (-torch.arange(0, rotary_dim, 2).double() / rotary_dim)
    angles = position_ids[:, :, None, None].double() * frequencies
    cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    turned, rest = x[..., :rotary_dim], x[..., rotary_dim:]
    if layout == "interleaved":
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned.chunk(2, dim=-1)
    pair = (first * cosine - second * sine, first * sine + second * cosine)
    turned = torch.stack(pair, dim=-1).flatten(-2) if layout == "interleaved" else torch.cat(pair, dim=-1)
    return torch.cat((turned, rest), dim=-1)


def dot_product_attention(q, k, v, allowed=None):
    """q (b, q, h, e), k and v (b, k, kv_heads, e), allowed broadcastable to (b, h, q, k).

    Gives (b, q, h, e) and the weights (b, h, q, k). A query that may attend to nothing gives zeros.
    """
    group = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(group, dim=2) for x in (k, v))
    scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(q.shape[-1])
    if allowed is not None:
        allowed = allowed.expand_as(scores)
        empty = ~allowed.any(-1, keepdim=True)
        scores = scores.masked_fill(~allowed & ~empty, -math.inf)
        weights = scores.softmax(-1).masked_fill(~allowed, 0.0)
    else:
        weights = scores.softmax(-1)
    return torch.einsum("bhqk,bkhe->bqhe", weights, v), weights


def causal_mask(q, k):
    """The last query sees every key."""
    return torch.ones(q, k, dtype=torch.bool).tril(k - q)


def length_mask(lengths, k):
    """(b, 1, 1, k): the first lengths[i] keys of sequence i."""
    return (torch.arange(k)[None, :] < lengths[:, None])[:, None, None, :]


def attention(parameters, prefix, config, x, memory=None, allowed=None, position_ids=None):
    """An attention layer: fused projection, rotary positions, heads, output projection. Gives (output, weights)."""
    heads, kv_heads, e = config["heads"], config["kv_heads"], config["head_dim"]

    def project(name, tensor):
        return F.linear(tensor, parameters[f"{prefix}{name}.weight"], parameters.get(f"{prefix}{name}.bias"))

    if memory is None:
        q, k, v = project("qkv", x).split([heads * e, kv_heads * e, kv_heads * e], dim=-1)
    else:
        q = project("query", x)
        k, v = project("kv", memory).split([kv_heads * e, kv_heads * e], dim=-1)
    q = q.unflatten(-1, (heads, e))
    k, v = (tensor.unflatten(-1, (kv_heads, e)) for tensor in (k, v))
    if position_ids is not None:
        q, k = (
            rotary(tensor, position_ids, config["rotary_layout"], config["rotary_dim"], config["rotary_base"])
            for tensor in (q, k)
        )
    output, weights = dot_product_attention(q, k, v, allowed)
    return project("output", output.flatten(-2)), weights


def feed_forward(parameters, prefix, config, x):
    activation = ACTIVATIONS[config["activation"]]
    hidden = F.linear(x, parameters[prefix + "up.weight"], parameters.get(prefix + "up.bias"))
    if config["gated"]:
        gate, up = hidden.chunk(2, dim=-1)
        hidden = activation(gate) * up
    else:
        hidden = activation(hidden)
    return F.linear(hidden, parameters[prefix + "down.weight"], parameters.get(prefix + "down.bias"))


def block(parameters, prefix, config, x, allowed=None, position_ids=None):
    def norm_of(name, tensor):
        weight, bias = (parameters.get(f"{prefix}{name}_norm.{part}") for part in ("weight", "bias"))
        return norm(config["norm"], tensor, weight, bias, config["norm_epsilon"])

    def attend(tensor):
        return attention(parameters, prefix + "attention.", config, tensor, None, allowed, position_ids)[0]

    def feed(tensor):
        return feed_forward(parameters, prefix + "feed_forward.", config, tensor)

    wiring = config["wiring"]
    if wiring == "pre_norm":
        x = x + attend(norm_of("attention", x))
        return x + feed(norm_of("feed_forward", x))
    attended = norm_of("attention", x + attend(x))
    if wiring == "post_norm":
        return norm_of("feed_forward", attended + feed(attended))
    if wiring == "block_input":
        return norm_of("feed_forward", x + feed(attended))
    if wiring == "b2t":  # Takase et al. 2022
        return norm_of("feed_forward", attended + feed(attended) + x)
    raise ValueError(wiring)


def causal_lm(parameters, config, ids, lengths=None):
    """Logits (b, s, v) of a decoder-only language model; config as weft's TransformerConfig, resolved."""
    b, s = ids.shape
    position_ids = torch.arange(s)[None, :].expand(b, s)
    x = F.embedding(ids, parameters["embedding.token.weight"])
    if config["scale_embeddings"]:
        x = x * math.sqrt(config["d_model"])
    if config["positions"] == "learned":
        x = x + F.embedding(position_ids, parameters["embedding.position.weight"])
    if config["positions"] == "sinusoidal":
        x = x + sinusoidal_table(s, config["d_model"]).to(x.dtype)
    allowed = causal_mask(s, s)
    if lengths is not None:
        allowed = allowed & length_mask(lengths, s)
    rotary_ids = position_ids if config["positions"] == "rotary" else None
    for layer in range(config["layers"]):
        x = block(parameters, f"blocks.{layer}.", config, x, allowed, rotary_ids)
    if config["final_norm"]:
        weight, bias = (parameters.get("final_norm." + part) for part in ("weight", "bias"))
        x = norm(config["norm"], x, weight, bias, config["norm_epsilon"])
    weight = parameters["embedding.token.weight" if config["tie_embeddings"] else "output.weight"]
    return F.linear(x, weight, parameters.get("output.bias"))


def parameter_shapes(config):
    """Path -> shape of every parameter of the causal model."""
    d, v = config["d_model"], config["vocab_size"]
    shapes = {"embedding.token.weight": (v, d)}
    if config["positions"] == "learned":
        shapes["embedding.position.weight"] = (config["max_length"], d)
    for layer in range(config["layers"]):
        shapes.update(block_shapes(config, f"blocks.{layer}."))
    if config["final_norm"]:
        shapes.update(norm_shapes(config, "final_norm."))
    if not config["tie_embeddings"]:
        shapes["output.weight"] = (v, d)
    if config["output_bias"]:
        shapes["output.bias"] = (v,)
    return shapes


def block_shapes(config, prefix):
    d, d_ff = config["d_model"], config["d_ff"]
    up = 2 * d_ff if config["gated"] else d_ff
    shapes = {}
    shapes.update(attention_shapes(config, prefix + "attention."))
    shapes.update(norm_shapes(config, prefix + "attention_norm."))
    shapes.update(linear_shapes(prefix + "feed_forward.up.", d, up, config["feed_forward_bias"]))
    shapes.update(linear_shapes(prefix + "feed_forward.down.", d_ff, d, config["feed_forward_bias"]))
    shapes.update(norm_shapes(config, prefix + "feed_forward_norm."))
    return shapes


def attention_shapes(config, prefix, cross=False):
    d, bias = config["d_model"], config["attention_bias"]
    q_width, kv_width = (config[key] * config["head_dim"] for key in ("heads", "kv_heads"))
    if cross:
        shapes = linear_shapes(prefix + "query.", d, q_width, bias)
        shapes.update(linear_shapes(prefix + "kv.", d, 2 * kv_width, bias))
    else:
        shapes = linear_shapes(prefix + "qkv.", d, q_width + 2 * kv_width, bias)
    shapes.update(linear_shapes(prefix + "output.", q_width, d, bias))
    return shapes


def linear_shapes(prefix, inputs, outputs, bias):
    shapes = {prefix + "weight": (outputs, inputs)}
    if bias:
        shapes[prefix + "bias"] = (outputs,)
    return shapes


def norm_shapes(config, prefix):
    shapes = {prefix + "weight": (config["d_model"],)}
    if config["norm"] == "layer_norm" and config["norm_bias"]:
        shapes[prefix + "bias"] = (config["d_model"],)
    return shapes
