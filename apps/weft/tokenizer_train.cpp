#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "apps/weft/options.h"
#include "apps/weft/tokenizer.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/training/tokenizer_trainer.h"

namespace weft::app {

namespace {

struct TrainOptions {
  CommonOptions common;
  text::TokenizerTrainerConfig training;
  std::string kind;
  std::string out;
  std::vector<std::string> files;
};

void run_train(TrainOptions& options) {
  apply_threads(options.common);
  options.training.kind = text::parse_tokenizer_kind(options.kind);
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  text::TokenizerTrainer trainer(options.training);
  for (const std::string& file : options.files) trainer.add_file(file);
  const uint64_t bytes = trainer.counter().bytes_read();
  fmt::print(stderr, "read {:.1f} MB in {:.2f} s\n", static_cast<double>(bytes) / 1e6, seconds());
  const std::unique_ptr<text::PipelineTokenizer> tokenizer = trainer.finish();
  if (const uint64_t forgotten = trainer.counter().forgotten_up_to(); forgotten > 0) {
    fmt::print(stderr, "note: too many different words to keep; some seen {} times or less were left out\n", forgotten);
  }
  make_folders(options.out);
  text::save_tokenizer(*tokenizer, options.out);
  if (options.common.json) {
    const Json line = {{"vocab_size", tokenizer->vocab_size()}, {"bytes", bytes}, {"seconds", seconds()}};
    fmt::print("{}\n", format_json(line, JsonStyle::compact));
  } else {
    fmt::print("{}: {} tokens in {:.2f} s\n", (std::filesystem::path(options.out) / "tokenizer.json").string(),
               tokenizer->vocab_size(), seconds());
  }
}

}  // namespace

void add_tokenizer_train(CLI::App& tokenizer) {
  auto options = std::make_shared<TrainOptions>();
  text::TokenizerTrainerConfig& training = options->training;
  CLI::App* command = tokenizer.add_subcommand("train", "Train a vocabulary on text files and write tokenizer.json");
  command->add_option("files", options->files, "Text files (UTF-8)")->required();
  command->add_option("--kind", options->kind, "bpe, bpe-character, unigram, wordpiece, word or character")->required();
  command->add_option("--out", options->out, "Folder to write tokenizer.json and tokenizer_config.json to")->required();
  command->add_option("--vocab-size", training.vocab_size, "Tokens altogether, special ones too")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--min-frequency", training.min_frequency, "What is seen less often does not become a token");
  command->add_option("--special-token", training.special_tokens, "Another special token; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--bos", training.roles.bos, "Special token that begins a text");
  command->add_option("--eos", training.roles.eos, "Special token that ends a text");
  command->add_option("--pad", training.roles.pad, "Special token that fills a batch");
  command->add_option("--unk", training.roles.unk, "Special token for what is unknown; <unk> by default");
  command->add_option("--limit-alphabet", training.limit_alphabet, "Characters at most; the rarest are left out");
  command->add_option("--max-token-length", training.max_token_length, "Characters that a token has at most");
  command->add_flag("--cased", training.cased, "Keep upper case and accents (wordpiece)");
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_train(*options); });
}

}  // namespace weft::app
