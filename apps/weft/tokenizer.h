#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "weft/base/json.h"

namespace weft::app {

// The parts of `weft tokenizer`, each registering itself under it.
void add_tokenizer_train(CLI::App& tokenizer);
void add_tokenizer_encode(CLI::App& tokenizer);
void add_tokenizer_decode(CLI::App& tokenizer);
void add_tokenizer_inspect(CLI::App& tokenizer);

// How lines of standard input are read.
enum class InputFormat { text, jsonl };

// The positional TOKENIZER that encode, decode and inspect begin with.
void add_tokenizer_path(CLI::App& command, std::string& path);
// `--input text|jsonl`.
void add_input_format(CLI::App& command, InputFormat& format, const std::string& description);

}  // namespace weft::app
