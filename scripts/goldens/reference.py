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


def alibi_slopes(heads):
    """Press et al. 2022."""

    def power_of_two(n):
        return [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]

    lower = 2 ** int(math.log2(heads))
    return torch.tensor(power_of_two(lower) + power_of_two(2 * lower)[0::2][: heads - lower]).double()


def distance_bucket(distance, buckets, max_distance, bidirectional):
    """T5 (Raffel et al. 2020), one distance (key - query) at a time."""
    first = 0
    if bidirectional:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(0, -distance)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    far = exact + int(math.log(distance / exact) / math.log(max_distance / exact) * (buckets - exact))
    return first + min(buckets - 1, far)


def score_terms(parameters, prefix, config, q, distances):
    """What the positions add to the scores (b, h, q, k), and the relative values (q, k, e) or None."""
    scores, values = 0.0, None
    if config["positions"] == "relative":  # Shaw et al. 2018
        limit = config["relative_distance"]
        rows = distances.clamp(-limit, limit) + limit
        keys, values = (parameters[f"{prefix}relative.{name}"][rows] for name in ("keys", "values"))
        scores = torch.einsum("bqhe,qke->bhqk", q, keys) / math.sqrt(q.shape[-1])
    if config["positions"] == "alibi":
        scores = -alibi_slopes(q.shape[2])[:, None, None] * distances.abs()
    if config["positions"] == "buckets":
        both = config.get("architecture", "causal_lm") != "causal_lm"
        rows = torch.tensor([[distance_bucket(int(d), config["bias_buckets"], config["bias_max_distance"], both)
                              for d in row] for row in distances])
        scores = parameters[prefix + "bucket_bias.weight"][rows].permute(2, 0, 1)
    return scores, values


def dot_product_attention(q, k, v, allowed=None, added=0.0, relative_values=None, hard=False):
    """q (b, q, h, e), k and v (b, k, kv_heads, e), allowed broadcastable to (b, h, q, k).

    Gives (b, q, h, e) and the weights (b, h, q, k). A query that may attend to nothing gives zeros. Hard weights are 1
    on the first best key, with the gradient of the softmax (straight-through).
    """
    group = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(group, dim=2) for x in (k, v))
    scores = torch.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(q.shape[-1]) + added
    if allowed is not None:
        allowed = allowed.expand_as(scores)
        empty = ~allowed.any(-1, keepdim=True)
        scores = scores.masked_fill(~allowed & ~empty, -math.inf)
        weights = scores.softmax(-1).masked_fill(~allowed, 0.0)
    else:
        weights = scores.softmax(-1)
    if hard:
        best = torch.zeros_like(weights).scatter(-1, weights.argmax(-1, keepdim=True), 1.0)
        best = best * (weights.sum(-1, keepdim=True) > 0)
        weights = best + weights - weights.detach()
    output = torch.einsum("bhqk,bkhe->bqhe", weights, v)
    if relative_values is not None:
        output = output + torch.einsum("bhqk,qke->bqhe", weights, relative_values)
    return output, weights


def linear_attention(q, k, v, allowed=None):
    """Katharopoulos et al. 2020 by all pairs: weights phi(q).phi(k) over their sum, phi = elu + 1; shapes as above."""
    group = q.shape[2] // k.shape[2]
    k, v = (x.repeat_interleave(group, dim=2) for x in (k, v))
    weights = torch.einsum("bqhe,bkhe->bhqk", F.elu(q) + 1, F.elu(k) + 1)
    if allowed is not None:
        weights = weights * allowed
    total = weights.sum(-1, keepdim=True)
    weights = weights / torch.where(total > 0, total, torch.ones_like(total))
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
    if config.get("attention_weights") == "linear":
        output, weights = linear_attention(q, k, v, allowed)
        return project("output", output.flatten(-2)), weights
    distances = torch.arange(k.shape[1])[None, :] - torch.arange(q.shape[1])[:, None]
    added, values = score_terms(parameters, prefix, config, q, distances) if memory is None else (0.0, None)
    output, weights = dot_product_attention(q, k, v, allowed, added, values, config.get("attention_weights") == "hard")
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


