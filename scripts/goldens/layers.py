"""Goldens of layers (weft/nn) and of the models (weft/models)."""

import numpy
import torch
import torch.nn.functional as F

from goldens import reference
from goldens.case import Case

# Every key that shapes the reference; a case states what it changes. The names are those of weft's TransformerConfig.
DEFAULTS = {
    "vocab_size": 0,
    "max_length": 16,
    "d_model": 32,
    "layers": 2,
    "heads": 4,
    "kv_heads": 4,
    "head_dim": 8,
    "d_ff": 48,
    "wiring": "pre_norm",
    "norm": "layer_norm",
    "norm_epsilon": 1e-5,
    "final_norm": True,
    "activation": "gelu",
    "gated": False,
    "attention_bias": True,
    "feed_forward_bias": True,
    "norm_bias": True,
    "output_bias": False,
    "positions": "learned",
    "rotary_layout": "half_split",
    "rotary_dim": 8,
    "rotary_base": 10000.0,
    "tie_embeddings": True,
    "scale_embeddings": False,
}

GPT2 = {"vocab_size": 37, "d_ff": 64, "activation": "gelu_tanh"}
LLAMA = {
    "vocab_size": 41,
    "kv_heads": 2,
    "norm": "rms_norm",
    "norm_epsilon": 1e-6,
    "activation": "silu",
    "gated": True,
    "attention_bias": False,
    "feed_forward_bias": False,
    "norm_bias": False,
    "positions": "rotary",
    "tie_embeddings": False,
}
NOTES = {
    "vocab_size": 43,
    "d_ff": 64,
    "wiring": "block_input",
    "final_norm": False,
    "activation": "relu",
    "feed_forward_bias": False,
    "output_bias": True,
    "positions": "sinusoidal",
    "tie_embeddings": False,
}


# Small enough for distances beyond the largest to occur.
BY_DISTANCE = {"relative_distance": 3, "bias_buckets": 8, "bias_max_distance": 12}


def cases():
    yield from position_cases()
    yield from attention_cases()
    yield from feed_forward_cases()
    yield from block_cases()
    yield from model_cases()


def add_parameters(case, shapes):
    for path, shape in shapes.items():
        if path.endswith("norm.weight"):
            case.parameter(path, shape, offset=1.0)
        elif "embedding." in path:
            case.parameter(path, shape, scale=0.3)
        else:
            case.parameter(path, shape)


def position_cases():
    case = Case("positions/sinusoidal", length=70, d_model=24)
    case.result("table", reference.sinusoidal_table(70, 24))
    yield case


def attention_cases():
    yield attention_case("multi_head", b=2, q=6)
    yield attention_case("no_bias", b=2, q=6, attention_bias=False)
    yield attention_case("single_head", b=2, q=5, heads=1, kv_heads=1, head_dim=16)
    yield attention_case("wide_heads", b=1, q=5, heads=3, kv_heads=3, head_dim=16)
    yield attention_case("grouped_causal", b=2, q=7, kv_heads=2, causal=True)
    yield attention_case("multi_query_causal", b=2, q=7, kv_heads=1, causal=True)
    yield attention_case("causal_lengths", b=3, q=7, causal=True, lengths=(7, 2, 5))
    yield attention_case("rotary_half_split", b=2, q=6, kv_heads=2, causal=True, positions="rotary")
    yield attention_case("rotary_interleaved", b=2, q=6, causal=True, positions="rotary", rotary_layout="interleaved",
                         rotary_dim=4)
    for positions in ("relative", "alibi", "buckets"):
        yield attention_case(positions, b=2, q=9, **BY_DISTANCE, positions=positions, allowed_shape=(2, 1, 9, 9))
        yield attention_case(f"{positions}_causal_grouped", b=3, q=9, **BY_DISTANCE, positions=positions, kv_heads=2,
                             causal=True, lengths=(9, 1, 6))
    yield attention_case("alibi_six_heads", b=1, q=5, positions="alibi", heads=6, kv_heads=6)
    yield attention_case("buckets_both_ways", b=2, q=16, **BY_DISTANCE, positions="buckets", architecture="bert")
    yield attention_case("hard", b=2, q=6, attention_weights="hard", allowed_shape=(2, 4, 6, 6))
    yield attention_case("hard_relative_causal", b=2, q=6, **BY_DISTANCE, attention_weights="hard",
                         positions="relative", causal=True)
    yield attention_case("hard_cross", b=2, q=4, k=9, attention_weights="hard")
    yield attention_case("linear", b=2, q=6, attention_weights="linear")
    yield attention_case("linear_causal_grouped", b=3, q=9, attention_weights="linear", kv_heads=2, causal=True,
                         lengths=(9, 1, 6))
    yield attention_case("linear_causal_chunks", b=1, q=70, attention_weights="linear", heads=2, kv_heads=1,
                         head_dim=12, causal=True)
    yield attention_case("linear_allowed", b=2, q=6, attention_weights="linear", allowed_shape=(2, 1, 6, 6))
    yield attention_case("linear_cross_lengths", b=3, q=4, k=9, attention_weights="linear", k_lengths=(9, 1, 6))
    yield attention_case("cross", b=2, q=4, k=9)
    yield attention_case("cross_lengths", b=3, q=4, k=9, kv_heads=2, k_lengths=(9, 1, 6))
    yield attention_case("allowed", b=2, q=6, allowed_shape=(2, 1, 6, 6))


