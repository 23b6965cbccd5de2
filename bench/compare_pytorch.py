#!/usr/bin/env python3
"""Times whole training steps of the same models in PyTorch and in weft, side by side.

    python3 bench/compare_pytorch.py --weft build/release/weft

Run it with the Python whose PyTorch is to be measured: the one from PyPI has MKL and is the honest peer. A step is
forward, backward and AdamW, dropout 0, in f32 or under bf16 autocast; the models are the presets of `weft bench train`.
Processes alternate (weft, PyTorch, weft, …), each with a warm-up. The table gives medians over all steps, the share of
the matmul peak that weft measured in the same run, and the peak resident memory of the process. PyTorch's attention is
written as matrix products or as scaled_dot_product_attention, whichever turns out faster for the preset.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

PRESETS = {
    "count": dict(layers=6, heads=8, d=256, d_ff=1024, vocabulary=103, context=16, batch=320, activation="relu",
                  wiring="block_input", positions="sinusoidal", tied=False, feed_forward_bias=False, output_bias=True,
                  final_norm=False),
    "char-gpt": dict(layers=6, heads=6, d=384, d_ff=1536, vocabulary=65, context=256, batch=32, activation="gelu"),
    "gpt2-124m": dict(layers=12, heads=12, d=768, d_ff=3072, vocabulary=50257, context=512, batch=4),
}
GPT2 = dict(activation="gelu_tanh", wiring="pre_norm", positions="learned", tied=True, feed_forward_bias=True,
            output_bias=False, final_norm=True)
WARM_UP_STEPS = 3
# glibc's malloc gives large blocks back to the system at every free, and PyTorch pays for fresh pages at every step.
KEEP_FREED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


def settings_of(preset):
    return {**GPT2, **PRESETS[preset]}


def gflop_per_step(settings):
    """As `weft bench train` counts: 6 × numbers of the multiplied matrices × tokens, and attention in full."""
    d, tokens = settings["d"], settings["batch"] * settings["context"]
    multiplied = settings["layers"] * (4 * d * d + 2 * d * settings["d_ff"]) + d * settings["vocabulary"]
    attention = 12 * settings["layers"] * d * settings["context"]
    return (6 * multiplied + attention) * tokens / 1e9


# The PyTorch side: runs in a process of its own, so that its threads and its memory are only its own.


def build_model(settings, attention_form):
    import math

    import torch
    import torch.nn.functional as F
    from torch import nn

    d, heads, context = settings["d"], settings["heads"], settings["context"]

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(d, 3 * d)
            self.output = nn.Linear(d, d)
            self.register_buffer("future", torch.ones(context, context, dtype=torch.bool).triu(1), persistent=False)

        def forward(self, x):
            b, s, _ = x.shape
            q, k, v = (part.view(b, s, heads, d // heads).transpose(1, 2) for part in self.qkv(x).split(d, dim=-1))
            if attention_form == "sdpa":
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                scores = (q @ k.transpose(-2, -1)) / math.sqrt(d // heads)
                y = scores.masked_fill(self.future, -math.inf).softmax(-1) @ v
            return self.output(y.transpose(1, 2).reshape(b, s, d))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            activation = {"relu": nn.ReLU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU(approximate="tanh")}[
                settings["activation"]]
            bias = settings["feed_forward_bias"]
            self.attention = Attention()
            self.attention_norm = nn.LayerNorm(d)
            self.feed_forward = nn.Sequential(
                nn.Linear(d, settings["d_ff"], bias=bias), activation, nn.Linear(settings["d_ff"], d, bias=bias))
            self.feed_forward_norm = nn.LayerNorm(d)

        def forward(self, x):
            if settings["wiring"] == "pre_norm":
                x = x + self.attention(self.attention_norm(x))
                return x + self.feed_forward(self.feed_forward_norm(x))
            attended = self.attention_norm(x + self.attention(x))
            return self.feed_forward_norm(x + self.feed_forward(attended))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Embedding(settings["vocabulary"], d)
            nn.init.normal_(self.token.weight, std=0.02)
            if settings["positions"] == "learned":
                self.position = nn.Parameter(0.02 * torch.randn(context, d))
            else:
                angles = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(0, d, 2) / d)
                table = torch.stack((angles.sin(), angles.cos()), -1).flatten(1)
                self.register_buffer("position", table, persistent=False)
            self.blocks = nn.Sequential(*(Block() for _ in range(settings["layers"])))
            self.final_norm = nn.LayerNorm(d) if settings["final_norm"] else nn.Identity()
            self.output = nn.Linear(d, settings["vocabulary"], bias=settings["output_bias"])
            if settings["tied"]:
                self.output.weight = self.token.weight

        def forward(self, ids):
            x = self.token(ids) + self.position[: ids.shape[1]]
            return self.output(self.final_norm(self.blocks(x)))

    torch.manual_seed(1)
    return Model()


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


def run_worker(arguments):
    import contextlib

    import torch
    import torch.nn.functional as F

    torch.set_num_threads(arguments.threads)
    settings = settings_of(arguments.preset)
    model = build_model(settings, arguments.attention)
    optimizer, optimizer_kind = make_optimizer(model)
    shape = (settings["batch"], settings["context"])
    ids, targets = (torch.randint(0, settings["vocabulary"], shape) for _ in range(2))
    if arguments.precision == "bf16":
        autocast = lambda: torch.autocast("cpu", dtype=torch.bfloat16)
    else:
        autocast = contextlib.nullcontext

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            logits = model(ids)
            loss = F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
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
    print(json.dumps({
        "milliseconds": milliseconds,
        "parameters": sum(p.numel() for p in model.parameters()),
        "optimizer": optimizer_kind,
        "process_threads": len(os.listdir("/proc/self/task")),
        "thread_pools": thread_pools(),
    }))


def describe_torch():
    """What decides PyTorch's speed here. Its product library must share the threads of its other operations.

    Asked of a process of its own: a process inherits the peak memory of its parent, so this one stays small.
    """
    import torch

    description = {
        "version": torch.__version__,
        "mkl": torch.backends.mkl.is_available(),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability() if hasattr(torch.backends, "cpu") else "unknown",
        "sdpa": hasattr(torch.nn.functional, "scaled_dot_product_attention"),
    }
    print(json.dumps(description))


# The comparison.


def run_process(command, threads, extra_environment=None):
    """Standard output of a command, as JSON, and its peak resident memory in MiB."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
                   **(extra_environment or {})}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"compare_pytorch: {' '.join(map(str, command))} ended with {process.returncode}")
    return json.loads(output), usage.ru_maxrss / 1024


