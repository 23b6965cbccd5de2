#pragma once

#include <filesystem>
#include <memory>

#include "weft/text/tokenizer.h"

namespace weft::text {

// Tokenizers on disk, in the Hugging Face layout, so that other tools read them too: `tokenizer.json` has the
// vocabulary and the rules, `tokenizer_config.json` beside it names the bos, eos, pad and unk tokens. `path` is the
// folder of both, or the path of a tokenizer.json.
//
//   PipelineTokenizer   any published file
//   WordTokenizer       WordLevel model, WhitespaceSplit
//   CharacterTokenizer  WordLevel model, every character isolated, Fuse decoder
//   ByteTokenizer       BPE model without merges over the 256 byte-level characters
//
// The last three mark tokenizer_config.json as their own, because one difference stays: other tools look for the names
// of special tokens inside the text, these three do not.

// FormatError, with the place in the file, for anything that is not known; IoError.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

// Both files are written atomically. weft::Error for a tokenizer that is none of these.
void save_tokenizer(const Tokenizer& tokenizer, const std::filesystem::path& path);

}  // namespace weft::text
