#!/usr/bin/env python3
"""Makes tests/goldens/: small safetensors files with what PyTorch computes, for weft's golden tests to compare with.

Needed only when a golden is added or changed: scripts/make_goldens.py (Debian: python3-torch, python3-numpy).
The same PyTorch on the same processor gives the same files byte for byte. With --check nothing is written; the exit
status is 1 if a file would change, is missing, or belongs to no case.
"""

import argparse
import pathlib
import sys

import torch

from goldens import functional, layers, operations, selfcheck, training

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER, help="folder to write (default: tests/goldens)")
    parser.add_argument("--check", action="store_true", help="compare with the folder, write nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # one order of summation
    selfcheck.check_reference()
    files = {}
    for module in (operations, functional, layers, training):
        for case in module.cases():
            path = arguments.out / f"{case.name}.safetensors"
            if path in files:
                sys.exit(f"make_goldens: two cases are named {case.name}")
            files[path] = case.serialise()
    present = set(arguments.out.rglob("*.safetensors"))
    stale = sorted(present - set(files))
    changed = sorted(path for path, data in files.items() if path not in present or path.read_bytes() != data)
    if arguments.check:
        for path in stale + changed:
            print(f"make_goldens: {path} {'belongs to no case' if path in stale else 'would change'}")
        sys.exit(1 if stale or changed else 0)
    for path in stale:
        path.unlink()
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[path])
    size = sum(len(data) for data in files.values())
    print(f"{len(files)} goldens, {size / 2**20:.2f} MiB, {len(changed)} written, {len(stale)} removed")


if __name__ == "__main__":
    main()