def run_pytorch(arguments, preset, precision, attention, steps):
    command = [sys.executable, __file__, "--worker", "--preset", preset, "--precision", precision, "--attention",
               attention, "--threads", str(arguments.threads), "--steps", str(steps)]
    return run_process(command, arguments.threads, KEEP_FREED_MEMORY if arguments.keep_freed_memory else None)


def run_weft(arguments, preset, precision, steps):
    command = [arguments.weft, "bench", "train", "--preset", preset, "--precision", precision, "--threads",
               str(arguments.threads), "--steps", str(steps), "--json"]
    return run_process(command, arguments.threads)


def figures(settings, medians, minimum, gflop, peak_memory):
    seconds = statistics.median(medians) / 1e3
    return {
        "ms_per_step": {"min": minimum, "median": 1e3 * seconds},
        "tokens_per_second": settings["batch"] * settings["context"] / seconds,
        "gflops": gflop / seconds,
        "peak_memory_mib": peak_memory,
    }


def compare(arguments, preset, precision):
    settings = settings_of(preset)
    steps = arguments.steps
    forms = ["matmul", "sdpa"] if arguments.torch["sdpa"] else ["matmul"]
    runs = {"weft": [], **{form: [] for form in forms}}
    for round_index in range(arguments.rounds):
        if arguments.weft:
            runs["weft"].append(run_weft(arguments, preset, precision, steps))
        for form in list(forms):
            runs[form].append(run_pytorch(arguments, preset, precision, form, steps))
        if round_index == 0:  # the slower form has shown itself
            forms = [min(forms, key=lambda form: statistics.median(runs[form][0][0]["milliseconds"]))]
    chosen = forms[0]
    times = [ms for run, _ in runs[chosen] for ms in run["milliseconds"]]
    first = runs[chosen][0][0]
    gflop = gflop_per_step(settings)
    result = {
        "preset": preset,
        "precision": precision,
        "gflop_per_step": gflop,
        "pytorch": figures(settings, times, min(times), gflop, max(memory for _, memory in runs[chosen])),
    }
    result["pytorch"].update(attention=chosen, **{key: first[key] for key in (
        "optimizer", "parameters", "process_threads", "thread_pools")})
    for form in runs:
        if form not in ("weft", chosen):
            result["pytorch"][f"ms_with_{form}"] = statistics.median(runs[form][0][0]["milliseconds"])
    if arguments.weft:
        reports = [run for run, _ in runs["weft"]]
        for report in reports:
            if abs(report["gflop_per_step"] / gflop - 1) > 1e-6:
                sys.exit(f"compare_pytorch: weft counts {report['gflop_per_step']} GFLOP a step, {gflop} expected: "
                         f"the preset {preset} is another model there")
        medians = [report["ms_per_step"]["median"] for report in reports]
        minimum = min(report["ms_per_step"]["min"] for report in reports)
        result["weft"] = figures(settings, medians, minimum, gflop, max(memory for _, memory in runs["weft"]))
        result["weft"]["reports"] = reports
        peak = max(report["peak_gflops"] for report in reports)
        for side in ("pytorch", "weft"):
            result[side]["share_of_peak"] = result[side]["gflops"] / peak
        result["peak_gflops"] = peak
        result["speedup"] = result["pytorch"]["ms_per_step"]["median"] / result["weft"]["ms_per_step"]["median"]
        result["memory_share"] = result["weft"]["peak_memory_mib"] / result["pytorch"]["peak_memory_mib"]
    return result