def block(parameters, prefix, config, x, allowed=None, position_ids=None, memory=None, memory_allowed=None):
    """A Transformer block; with a memory (the encoder's output) it has cross-attention after the self-attention."""

    def norm_of(name, tensor):
        weight, bias = (parameters.get(f"{prefix}{name}_norm.{part}") for part in ("weight", "bias"))
        return norm(config["norm"], tensor, weight, bias, config["norm_epsilon"])

    def attend(tensor):
        return attention(parameters, prefix + "attention.", config, tensor, None, allowed, position_ids)[0]

    def cross(tensor):
        return attention(parameters, prefix + "cross_attention.", config, tensor, memory, memory_allowed)[0]

    def feed(tensor):
        return feed_forward(parameters, prefix + "feed_forward.", config, tensor)

    wiring = config["wiring"]
    if wiring == "pre_norm":
        x = x + attend(norm_of("attention", x))
        if memory is not None:
            x = x + cross(norm_of("cross_attention", x))
        return x + feed(norm_of("feed_forward", x))
    attended = norm_of("attention", x + attend(x))
    if memory is not None:
        attended = norm_of("cross_attention", attended + cross(attended))
    if wiring == "post_norm":
        return norm_of("feed_forward", attended + feed(attended))
    if wiring == "block_input":
        return norm_of("feed_forward", x + feed(attended))
    if wiring == "b2t":  # Takase et al. 2022
        return norm_of("feed_forward", attended + feed(attended) + x)
    raise ValueError(wiring)


def norm_at(parameters, path, config, x):
    weight, bias = (parameters.get(f"{path}.{part}") for part in ("weight", "bias"))
    return norm(config["norm"], x, weight, bias, config["norm_epsilon"])


def positions_of(ids):
    return torch.arange(ids.shape[1])[None, :].expand(ids.shape)


def embed(parameters, prefix, config, ids, segment_ids=None):
    x = F.embedding(ids, parameters[prefix + "token.weight"])
    if config["scale_embeddings"]:
        x = x * math.sqrt(config["d_model"])
    if config["positions"] == "learned":
        x = x + F.embedding(positions_of(ids), parameters[prefix + "position.weight"])
    if config["positions"] == "sinusoidal":
        x = x + sinusoidal_table(ids.shape[1], config["d_model"]).to(x.dtype)
    if config.get("segments"):
        x = x + F.embedding(segment_ids, parameters[prefix + "segment.weight"])
    return norm_at(parameters, prefix + "norm", config, x) if config.get("embedding_norm") else x


def stack(parameters, prefix, config, x, allowed, position_ids, memory=None, memory_allowed=None):
    rotary_ids = position_ids if config["positions"] == "rotary" else None
    for layer in range(config["layers"]):
        x = block(parameters, f"{prefix}blocks.{layer}.", config, x, allowed, rotary_ids, memory, memory_allowed)
    return norm_at(parameters, prefix + "final_norm", config, x) if config["final_norm"] else x


def project(parameters, embedding, config, x):
    weight = parameters[embedding + "token.weight" if config["tie_embeddings"] else "output.weight"]
    return F.linear(x, weight, parameters.get("output.bias"))


def causal_lm(parameters, config, ids, lengths=None):
    """Logits (b, s, v) of a decoder-only language model; config as weft's TransformerConfig, resolved."""
    s = ids.shape[1]
    allowed = causal_mask(s, s)
    if lengths is not None:
        allowed = allowed & length_mask(lengths, s)
    x = embed(parameters, "embedding.", config, ids)
    x = stack(parameters, "", config, x, allowed, positions_of(ids))
    return project(parameters, "embedding.", config, x)


def decoder_config(config):
    return {**config, "layers": config["decoder_layers"], "wiring": config["decoder_wiring"]}


def encoder_decoder(parameters, config, source, source_lengths, target):
    """Logits (b, t, v) of the original Transformer; padded targets only see what is before them."""
    shared = config["share_embeddings"]
    source_embedding = "embedding." if shared else "encoder.embedding."
    target_embedding = "embedding." if shared else "decoder.embedding."
    seen = length_mask(source_lengths, source.shape[1])
    x = embed(parameters, source_embedding, config, source)
    memory = stack(parameters, "encoder.", config, x, seen, positions_of(source))
    t = target.shape[1]
    y = embed(parameters, target_embedding, config, target)
    y = stack(parameters, "decoder.", decoder_config(config), y, causal_mask(t, t), positions_of(target), memory, seen)
    return project(parameters, target_embedding, config, y)


