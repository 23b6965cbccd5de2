"""The models of `weft bench train` in PyTorch, and the time of their training steps: one process of bench/compare_pytorch.py.

A step is forward, backward and AdamW, dropout 0, on one fixed batch; sequences of different lengths are padded to the
longest, and a mask keeps attention and loss from the padding. Attention is written as matrix products or as
scaled_dot_product_attention.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import time

GPT2 = dict(kind="causal", activation="gelu_tanh", wiring="pre_norm", positions="learned", tied=True,
            feed_forward_bias=True, output_bias=False, final_norm=True)
NOTES = dict(layers=6, heads=8, d=256, d_ff=1024, vocabulary=103, batch=320, activation="relu", wiring="block_input",
             positions="sinusoidal", tied=False, feed_forward_bias=False, output_bias=True, final_norm=False)
PRESETS = {
    "count": {**NOTES, "kind": "causal", "context": 16},
    "rank": {**NOTES, "kind": "encoder_decoder", "context": 7, "decoder_wiring": "post_norm", "source_vocabulary": 103,
             "vocabulary": 9},
    "bert": {**NOTES, "kind": "bert", "context": 16, "classes": 2},
    "char-gpt": {**GPT2, "layers": 6, "heads": 6, "d": 384, "d_ff": 1536, "vocabulary": 65, "context": 256, "batch": 32,
                 "activation": "gelu"},
    "gpt2-124m": {**GPT2, "layers": 12, "heads": 12, "d": 768, "d_ff": 3072, "vocabulary": 50257, "context": 512,
                  "batch": 4},
}
WARM_UP_STEPS = 3
PAD = 0
IGNORED = -100


def gflop_per_step(preset):
    """As `weft bench train --packing padded` counts: 6 for every number of a matrix and every row that it multiplies,
    12 · d for every pair of a query and a key, causal or not."""
    settings = PRESETS[preset]
    d, batch, context, layers = settings["d"], settings["batch"], settings["context"], settings["layers"]
    block = 4 * d * d + 2 * d * settings["d_ff"]
    rows = batch * context
    multiplied = (layers * block + d * settings["vocabulary"]) * rows
    pairs = layers * batch * context * context
    if settings["kind"] == "encoder_decoder":
        source = context - 1
        multiplied += layers * (block * batch * source + 2 * d * d * (rows + batch * source))
        pairs += layers * batch * (source * source + context * source)
    multiplied += d * settings.get("classes", 0) * batch
    return (6 * multiplied + 12 * d * pairs) / 1e9


def build_model(settings, attention_form):
    import torch
    import torch.nn.functional as F
    from torch import nn

    d, heads, context = settings["d"], settings["heads"], settings["context"]
    gains = {"relu": nn.ReLU, "gelu": nn.GELU, "gelu_tanh": lambda: nn.GELU(approximate="tanh")}

    def attend(q, k, v, causal, keep):
        """q, k, v: (b, s, d). keep: (b, keys), false where a key is padding."""
        b, queries, _ = q.shape
        q, k, v = (part.view(b, part.shape[1], heads, d // heads).transpose(1, 2) for part in (q, k, v))
        keep = None if keep is None else keep[:, None, None, :]
        if attention_form == "sdpa":
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep, is_causal=causal)
        else:
            scores = (q @ k.transpose(-2, -1)) / math.sqrt(d // heads)
            if causal:
                future = torch.ones(queries, k.shape[2], dtype=torch.bool).triu(1)
                scores = scores.masked_fill(future, -math.inf)
            if keep is not None:
                scores = scores.masked_fill(~keep, -math.inf)
            y = scores.softmax(-1) @ v
        return y.transpose(1, 2).reshape(b, queries, d)

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(d, 3 * d)
            self.output = nn.Linear(d, d)

        def forward(self, x, causal, keep):
            return self.output(attend(*self.qkv(x).split(d, dim=-1), causal, keep))

    class CrossAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.query = nn.Linear(d, d)
            self.key_value = nn.Linear(d, 2 * d)
            self.output = nn.Linear(d, d)

        def forward(self, x, memory, keep):
            return self.output(attend(self.query(x), *self.key_value(memory).split(d, dim=-1), False, keep))

    class Block(nn.Module):
        def __init__(self, wiring, causal, cross=False):
            super().__init__()
            bias = settings["feed_forward_bias"]
            self.wiring, self.causal = wiring, causal
            self.attention = SelfAttention()
            self.attention_norm = nn.LayerNorm(d)
            self.cross = CrossAttention() if cross else None
            self.cross_norm = nn.LayerNorm(d) if cross else None
            self.feed_forward = nn.Sequential(
                nn.Linear(d, settings["d_ff"], bias=bias), gains[settings["activation"]](),
                nn.Linear(settings["d_ff"], d, bias=bias))
            self.feed_forward_norm = nn.LayerNorm(d)

        def forward(self, x, keep=None, memory=None, memory_keep=None):
            if self.wiring == "pre_norm":
                x = x + self.attention(self.attention_norm(x), self.causal, keep)
                return x + self.feed_forward(self.feed_forward_norm(x))
            y = self.attention_norm(x + self.attention(x, self.causal, keep))
            if self.cross is not None:
                y = self.cross_norm(y + self.cross(y, memory, memory_keep))
            beside = x if self.wiring == "block_input" else y
            return self.feed_forward_norm(beside + self.feed_forward(y))

    class Embedding(nn.Module):
        def __init__(self, vocabulary):
            super().__init__()
            self.token = nn.Embedding(vocabulary, d)
            nn.init.normal_(self.token.weight, std=0.02)
            if settings["positions"] == "learned":
                self.position = nn.Parameter(0.02 * torch.randn(context, d))
            else:
                angles = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
                table = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
                self.register_buffer("position", table, persistent=False)

        def forward(self, ids):
            return self.token(ids) + self.position[: ids.shape[1]]

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            kind, layers = settings["kind"], settings["layers"]
            self.embedding = Embedding(settings["vocabulary"])
            self.encoder_embedding = Embedding(settings["source_vocabulary"]) if kind == "encoder_decoder" else None
            self.encoder = nn.ModuleList(
                Block(settings["wiring"], False) for _ in range(layers if kind == "encoder_decoder" else 0))
            wiring = settings.get("decoder_wiring", settings["wiring"])
            self.blocks = nn.ModuleList(
                Block(wiring, kind != "bert", kind == "encoder_decoder") for _ in range(layers))
            self.final_norm = nn.LayerNorm(d) if settings["final_norm"] else nn.Identity()
            self.output = nn.Linear(d, settings["vocabulary"], bias=settings["output_bias"])
            if settings["tied"]:
                self.output.weight = self.embedding.token.weight
            self.classifier = nn.Linear(d, settings["classes"]) if kind == "bert" else None

        def loss(self, batch):
            memory = keep = memory_keep = None
            if self.encoder_embedding is not None:
                memory_keep = batch["source"] != PAD
                memory = self.encoder_embedding(batch["source"])
                for block in self.encoder:
                    memory = block(memory, memory_keep)
            elif self.classifier is not None:
                keep = batch["ids"] != PAD
            x = self.embedding(batch["ids"])
            for block in self.blocks:
                x = block(x, keep, memory, memory_keep)
            x = self.final_norm(x)
            loss = F.cross_entropy(self.output(x).flatten(0, 1), batch["targets"].flatten(), ignore_index=IGNORED)
            if self.classifier is not None:
                loss = loss + F.cross_entropy(self.classifier(x[:, 0]), batch["classes"])
            return loss

    torch.manual_seed(1)
    return Model()


def make_batch(settings):
    """Random tokens; where the task has sequences of different lengths, padded, of the lengths that it draws: 1 up to
    the longest number of numbers, each as likely."""
    import torch

    batch, context, kind = settings["batch"], settings["context"], settings["kind"]
    numbers = torch.randint(1, context, (batch, 1))
    numbers[0] = context - 1
    columns = torch.arange(context)
    ids = torch.randint(3, settings["vocabulary"], (batch, context))
    targets = torch.randint(3, settings["vocabulary"], (batch, context))
    if kind == "causal":
        return {"ids": ids, "targets": targets}
    padding = columns > numbers  # after CLS and the numbers, after BOS and the ranks
    result = {"ids": ids.masked_fill(padding, PAD), "targets": targets.masked_fill(padding, IGNORED)}
    if kind == "bert":
        result["classes"] = torch.randint(0, 2, (batch,))
        result["targets"][:, 0] = IGNORED
    else:
        source = torch.randint(3, settings["source_vocabulary"], (batch, context - 1))
        result["source"] = source.masked_fill(columns[:-1] >= numbers, PAD)
    return result


def make_optimizer(model):
    """Fused AdamW where this PyTorch has it for the CPU, else foreach; decay on matrices only, as weft does."""
    import torch

    groups = [
        {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    try:
        return torch.optim.AdamW(groups, lr=1e-4, fused=True), "fused"
    except (RuntimeError, TypeError):
        return torch.optim.AdamW(groups, lr=1e-4, foreach=True), "foreach"


def thread_pools():
    """Libraries with threads of their own that this process has loaded."""
    names = ("libgomp", "libiomp5", "libopenblas", "libmkl", "libtbb", "libblis")
    maps = pathlib.Path("/proc/self/maps").read_text()
    paths = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
    return sorted({pathlib.Path(path).name for path in paths if pathlib.Path(path).name.startswith(names)})


def measure(arguments):
    import torch

    torch.set_num_threads(arguments.threads)
    settings = PRESETS[arguments.preset]
    model = build_model(settings, arguments.attention)
    optimizer, optimizer_kind = make_optimizer(model)
    batch = make_batch(settings)

    def step():
        optimizer.zero_grad(set_to_none=True)
        mixed = torch.autocast("cpu", dtype=torch.bfloat16) if arguments.precision == "bf16" else contextlib.nullcontext()
        with mixed:
            loss = model.loss(batch)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(WARM_UP_STEPS):
        step()
    milliseconds = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        step()
        milliseconds.append(1e3 * (time.perf_counter() - start))
    return {
        "milliseconds": milliseconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "optimizer": optimizer_kind,
        "process_threads": len(os.listdir("/proc/self/task")),
        "thread_pools": thread_pools(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", choices=list(PRESETS), required=True)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--attention", choices=["matmul", "sdpa"], default="matmul")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10)
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
