#!/usr/bin/env python3
"""MB/s of the Python packages `tokenizers` and `sentencepiece` on a text, line by line, to compare weft with.

Usage: RAYON_NUM_THREADS=1 bench/compare_tokenizers.py TEXT FILE…
  FILE…  tokenizer.json or SentencePiece .model files
`tokenizers` encodes batches of 10,000 lines, with special tokens; RAYON_NUM_THREADS says with how many threads.
"""

import os
import sys
import time


def lines_of(path):
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")


def encode_with_tokenizers(path, lines):
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return lambda: [encode(lines[i : i + 10000]) and None for i in range(0, len(lines), 10000)]


def encode_with_sentencepiece(path, lines):
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=path)
    threads = int(os.environ.get("RAYON_NUM_THREADS", "1"))
    return lambda: processor.encode(lines, out_type=int, num_threads=threads)


def main():
    text, *files = sys.argv[1:]
    lines = lines_of(text)
    megabytes = os.path.getsize(text) / 1e6
    for path in files:
        make = encode_with_sentencepiece if path.endswith(".model") else encode_with_tokenizers
        encode = make(path, lines)
        begin = time.perf_counter()
        encode()
        seconds = time.perf_counter() - begin
        print(f"{path}: {seconds:.2f} s, {megabytes / seconds:.1f} MB/s", flush=True)


main()