def bert(parameters, config, ids, lengths, segment_ids):
    """Logits of the masked tokens (b, s, v) and of the classes (b, c)."""
    x = embed(parameters, "embedding.", config, ids, segment_ids)
    x = stack(parameters, "", config, x, length_mask(lengths, ids.shape[1]), positions_of(ids))

    def linear(name, tensor):
        return F.linear(tensor, parameters[name + ".weight"], parameters[name + ".bias"])

    tokens = x
    if config["masked_transform"]:
        tokens = norm_at(parameters, "transform_norm", config, ACTIVATIONS[config["activation"]](linear("transform", x)))
    first = x[:, 0]
    if config["pooler"]:
        first = torch.tanh(linear("pooler", first))
    return project(parameters, "embedding.", config, tokens), linear("classifier", first)


def parameter_shapes(config):
    """Path -> shape of every parameter of the causal model."""
    shapes = embedding_shapes(config, "embedding.", config["vocab_size"])
    shapes.update(stack_shapes(config, ""))
    shapes.update(output_shapes(config))
    return shapes


def encoder_decoder_shapes(config):
    if config["share_embeddings"]:
        shapes = embedding_shapes(config, "embedding.", config["vocab_size"])
    else:
        shapes = embedding_shapes(config, "encoder.embedding.", config["source_vocab_size"])
        shapes.update(embedding_shapes(config, "decoder.embedding.", config["vocab_size"]))
    shapes.update(stack_shapes(config, "encoder."))
    shapes.update(stack_shapes(decoder_config(config), "decoder.", cross=True))
    shapes.update(output_shapes(config))
    return shapes


def bert_shapes(config):
    d = config["d_model"]
    shapes = parameter_shapes(config)
    if config["masked_transform"]:
        shapes.update(linear_shapes("transform.", d, d, True))
        shapes.update(norm_shapes(config, "transform_norm."))
    if config["pooler"]:
        shapes.update(linear_shapes("pooler.", d, d, True))
    shapes.update(linear_shapes("classifier.", d, config["classes"], True))
    return shapes


def embedding_shapes(config, prefix, v):
    shapes = {prefix + "token.weight": (v, config["d_model"])}
    if config["positions"] == "learned":
        shapes[prefix + "position.weight"] = (config["max_length"], config["d_model"])
    if config.get("segments"):
        shapes[prefix + "segment.weight"] = (config["segments"], config["d_model"])
    if config.get("embedding_norm"):
        shapes.update(norm_shapes(config, prefix + "norm."))
    return shapes


def stack_shapes(config, prefix, cross=False):
    shapes = {}
    for layer in range(config["layers"]):
        shapes.update(block_shapes(config, f"{prefix}blocks.{layer}.", cross))
    if config["final_norm"]:
        shapes.update(norm_shapes(config, prefix + "final_norm."))
    return shapes


def output_shapes(config):
    d, v = config["d_model"], config["vocab_size"]
    shapes = {}
    if not config["tie_embeddings"]:
        shapes["output.weight"] = (v, d)
    if config["output_bias"]:
        shapes["output.bias"] = (v,)
    return shapes


def block_shapes(config, prefix, cross=False):
    d, d_ff = config["d_model"], config["d_ff"]
    up = 2 * d_ff if config["gated"] else d_ff
    shapes = {}
    shapes.update(attention_shapes(config, prefix + "attention."))
    shapes.update(norm_shapes(config, prefix + "attention_norm."))
    if cross:
        shapes.update(attention_shapes(config, prefix + "cross_attention.", cross=True))
        shapes.update(norm_shapes(config, prefix + "cross_attention_norm."))
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
    if config["positions"] == "relative" and not cross:
        for name in ("keys", "values"):
            shapes[f"{prefix}relative.{name}"] = (2 * config["relative_distance"] + 1, config["head_dim"])
    if config["positions"] == "buckets" and not cross:
        shapes[prefix + "bucket_bias.weight"] = (config["bias_buckets"], config["heads"])
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