def print_row(result, file):
    for side in ("pytorch", "weft"):
        if side not in result:
            continue
        row = result[side]
        notes = f"attention {row['attention']}, AdamW {row['optimizer']}" if side == "pytorch" else ""
        if side == "weft":
            notes = f"{result['speedup']:.2f} x PyTorch's speed, {result['memory_share']:.2f} of its memory"
        share = f"{100 * row['share_of_peak']:.1f} %" if "share_of_peak" in row else "-"
        print(f"{result['preset']:<10} {result['precision']:<5} {side:<8} {row['ms_per_step']['median']:10.1f} "
              f"{row['ms_per_step']['min']:10.1f} {row['tokens_per_second']:12.0f} {row['gflops']:9.0f} "
              f"{share:>7} {row['peak_memory_mib']:9.0f}  {notes}", file=file, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default="build/release/weft", help="the program; '' measures PyTorch alone")
    parser.add_argument("--preset", action="append", choices=list(PRESETS), help="may be repeated (default: all)")
    parser.add_argument("--precision", action="append", choices=["f32", "bf16"], help="may be repeated (default: both)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=10, help="timed steps per process")
    parser.add_argument("--rounds", type=int, default=3, help="processes per program, alternating")
    parser.add_argument("--keep-freed-memory", action="store_true",
                        help="PyTorch with malloc settings that keep freed memory: faster, with a higher peak")
    parser.add_argument("--any-blas", action="store_true", help="measure a PyTorch without MKL all the same")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, the table on stderr")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--describe", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--attention", choices=["matmul", "sdpa"], default="matmul", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.describe:
        describe_torch()
        return
    if arguments.worker:
        arguments.preset, arguments.precision = arguments.preset[0], arguments.precision[0]
        run_worker(arguments)
        return
    if arguments.weft and not pathlib.Path(arguments.weft).is_file():
        sys.exit(f"compare_pytorch: no program {arguments.weft}: build it (scripts/quickstart.sh), or --weft ''")
    arguments.torch, _ = run_process([sys.executable, __file__, "--describe"], arguments.threads)
    if not arguments.torch["mkl"] and not arguments.any_blas:
        sys.exit("compare_pytorch: this PyTorch has no MKL. Its products would run in a BLAS with a thread pool of its "
                 "own, which halves its speed: no honest peer. Use the wheel from PyPI, or say --any-blas.")
    table = sys.stderr if arguments.json else sys.stdout
    print("PyTorch " + ", ".join(f"{key} {value}" for key, value in arguments.torch.items()), file=table)
    print(f"{'preset':<10} {'prec.':<5} {'program':<8} {'ms median':>10} {'ms min':>10} {'tokens/s':>12} "
          f"{'GFLOP/s':>9} "
          f"{'of peak':>7} {'peak MiB':>9}", file=table, flush=True)
    results = []
    for preset in arguments.preset or PRESETS:
        for precision in arguments.precision or ("f32", "bf16"):
            results.append(compare(arguments, preset, precision))
            print_row(results[-1], table)
    if arguments.json:
        print(json.dumps({"torch": arguments.torch, "threads": arguments.threads, "steps": arguments.steps,
                          "keep_freed_memory": arguments.keep_freed_memory, "rounds": arguments.rounds,
                          "results": results}, indent=2))


if __name__ == "__main__":
    main()
