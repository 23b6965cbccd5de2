#pragma once

#include <filesystem>
#include <memory>

#include "weft/text/tokenizer.h"

namespace weft::text {

// Tokenizers on disk, in the Hugging Face layout, so that other tools read them too: `tokenizer.json` has the
// vocabulary and the rules, `tokenizer_config.json` beside it (or `special_tokens_map.json`) names the bos, eos, pad
// and unk tokens. `path` is the folder of both, or the path of a tokenizer.json.
//
//   PipelineTokenizer   any published file
//   WordTokenizer       WordLevel model, WhitespaceSplit
//   CharacterTokenizer  WordLevel model, every character isolated, Fuse decoder
//   ByteTokenizer       BPE model without merges over the 256 byte-level characters
//
// The last three mark tokenizer_config.json as their own, because one difference stays: other tools look for the names
// of special tokens inside the text, these three do not.

// `path` may also be one of the older forms, or a folder of it: BERT's vocab.txt, GPT-2's vocab.json with merges.txt, a
// SentencePiece `.model` (tokenizer.model, spiece.model, sentencepiece.bpe.model), Marian's source.spm, target.spm and
// vocab.json. FormatError, with the place in the file, for anything that is not known; IoError.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

// A model that came from a SentencePiece or Marian file is written as those files. Every file is written atomically.
// weft::Error for a tokenizer that is none of these.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& path);

}  // namespace weft::text
