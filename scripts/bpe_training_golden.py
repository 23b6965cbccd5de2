"""The merges that Hugging Face's tokenizers library (0.23) learns from data/tinyshakespeare.txt: byte-level BPE behind
GPT-2's pattern, 8,000 entries, nothing else set. Needs `pip install tokenizers`; run from the root of the tree."""

import json

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.train(["data/tinyshakespeare.txt"], trainers.BpeTrainer(vocab_size=8000, show_progress=False))
merges = json.loads(tokenizer.to_str())["model"]["merges"]
with open("tests/text/training/shakespeare-merges.txt", "w") as file:
    file.writelines(" ".join(merge) + "\n" for merge in merges)
