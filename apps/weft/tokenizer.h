#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "weft/text/encoding_tokenizer.h"

namespace weft::app {

// The parts of `weft tokenizer`, each registering itself under it.
void add_tokenizer_train(CLI::App& tokenizer);
void add_tokenizer_encode(CLI::App& tokenizer);
void add_tokenizer_decode(CLI::App& tokenizer);
void add_tokenizer_inspect(CLI::App& tokenizer);

// The tokenizer in any of its forms. Those of weft's own kinds, which find no special tokens in a text, stay so.
std::unique_ptr<text::EncodingTokenizer> load_encoding_tokenizer(const std::string& path);

// How lines of standard input are read.
enum class InputFormat { text, jsonl };

// The positional TOKENIZER that encode, decode and inspect begin with.
void add_tokenizer_path(CLI::App& command, std::string& path);
// `--input text|jsonl`.
void add_input_format(CLI::App& command, InputFormat& format, const std::string& description);

}  // namespace weft::app