def attention_case(name, *, b, q, k=None, causal=False, lengths=None, k_lengths=None, allowed_shape=None, **changes):
    config = {**DEFAULTS, "positions": "none", **changes}
    case = Case(f"attention_layer/{name}", causal=causal, cross=k is not None, model=config)
    x = case.input("x", (b, q, config["d_model"]))
    memory = None if k is None else case.input("memory", (b, k, config["d_model"]))
    add_parameters(case, reference.attention_shapes(config, "", cross=k is not None))
    allowed = torch.ones(b, 1, q, k or q, dtype=torch.bool)
    counted = position_ids = None
    if causal:
        allowed = allowed & reference.causal_mask(q, q)
    if lengths is not None:
        lengths = case.constant("lengths", lengths)
        allowed = allowed & reference.length_mask(lengths, q)
        counted = (torch.arange(q)[None, :] < lengths[:, None]).double()
    if k_lengths is not None:
        allowed = allowed & reference.length_mask(case.constant("k_lengths", k_lengths), k)
    if allowed_shape is not None:
        bits = case.random.uniform(size=allowed_shape) < 0.6
        bits[..., 2, :] = False
        allowed = allowed & case.constant("allowed", bits, numpy.uint8).bool()
    if config["positions"] == "rotary":
        position_ids = case.constant("position_ids", numpy.stack([numpy.arange(q) + 5 * i for i in range(b)]))
    output, weights = reference.attention(case.parameters, "", config, x, memory, allowed, position_ids)
    case.result("weights", weights)
    case.differentiate({"y": output}, counted)
    return case


def feed_forward_cases():
    for activation in tuple(reference.ACTIVATIONS)[1:]:
        for gated in (False, True):
            name = f"feed_forward/{activation}{'_gated' if gated else ''}"
            config = {**DEFAULTS, "activation": activation, "gated": gated, "feed_forward_bias": activation != "silu"}
            case = Case(name, model=config)
            x = case.input("x", (2, 4, 32))
            up = (2 if gated else 1) * config["d_ff"]
            add_parameters(case, reference.linear_shapes("up.", 32, up, config["feed_forward_bias"]))
            add_parameters(case, reference.linear_shapes("down.", config["d_ff"], 32, config["feed_forward_bias"]))
            case.differentiate({"y": reference.feed_forward(case.parameters, "", config, x)})
            yield case


def block_cases():
    wirings = ("pre_norm", "post_norm", "block_input", "b2t")
    for wiring in wirings:
        yield block_case(wiring, wiring=wiring)
    for wiring in wirings:
        yield block_case(f"{wiring}_llama", **{**LLAMA, "wiring": wiring, "vocab_size": 0})
    for wiring in wirings:
        yield decoder_block_case(wiring, wiring=wiring)
    yield decoder_block_case("pre_norm_llama", **{**LLAMA, "wiring": "pre_norm", "vocab_size": 0, "positions": "none"})


def block_case(name, **changes):
    config = {**DEFAULTS, "positions": "none", **changes}
    b, s = 2, 7
    case = Case(f"block/{name}", causal=True, model=config)
    x = case.input("x", (b, s, config["d_model"]))
    add_parameters(case, reference.block_shapes(config, ""))
    position_ids = None
    if config["positions"] == "rotary":
        position_ids = case.constant("position_ids", numpy.stack([numpy.arange(s)] * b))
    y = reference.block(case.parameters, "", config, x, reference.causal_mask(s, s), position_ids)
    case.differentiate({"y": y})
    return case




def decoder_block_case(name, **changes):
    config = {**DEFAULTS, "positions": "none", **changes}
    b, q, k = 2, 5, 7
    case = Case(f"decoder_block/{name}", causal=True, model=config)
    x, memory = case.input("x", (b, q, config["d_model"])), case.input("memory", (b, k, config["d_model"]))
    k_lengths = case.constant("memory_lengths", (7, 3))
    add_parameters(case, reference.block_shapes(config, "", cross=True))
    y = reference.block(case.parameters, "", config, x, reference.causal_mask(q, q), None, memory,
                        reference.length_mask(k_lengths, k))
    case.differentiate({"y": y})
    return case


