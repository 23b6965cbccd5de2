#pragma once

#include <CLI/CLI.hpp>

namespace weft::app {

// Each subcommand registers itself: its flags, and what runs when it was chosen. Errors are thrown; main() prints them.
void add_train(CLI::App& program);
void add_eval(CLI::App& program);
void add_generate(CLI::App& program);
void add_translate(CLI::App& program);
void add_fill_mask(CLI::App& program);
void add_classify(CLI::App& program);
void add_attention(CLI::App& program);
void add_inspect(CLI::App& program);
void add_tokenizer(CLI::App& program);
void add_bench(CLI::App& program);

}  // namespace weft::app
