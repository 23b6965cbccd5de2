#include "weft/text/models/unigram.h"

#include <algorithm>
#include <array>
#include <limits>

#include "weft/base/error.h"
#include "weft/base/shorten.h"
#include "weft/text/byte_names.h"

namespace weft::text {

namespace {

constexpr double unknown_penalty = 10.0;
constexpr uint32_t unreached = std::numeric_limits<uint32_t>::max();
constexpr size_t short_piece = 128;  // bytes up to which the lattice needs no allocation

size_t character_length(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

}  // namespace

Unigram::Unigram(const JsonView& description) : byte_fallback_(description.get_or<bool>("byte_fallback", false)) {
  description.allow_only({"type", "vocab", "unk_id", "byte_fallback"});
  const JsonView list = description.at("vocab");
  pieces_.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const Json& entry = list.value()[i];
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number()) {
      list.at(i).expected("a token and its score");
    }
    pieces_.push_back(entry[0].get<std::string>());
    scores_.push_back(entry[1].get<double>());
    vocabulary_.put(pieces_.back(), static_cast<int32_t>(i));
  }
  // Of tokens that stand twice, the last has the name.
  std::vector<DoubleArray::Entry> entries;
  for (size_t i = 0; i < pieces_.size(); ++i) entries.emplace_back(pieces_[i], static_cast<int32_t>(i));
  trie_ = DoubleArray(std::move(entries));
  const double least = scores_.empty() ? 0.0 : *std::min_element(scores_.begin(), scores_.end());
  unknown_score_ = least - unknown_penalty;
  if (!description.has("unk_id")) return;
  const auto id = description.get<int64_t>("unk_id");
  if (id < 0 || id >= static_cast<int64_t>(pieces_.size())) {
    description.at("unk_id").expected(fmt::format("an id below {}", pieces_.size()));
  }
  unknown_ = static_cast<int32_t>(id);
}

std::optional<int32_t> Unigram::unknown_id() const { return unknown_ < 0 ? std::nullopt : std::optional(unknown_); }

std::string_view Unigram::shown(const PieceToken& token, std::string_view piece) const {
  if (token.id == unknown_) return piece.substr(token.begin, token.end - token.begin);
  return TokenModel::shown(token, piece);
}

void Unigram::write_vocabulary(Json& description) const {
  Json list = Json::array();
  for (size_t i = 0; i < pieces_.size(); ++i) list.push_back(Json::array({pieces_[i], scores_[i]}));
  description["vocab"] = std::move(list);
}

// The best way to reach each byte; at bytes inside characters, none.
void Unigram::find_best_steps(std::string_view piece, TextBudget& budget, std::span<Step> steps) const {
  for (Step& step : steps) step.begin = unreached;
  steps[0].score = 0.0;
  const auto offer = [&](size_t begin, size_t end, double score, int32_t id) {
    Step& step = steps[end];
    if (step.begin == unreached || score > step.score) step = {score, static_cast<uint32_t>(begin), id};
  };
  for (size_t begin = 0; begin < piece.size();) {
    const double score = steps[begin].score;
    const size_t length = character_length(piece[begin]);
    bool covered = false;
    uint32_t node = DoubleArray::root;
    size_t end = begin;
    while (end < piece.size()) {
      node = trie_.step(node, static_cast<unsigned char>(piece[end]));
      if (node == DoubleArray::root) break;
      ++end;
      const int32_t id = trie_.value(node);
      if (id == DoubleArray::none) continue;
      offer(begin, end, score + scores_[static_cast<size_t>(id)], id);
      covered = covered || end - begin == length;
    }
    if (!covered) offer(begin, begin + length, score + unknown_score_, unknown_);
    if (end - begin > long_walk) budget.take_time(end - begin);
    begin += length;
  }
}

void Unigram::tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const {
  std::array<Step, short_piece + 1> few;
  std::vector<Step> many(piece.size() > short_piece ? piece.size() + 1 : 0);
  const std::span<Step> steps = many.empty() ? std::span<Step>(few).first(piece.size() + 1) : std::span<Step>(many);
  find_best_steps(piece, budget, steps);
  const size_t before = tokens.size();
  bool any_unknown = false;
  bool after_unknown = false;
  for (auto end = static_cast<uint32_t>(piece.size()); end > 0;) {
    const Step& step = steps[end];
    const bool is_unknown = step.id == unknown_;
    if (is_unknown && after_unknown) {
      tokens.back().begin = step.begin;
    } else {
      tokens.push_back({step.id, step.begin, end});
    }
    any_unknown = any_unknown || is_unknown;
    after_unknown = is_unknown;
    end = step.begin;
  }
  std::reverse(tokens.begin() + static_cast<ptrdiff_t>(before), tokens.end());
  if (!any_unknown) return;
  const std::vector<PieceToken> found(tokens.begin() + static_cast<ptrdiff_t>(before), tokens.end());
  tokens.resize(before);
  for (const PieceToken& token : found) {
    if (token.id == unknown_) {
      add_unknown(piece, token, tokens);
    } else {
      tokens.push_back(token);
    }
  }
}

// Unknown characters, which may be a token when they are together, or its bytes.
void Unigram::add_unknown(std::string_view piece, const PieceToken& unknown, std::vector<PieceToken>& tokens) const {
  const auto [unused, begin, end] = unknown;
  const std::string_view text = piece.substr(begin, end - begin);
  int32_t id = vocabulary_.find_id(text);
  if (id < 0 && byte_fallback_) {
    const size_t before = tokens.size();
    for (const char byte : text) {
      const int32_t byte_id = vocabulary_.find_id(byte_fallback_name(static_cast<uint8_t>(byte)));
      if (byte_id < 0) break;
      tokens.push_back({byte_id, begin, end});
    }
    if (tokens.size() - before == text.size()) return;
    tokens.resize(before);
  }
  if (id < 0) id = unknown_;
  if (id < 0) fail("tokenizer: \"{}\" is not in the vocabulary, and there is no unk_id", shortened(text));
  tokens.push_back({id, begin, end});
}

}  // namespace weft::text
