#include "weft/text/training/tokenizer_trainer.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/suggest.h"
#include "weft/text/byte_names.h"
#include "weft/text/training/bpe_trainer.h"
#include "weft/text/training/pipelines.h"
#include "weft/text/training/unigram_trainer.h"
#include "weft/text/training/word_level_trainer.h"

namespace weft::text {

namespace {

constexpr std::string_view default_unknown = "<unk>";

constexpr std::string_view kind_names[] = {"bpe", "bpe-character", "unigram", "wordpiece", "word", "character"};

void check(const TokenizerTrainerConfig& config) {
  const TokenizerKind kind = config.kind;
  const auto only = [&](bool set, std::string_view setting, std::initializer_list<TokenizerKind> kinds) {
    require(!set || std::ranges::find(kinds, kind) != kinds.end(),
            "tokenizer training: this kind of tokenizer has no {}; leave it out", setting);
  };
  using enum TokenizerKind;
  require(config.vocab_size >= 1, "tokenizer training: vocab_size must be at least 1, got {}", config.vocab_size);
  only(config.min_frequency > 0, "min_frequency", {bpe, bpe_character, wordpiece, word});
  only(config.limit_alphabet.has_value(), "limit_alphabet", {bpe_character, unigram, wordpiece, character});
  only(config.max_token_length.has_value(), "max_token_length", {bpe, bpe_character, unigram});
  only(config.cased, "cased", {wordpiece});
  only(config.roles.unk.has_value(), "unknown token of one's own", {bpe_character, unigram, word, character});
  const bool roles = config.roles.bos || config.roles.eos || config.roles.pad;
  only(roles, "bos, eos or pad of one's own", {bpe, bpe_character, unigram, word, character});
}

// Pad, unknown, bos, eos, then the others; each once.
std::vector<std::string> order_special_tokens(const TokenizerTrainerConfig& config) {
  std::vector<std::string> tokens;
  const auto add = [&](std::string_view name) {
    require(!name.empty(), "tokenizer training: a special token is empty");
    require(is_utf8(name), "tokenizer training: the special token \"{}\" is not UTF-8", repair_utf8(name));
    if (std::ranges::find(tokens, name) == tokens.end()) tokens.emplace_back(name);
  };
  if (config.kind == TokenizerKind::wordpiece) std::ranges::for_each(bert_special_tokens, add);
  for (const std::optional<std::string>& name :
       {config.roles.pad, config.roles.unk, config.roles.bos, config.roles.eos}) {
    if (name) add(*name);
  }
  std::ranges::for_each(config.special_tokens, add);
  return tokens;
}

Json added_token(const std::string& content, size_t id) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

Json vocabulary_of(const std::vector<std::string>& tokens) {
  Json vocabulary = Json::object();
  for (size_t id = 0; id < tokens.size(); ++id) vocabulary[tokens[id]] = id;
  return vocabulary;
}

}  // namespace

TokenizerKind parse_tokenizer_kind(std::string_view name) {
  const auto found = std::ranges::find(kind_names, name);
  if (found == std::end(kind_names)) {
    fail<UsageError>("there is no tokenizer of the kind \"{}\"{}", name, suggestion(name, kind_names));
  }
  return static_cast<TokenizerKind>(found - std::begin(kind_names));
}

TokenizerTrainer::TokenizerTrainer(const TokenizerTrainerConfig& config) : config_(config) {
  check(config_);
  const bool has_unknown = config_.kind != TokenizerKind::bpe && config_.kind != TokenizerKind::wordpiece;
  if (has_unknown && !config_.roles.unk) config_.roles.unk = default_unknown;
  special_tokens_ = order_special_tokens(config_);
  if (config_.kind == TokenizerKind::wordpiece) config_.roles = {.bos = {}, .eos = {}, .pad = "[PAD]", .unk = "[UNK]"};
  pipeline_ = pipeline_of(config_);
  const JsonView view(pipeline_, "tokenizer training");
  if (view.has("normalizer")) normalizer_ = make_normalizer(view.at("normalizer"));
  pre_tokenizer_ = make_pre_tokenizer(view.at("pre_tokenizer"));
  counter_ = std::make_unique<WordCounter>(
      [this](std::string_view line, FunctionRef<void(std::string_view)> emit) { split(line, emit); }, config_.counting);
}

void TokenizerTrainer::split(std::string_view line, FunctionRef<void(std::string_view)> emit) const {
  Pieces pieces;
  pieces.text = AlignedText(line, pre_tokenizer_->needs_tracking() ? Tracking::on : Tracking::off);
  if (normalizer_) pieces.text = normalizer_->normalize(std::move(pieces.text));
  pieces.list.push_back({0, pieces.text.text().size()});
  pre_tokenizer_->split(pieces);
  for (const Piece& piece : pieces.list) emit(pieces.view(piece));
}

std::unique_ptr<PipelineTokenizer> TokenizerTrainer::finish() {
  const std::vector<WordCount> words = counter_->finish();
  require(!words.empty(), "tokenizer training: there is no text to learn from");
  Json document = pipeline_;
  document["version"] = "1.0";
  document["truncation"] = nullptr;
  document["padding"] = nullptr;
  document["post_processor"] = post_processor_of(config_, special_tokens_);
  document["added_tokens"] = Json::array();
  for (size_t id = 0; id < special_tokens_.size(); ++id) {
    document["added_tokens"].push_back(added_token(special_tokens_[id], id));
  }
  document["model"] = train_model(words);
  return std::make_unique<PipelineTokenizer>(std::move(document), "trained tokenizer", config_.roles);
}

Json TokenizerTrainer::train_model(const std::vector<WordCount>& words) const {
  switch (config_.kind) {
    case TokenizerKind::bpe:
    case TokenizerKind::bpe_character:
    case TokenizerKind::wordpiece:
      return train_bpe_model(words);
    case TokenizerKind::unigram:
      return train_unigram_model(words);
    case TokenizerKind::word:
    case TokenizerKind::character:
      break;
  }
  std::vector<std::string> tokens;
  if (config_.kind == TokenizerKind::character) {
    tokens = special_tokens_;
    for (char32_t character : choose_alphabet(words, {.initial = {}, .limit = config_.limit_alphabet})) {
      std::string name = to_utf8(character);
      if (std::ranges::find(special_tokens_, name) == special_tokens_.end()) tokens.push_back(std::move(name));
    }
  } else {
    tokens = train_word_level(
        words,
        {.vocab_size = config_.vocab_size, .min_frequency = config_.min_frequency, .special_tokens = special_tokens_});
  }
  return {{"type", "WordLevel"}, {"vocab", vocabulary_of(tokens)}, {"unk_token", *config_.roles.unk}};
}

Json TokenizerTrainer::train_bpe_model(const std::vector<WordCount>& words) const {
  const bool word_piece = config_.kind == TokenizerKind::wordpiece;
  BpeTrainerConfig settings;
  settings.vocab_size = config_.vocab_size;
  settings.min_frequency = config_.min_frequency;
  settings.special_tokens = special_tokens_;
  settings.alphabet.limit = config_.limit_alphabet;
  settings.continuing_subword_prefix = word_piece ? "##" : "";
  settings.max_token_length = config_.max_token_length;
  if (config_.kind == TokenizerKind::bpe) {
    for (int byte = 0; byte < 256; ++byte) {
      settings.alphabet.initial.push_back(visible_byte(static_cast<uint8_t>(byte)));
    }
  }
  const TrainedBpe trained = train_bpe(words, settings);
  if (word_piece) {
    return {{"type", "WordPiece"},
            {"unk_token", "[UNK]"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", vocabulary_of(trained.tokens)}};
  }
  Json merges = Json::array();
  for (const auto& [left, right] : trained.merges) {
    merges.push_back({trained.tokens[static_cast<size_t>(left)], trained.tokens[static_cast<size_t>(right)]});
  }
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", config_.roles.unk ? Json(*config_.roles.unk) : Json(nullptr)},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary_of(trained.tokens)},
          {"merges", std::move(merges)}};
}

Json TokenizerTrainer::train_unigram_model(const std::vector<WordCount>& words) const {
  UnigramTrainerConfig settings;
  settings.vocab_size = config_.vocab_size;
  settings.special_tokens = special_tokens_;
  settings.alphabet.limit = config_.limit_alphabet;
  settings.max_piece_characters = config_.max_token_length.value_or(settings.max_piece_characters);
  Json vocabulary = Json::array();
  for (const UnigramPiece& piece : train_unigram(words, settings)) vocabulary.push_back({piece.text, piece.score});
  const auto unknown = std::ranges::find(special_tokens_, *config_.roles.unk) - special_tokens_.begin();
  return {{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", std::move(vocabulary)}, {"byte_fallback", false}};
}

}  // namespace weft::text