def model_cases():
    yield model_case("gpt2", (12, 12), **GPT2)
    yield model_case("llama", (12, 12), **LLAMA)
    yield model_case("notes", (12, 12), **NOTES)
    yield model_case("notes_padded", (12, 5, 8), **{**NOTES, "layers": 1, "activation": "gelu"})
    yield model_case("llama_padded", (3, 12), **{**LLAMA, "layers": 1})
    b2t = {"wiring": "b2t", "scale_embeddings": True, "final_norm": True, "tie_embeddings": True, "layers": 1,
           "activation": "gelu"}
    yield model_case("b2t_scaled", (10, 10), **{**NOTES, **b2t})
    yield encoder_decoder_case("notes", **{**NOTES, "activation": "gelu", "decoder_wiring": "post_norm"})
    yield encoder_decoder_case("shared", wiring="post_norm", decoder_wiring="post_norm", final_norm=False,
                               share_embeddings=True, source_vocab_size=29, scale_embeddings=True, layers=1)
    yield encoder_decoder_case("pre_norm", **{**LLAMA, "layers": 1, "decoder_wiring": "pre_norm"})
    yield bert_case("notes", **{**NOTES, "activation": "gelu"})
    yield bert_case("published", wiring="post_norm", final_norm=False, output_bias=True, segments=2,
                    embedding_norm=True, masked_transform=True, pooler=True)


def model_case(name, lengths, **changes):
    config = {**DEFAULTS, **changes}
    case = Case(f"causal_lm/{name}", model=config)
    b, s, v = len(lengths), max(lengths), config["vocab_size"]
    padded = min(lengths) < s
    ids = case.random.randint(1, v, (b, s))
    targets = case.random.randint(1, v, (b, s))
    for row, length in enumerate(lengths):
        ids[row, length:] = 0
        targets[row, length:] = -100
    ids, targets = case.constant("ids", ids), case.constant("targets", targets)
    add_parameters(case, reference.parameter_shapes(config))
    lengths = case.constant("lengths", lengths) if padded else None
    logits = reference.causal_lm(case.parameters, config, ids, lengths)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    case.constant("counted", (targets != -100).numpy(), numpy.uint8)
    case.result("logits", logits)
    case.result("loss", loss)
    case.backward(loss)
    return case


def token_ids(case, v, lengths, filling=0):
    ids = case.random.randint(1, v, (len(lengths), max(lengths)))
    for row, length in enumerate(lengths):
        ids[row, length:] = filling
    return ids


def encoder_decoder_case(name, **changes):
    config = {**DEFAULTS, "architecture": "encoder_decoder", "vocab_size": 29, "source_vocab_size": 31,
              "decoder_layers": 1, "share_embeddings": False, **changes}
    case = Case(f"encoder_decoder/{name}", model=config)
    source_lengths, target_lengths = (9, 4, 6), (5, 7, 2)
    source = case.constant("source", token_ids(case, config["source_vocab_size"], source_lengths))
    target = case.constant("target", token_ids(case, config["vocab_size"], target_lengths))
    targets = case.constant("targets", token_ids(case, config["vocab_size"], target_lengths, -100))
    source_lengths = case.constant("source_lengths", source_lengths)
    case.constant("target_lengths", target_lengths)
    add_parameters(case, reference.encoder_decoder_shapes(config))
    logits = reference.encoder_decoder(case.parameters, config, source, source_lengths, target)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), label_smoothing=0.1)
    case.constant("counted", (targets != -100).numpy(), numpy.uint8)
    case.result("logits", logits)
    case.result("loss", loss)
    case.backward(loss)
    return case


def bert_case(name, **changes):
    config = {**DEFAULTS, "architecture": "bert", "vocab_size": 31, "segments": 0, "embedding_norm": False,
              "masked_transform": False, "pooler": False, "classes": 3, **changes}
    case = Case(f"bert/{name}", model=config)
    b_lengths = (9, 4, 6)
    ids = case.constant("ids", token_ids(case, config["vocab_size"], b_lengths))
    targets = token_ids(case, config["vocab_size"], b_lengths, -100)
    targets[:, 0] = -100
    targets = case.constant("targets", targets)
    classes = case.constant("classes", (2, 0, 1))
    segments = case.constant("segments", numpy.tile(numpy.arange(9) // 3 % 2, (3, 1)))
    lengths = case.constant("lengths", b_lengths)
    add_parameters(case, reference.bert_shapes(config))
    token_logits, class_logits = reference.bert(case.parameters, config, ids, lengths, segments)
    loss = F.cross_entropy(token_logits.flatten(0, 1), targets.flatten()) + 2.0 * F.cross_entropy(class_logits, classes)
    case.constant("counted", (torch.arange(9)[None, :] < lengths[:, None]).numpy(), numpy.uint8)
    case.result("token_logits", token_logits)
    case.result("class_logits", class_logits)
    case.result("loss", loss)
    case.backward(loss)
    return case
