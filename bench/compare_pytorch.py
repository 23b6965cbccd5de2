#!/usr/bin/env python3
"""Times whole training steps of the same models in PyTorch and in weft, side by side.

    python3 bench/compare_pytorch.py --weft build/release/weft

Run it with the Python whose PyTorch is to be measured: the one that pip installs has MKL and is the honest peer. A step is
forward, backward and AdamW, dropout 0, in f32 or under bf16 autocast; the models are the presets of `weft bench train`.
The sequences of the presets rank and bert differ in length: both sides pad them, and a further row shows weft with
packed sequences, as it trains.
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

from pytorch_step import PRESETS, gflop_per_step

# glibc's malloc gives large blocks back to the system at every free, and PyTorch pays for fresh pages at every step.
KEEP_FREED_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}


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
    command = [sys.executable, pathlib.Path(__file__).with_name("pytorch_step.py"), "--preset", preset, "--precision",
               precision, "--attention", attention, "--threads", str(arguments.threads), "--steps", str(steps)]
    return run_process(command, arguments.threads, KEEP_FREED_MEMORY if arguments.keep_freed_memory else None)


def run_weft(arguments, preset, precision, steps, packing=None):
    command = [arguments.weft, "bench", "train", "--preset", preset, "--precision", precision, "--threads",
               str(arguments.threads), "--steps", str(steps), "--json"]
    return run_process(command + (["--packing", packing] if packing else []), arguments.threads)


def figures(times, tokens, gflop, runs):
    """Of all processes of one program: `times` in milliseconds, `runs` with their peak memory."""
    milliseconds = statistics.median(times)
    return {
        "ms_per_step": {"min": min(times), "median": milliseconds},
        "tokens_per_second": 1e3 * tokens / milliseconds,
        "gflops": 1e3 * gflop / milliseconds,
        "peak_memory_mib": max(memory for _, memory in runs),
    }


def weft_figures(runs):
    reports = [run for run, _ in runs]
    result = figures([report["ms_per_step"]["median"] for report in reports], reports[0]["tokens"],
                     reports[0]["gflop_per_step"], runs)
    result["ms_per_step"]["min"] = min(report["ms_per_step"]["min"] for report in reports)
    return {**result, "rows": reports[0]["rows"], "reports": reports}


def check_same_model(preset, reports, pytorch_parameters):
    """A figure for another model or another count of operations would be no comparison."""
    gflop = gflop_per_step(preset)
    for report in reports:
        if abs(report["gflop_per_step"] / gflop - 1) > 1e-6 or report["parameters"] != pytorch_parameters:
            sys.exit(f"compare_pytorch: the preset {preset} is another model in weft: {report['gflop_per_step']} GFLOP "
                     f"a step and {report['parameters']} parameters, {gflop} and {pytorch_parameters} expected")


def run_rounds(arguments, preset, precision):
    """Processes of every program in turn: 'weft', 'packed' (weft, where packing matters), and the better of PyTorch's
    two forms of attention, of which the slower is run once."""
    padded = PRESETS[preset]["kind"] != "causal"
    forms = ["matmul", "sdpa"] if arguments.torch["sdpa"] else ["matmul"]
    runs = {form: [] for form in forms}
    for name in (["weft"] + (["packed"] if padded else [])) if arguments.weft else []:
        runs[name] = []
    for round_index in range(arguments.rounds):
        if "weft" in runs:
            runs["weft"].append(run_weft(arguments, preset, precision, arguments.steps, "padded" if padded else None))
        for form in forms:
            runs[form].append(run_pytorch(arguments, preset, precision, form, arguments.steps))
        if "packed" in runs:
            runs["packed"].append(run_weft(arguments, preset, precision, arguments.steps, "packed"))
        if round_index == 0:  # the slower form has shown itself
            forms = [min(forms, key=lambda form: statistics.median(runs[form][0][0]["milliseconds"]))]
    return runs, forms[0]


def compare(arguments, preset, precision):
    runs, form = run_rounds(arguments, preset, precision)
    first = runs[form][0][0]
    gflop = gflop_per_step(preset)
    settings = PRESETS[preset]
    tokens = runs["weft"][0][0]["tokens"] if "weft" in runs else settings["batch"] * settings["context"]
    times = [ms for run, _ in runs[form] for ms in run["milliseconds"]]
    result = {"preset": preset, "precision": precision, "gflop_per_step": gflop,
              "pytorch": figures(times, tokens, gflop, runs[form])}
    result["pytorch"].update(attention=form, **{key: first[key] for key in (
        "optimizer", "parameters", "process_threads", "thread_pools")})
    for other in {"matmul", "sdpa"} & runs.keys() - {form}:
        result["pytorch"][f"ms_with_{other}"] = statistics.median(runs[other][0][0]["milliseconds"])
    if "weft" not in runs:
        return result
    check_same_model(preset, [run for run, _ in runs["weft"]], first["parameters"])
    for name in ("weft", "packed"):
        if name in runs:
            result[name] = weft_figures(runs[name])
            result[name]["speedup"] = (result["pytorch"]["ms_per_step"]["median"]
                                       / result[name]["ms_per_step"]["median"])
            result[name]["memory_share"] = result[name]["peak_memory_mib"] / result["pytorch"]["peak_memory_mib"]
    peak = max(run["peak_gflops"] for name in ("weft", "packed") for run, _ in runs.get(name, []))
    for side in ("pytorch", "weft", "packed"):
        if side in result:
            result[side]["share_of_peak"] = result[side]["gflops"] / peak
    result["peak_gflops"] = peak
    return result


def print_row(result, file):
    for side in ("pytorch", "weft", "packed"):
        if side not in result:
            continue
        row = result[side]
        if side == "pytorch":
            notes = f"attention {row['attention']}, AdamW {row['optimizer']}"
        else:
            notes = (f"{row['speedup']:.2f} x PyTorch's speed, {row['memory_share']:.2f} of its memory, "
                     f"{row['rows']} rows")
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
    parser.add_argument("--describe", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if arguments.describe:
        describe_torch()
        return
    if arguments.weft and not pathlib.Path(arguments.weft).is_file():
        sys.exit(f"compare_pytorch: no program {arguments.weft}: build it (scripts/quickstart.sh), or --weft ''")
    arguments.torch, _ = run_process([sys.executable, __file__, "--describe"], arguments.threads)
    if not arguments.torch["mkl"] and not arguments.any_blas:
        sys.exit("compare_pytorch: this PyTorch has no MKL. Its products would run in a BLAS with a thread pool of its "
                 "own, which halves its speed: no honest peer. Use the wheel that pip installs, or say --any-blas.")
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
