#!/usr/bin/env python3
"""Runs the commands of the documentation: every line of the ```sh blocks in README.md, CONTRIBUTING.md and docs/.

Calls of the program are run in their order, with runs/ moved to a temporary folder and training cut to a few steps. What
.ci/run does in stages of its own (scripts, cmake) is not run again; its scripts must exist, its presets too.
`--list` prints what would be run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
STEPS = 3
TIMEOUT_SECONDS = 300


def commands_of(path):
    """The commands of a page: continued lines joined, comments dropped."""
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+#.*$|^#.*$", "", line).strip()
            if command:
                yield command


def calls_program(command):
    return re.search(r"(^|[|;&]\s*)(build/release/)?weft\s", command) is not None


def shortened(command, runs):
    """The command with its runs in the folder `runs` and only a few steps of training."""
    command = re.sub(r"(?<![\w/])runs/", f"{runs}/", command)
    if re.search(r"\bweft train\b", command):
        steps = 2 * STEPS if "--resume" in command else STEPS
        if "train.steps=" in command:
            command = re.sub(r"train\.steps=\d+", f"train.steps={steps}", command)
        else:
            command += f" --set train.steps={steps}"
        command += " --set train.eval_batches=2"
    if re.search(r"\bweft bench\b", command):
        command = re.sub(r"\s--steps[ =]\d+", "", command) + " --steps 1"
    return command


def breach_of_stage(command):
    """Why a command that is not run here cannot work, or None."""
    words = command.split()
    if words[0] == "export":
        return None
    if words[0] in ("cmake", "ctest"):
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["configurePresets"]
        names = {preset["name"] for preset in presets}
        named = [words[i + 1] for i in range(len(words) - 1) if words[i] == "--preset"]
        unknown = [name for name in named if name not in names]
        return f"there is no preset {unknown[0]}" if unknown else None
    script = ROOT / words[0]
    if words[0].startswith(("scripts/", ".ci/")):
        return None if os.access(script, os.X_OK) else f"{words[0]} is not an executable file"
    return f"expected the program, a script or cmake, got {words[0]}: check_docs.py does not know how to check it"


def run(command):
    """Why the command failed, or None."""
    environment = dict(os.environ, PATH=f"{ROOT / 'build' / 'release'}:{os.environ['PATH']}")
    try:
        result = subprocess.run(
            ["bash", "-c", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"still running after {TIMEOUT_SECONDS} s"
    return None if result.returncode == 0 else f"exit status {result.returncode}: {result.stderr.strip()[-400:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print the commands instead of running them")
    arguments = parser.parse_args()
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    failures = 0
    count = 0
    for page in pages:
        # A page stands alone: what another has trained is not there.
        with tempfile.TemporaryDirectory() as folder:
            for command in commands_of(page):
                count += 1
                program = calls_program(command)
                actual = shortened(command, folder) if program else command
                if arguments.list:
                    print(f"{page.relative_to(ROOT)}: {actual if program else '(stage of .ci/run) ' + command}")
                    continue
                breach = run(actual) if program else breach_of_stage(command)
                if breach:
                    failures += 1
                    print(f"{page.relative_to(ROOT)}: {command}\n  {breach}")
    print(f"check_docs: {count} commands, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
