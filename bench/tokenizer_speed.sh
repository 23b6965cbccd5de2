#!/usr/bin/env bash
# Seconds and MB/s of training and using tokenizers, with one thread and two, on texts made by repeating corpora.
# Usage: bench/tokenizer_speed.sh WEFT TOKENIZER FILE…
#   WEFT       the program
#   TOKENIZER  what to encode 100 MB with
#   FILE…      the corpora; training reads 20 MB of them
set -euo pipefail
weft=$(realpath "$1") tokenizer=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

repeat() {  # MEGABYTES
  while cat "${files[@]}"; do :; done 2> "$folder/closed-pipe" | head -c "$1"000000 || true
}

files=("$@")
repeat 20 > "$folder/train.txt"
repeat 100 > "$folder/encode.txt"
for threads in 1 2; do
  for kind in bpe wordpiece unigram; do
    printf '%s' "train $kind, 8,000 entries, 20 MB, threads $threads: "
    "$weft" tokenizer train --kind "$kind" --vocab-size 8000 --threads "$threads" --json --out "$folder/out" \
      "$folder/train.txt" 2> "$folder/log"
  done
  begin=$(date +%s%N)
  "$weft" tokenizer encode "$tokenizer" --threads "$threads" < "$folder/encode.txt" > "$folder/ids"
  end=$(date +%s%N)
  awk -v ns=$((end - begin)) -v threads="$threads" \
    'BEGIN { printf "encode 100 MB, threads %d: %.2f s, %.1f MB/s\n", threads, ns / 1e9, 1e11 / ns }'
done
