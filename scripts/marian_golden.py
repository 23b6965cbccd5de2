#!/usr/bin/env python3
"""Makes tests/fixtures/tokenizers/marian: two small SentencePiece models, the vocabulary they share, and what the
sentencepiece library makes of texts with them. Needs the sentencepiece module (0.2); run from the root of the tree.

The mapping to ids is Marian's, as published with its models: a language code `>>xx<<` at the start of a text is one
token, the source's model cuts the rest into pieces, `vocab.json` has the ids (unknown pieces: `<unk>`), `</s>` ends a
text. Back, the target's model joins the pieces between special tokens, each of which is followed by a blank.
"""
import io
import json
import pathlib
import re

import sentencepiece

FOLDER = pathlib.Path("tests/fixtures/tokenizers/marian")
LINES = pathlib.Path("data/tinyshakespeare.txt").read_text(encoding="utf-8").splitlines()
RULES = FOLDER / "rules.tsv"
SPECIAL = ["</s>", "<unk>", "<pad>", ">>de<<"]
TEXTS = [
    "", " ", "First Citizen:", "  two  blanks ", ">>de<< Before we proceed", ">>de<<Before", ">>fr<< not a code here",
    "not >>de<< at the start", ">>de<< and >>de<<", "<pad> in a text </s>", "caf\u00e9 \ufb01ne \u00bd", "\u4e2d\u6587",
    "\U0001f468\u200d\U0001f469", "tab\tand\nline", "\u2581 marks \u2581it", "a" * 200, "e\u0301\u0301", "\u00a0odd\u3000spaces",
    "<unk>", "?!.,;", ">>", ">><<", "123 456",
] + LINES[100:110]


def train(lines, name, size, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, bos_id=-1, pad_id=-1, eos_id=0, unk_id=1,
        minloglevel=2, num_threads=1, **options)
    (FOLDER / name).write_bytes(model.getvalue())
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def encode(text, source, vocabulary):
    code = re.match(">>.+<<", text)
    tokens = ([code.group(0)] if code else []) + source.encode(text[code.end():] if code else text, out_type=str)
    return tokens, [vocabulary.get(token, vocabulary["<unk>"]) for token in tokens]


def decode(ids, target, names, skip):
    text, pieces = "", []
    for number in ids:
        if names[number] not in SPECIAL[:3]:
            pieces.append(names[number])
        elif not skip or names[number] == "<unk>":
            text += target.decode_pieces(pieces) + names[number] + " "
            pieces = []
    return (text + target.decode_pieces(pieces)).replace("\u2581", " ").strip()


def main():
    FOLDER.mkdir(exist_ok=True)
    RULES.write_text("FB01\t66 69\nBD\t31 2F 32\nA0\t20\n3000\t20\n9\t20\nA\t20\n", encoding="utf-8")
    source = train(LINES[:6000], "source.spm", 300, normalization_rule_tsv=str(RULES))
    target = train([line.swapcase() for line in LINES[:6000]], "target.spm", 250, normalization_rule_name="identity")
    RULES.unlink()
    pieces = [model.id_to_piece(i) for model in (source, target) for i in range(model.get_piece_size())]
    names = list(dict.fromkeys(SPECIAL + sorted(pieces)))
    vocabulary = {name: number for number, name in enumerate(names)}
    (FOLDER / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False) + "\n", encoding="utf-8")
    with open(FOLDER / "marian.jsonl", "w", encoding="utf-8") as rows:
        for text in TEXTS:
            tokens, ids = encode(text, source, vocabulary)
            row = {"text": text, "tokens": tokens, "ids": ids, "ids_special": ids + [vocabulary["</s>"]],
                   "decoded": decode(ids + [0], target, names, True),
                   "decoded_special": decode(ids + [0], target, names, False)}
            rows.write(json.dumps(row, ensure_ascii=False) + "\n")


main()
