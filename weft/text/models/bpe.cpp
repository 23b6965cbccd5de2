#include "weft/text/models/bpe.h"

#include <algorithm>
#include <queue>

#include "weft/base/error.h"
#include "weft/base/rng.h"
#include "weft/base/shorten.h"
#include "weft/text/byte_names.h"
#include "weft/text/limits.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr uint32_t none = UINT32_MAX;
constexpr size_t short_piece = 40;  // symbols up to which looking at all pairs again is faster than a heap
constexpr uint64_t dropout_seed = 1;
constexpr uint64_t nanoseconds_per_offer = 64;  // to the queue of merges

}  // namespace

Bpe::Bpe(const JsonView& description)
    : vocabulary_(TokenTable::from_json(description.at("vocab"))),
      prefix_(description.get_or<std::string>("continuing_subword_prefix", "")),
      suffix_(description.get_or<std::string>("end_of_word_suffix", "")),
      fuse_unknown_(description.get_or<bool>("fuse_unk", false)),
      byte_fallback_(description.get_or<bool>("byte_fallback", false)),
      ignore_merges_(description.get_or<bool>("ignore_merges", false)),
      dropout_(description.get_or<double>("dropout", 0.0)) {
  description.allow_only({"type", "vocab", "merges", "dropout", "unk_token", "continuing_subword_prefix",
                          "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"});
  if (!(dropout_ >= 0.0 && dropout_ <= 1.0)) description.at("dropout").expected("a probability");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (description.get_or<std::string>(affix, "").size() <= longest_name) continue;
    description.at(affix).expected(fmt::format("at most {} bytes", longest_name));
  }
  if (description.has("unk_token")) {
    unknown_name_ = description.get<std::string>("unk_token");
    unknown_ = vocabulary_.find_id(*unknown_name_);
  }
  read_merges(description.at("merges"));
  for (uint32_t value = 0; value < character_ids_.size(); ++value) {
    character_ids_[value] = vocabulary_.find_id(to_utf8(value));
  }
}

void Bpe::read_merges(const JsonView& merges) {
  for (size_t i = 0; i < merges.size(); ++i) {
    const Json& entry = merges.value()[i];
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      merges_as_pairs_ = true;
      add_merge(merges.at(i), entry[0].get_ref<const std::string&>(), entry[1].get_ref<const std::string&>());
      continue;
    }
    if (!entry.is_string()) merges.at(i).expected("two tokens, as \"a b\" or [\"a\", \"b\"]");
    const std::string_view line = entry.get_ref<const std::string&>();
    if (line.starts_with("#version")) continue;
    const size_t blank = line.find(' ');
    if (blank == line.npos || line.find(' ', blank + 1) != line.npos) {
      merges.at(i).expected("two tokens with one blank between them");
    }
    add_merge(merges.at(i), line.substr(0, blank), line.substr(blank + 1));
  }
}

void Bpe::add_merge(const JsonView& place, std::string_view left, std::string_view right) {
  const auto id_of = [&](std::string_view name) {
    const int32_t id = vocabulary_.find_id(name);
    if (id < 0) fail<FormatError>("{}: \"{}\" is not in the vocabulary", place.place(), shortened(name));
    return id;
  };
  const int32_t left_id = id_of(left);
  const int32_t right_id = id_of(right);
  if (right.size() < prefix_.size()) place.expected("a right side that begins with the prefix");
  const std::string merged = std::string(left) + std::string(right.substr(prefix_.size()));
  merges_.put(left_id, right_id, {static_cast<uint32_t>(merge_names_.size()), id_of(merged)});
  merge_names_.emplace_back(left, right);
}

void Bpe::write_vocabulary(Json& description) const {
  description["vocab"] = vocabulary_.to_json();
  Json merges = Json::array();
  for (const auto& [left, right] : merge_names_) {
    merges.push_back(merges_as_pairs_ ? Json::array({left, right}) : Json(left + " " + right));
  }
  description["merges"] = std::move(merges);
}

int32_t Bpe::character_id(std::string_view character, bool first, bool last) const {
  const bool prefixed = !first && !prefix_.empty();
  const bool suffixed = last && !suffix_.empty();
  if (!prefixed && !suffixed) {
    if (character.size() <= 2) return character_ids_[first_code_point(character).value];
    return vocabulary_.find_id(character);
  }
  std::string name = (prefixed ? prefix_ : "") + std::string(character);
  if (suffixed) name += suffix_;
  return vocabulary_.find_id(name);
}

bool Bpe::add_bytes(std::string_view text, std::vector<Symbol>& symbols) const {
  const size_t before = symbols.size();
  for (const char byte : text) {
    const int32_t id = vocabulary_.find_id(byte_fallback_name(static_cast<uint8_t>(byte)));
    if (id < 0) {
      symbols.resize(before);
      return false;
    }
    symbols.push_back({id, 1, none, none});
  }
  return true;
}

void Bpe::begin_symbols(std::string_view piece, TextBudget& budget, std::vector<Symbol>& symbols) const {
  uint32_t unknown_length = 0;  // of unknown text that is not written yet
  const auto write_unknown = [&] {
    if (unknown_length > 0) symbols.push_back({unknown_, unknown_length, none, none});
    unknown_length = 0;
  };
  for (size_t begin = 0; begin < piece.size();) {
    const size_t length = first_code_point(piece.substr(begin)).length;
    const bool first = begin == 0;
    const bool last = begin + length == piece.size();
    const std::string_view character = piece.substr(begin, length);
    begin += length;
    budget.take_time(prefix_.size() + (last ? suffix_.size() : 0));
    const int32_t id = character_id(character, first, last);
    if (id >= 0) {
      write_unknown();
      symbols.push_back({id, static_cast<uint32_t>(length), none, none});
      continue;
    }
    if (byte_fallback_) {
      const std::string text = (first ? "" : prefix_) + std::string(character) + (last ? suffix_ : "");
      budget.allow_size(symbols.size() + text.size());
      if (add_bytes(text, symbols)) continue;
    }
    if (!unknown_name_) continue;  // the reference leaves such characters out
    if (unknown_ < 0) fail("tokenizer: the unknown token \"{}\" is not in the vocabulary", shortened(*unknown_name_));
    if (!fuse_unknown_) write_unknown();
    unknown_length += static_cast<uint32_t>(length);
  }
  write_unknown();
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i].previous = i == 0 ? none : static_cast<uint32_t>(i - 1);
    symbols[i].next = i + 1 == symbols.size() ? none : static_cast<uint32_t>(i + 1);
  }
}

// All merges are looked up once; after each merge only the two beside it change.
void Bpe::merge_short(std::vector<Symbol>& symbols) const {
  std::array<Merge, short_piece> next_merge{};  // of each symbol with the one after it
  size_t count = symbols.size();
  for (size_t i = 0; i + 1 < count; ++i) next_merge[i] = merges_.find(symbols[i].id, symbols[i + 1].id);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (next_merge[i].rank < next_merge[best].rank) best = i;
    }
    if (next_merge[best].rank == Merge::never) break;
    symbols[best].id = next_merge[best].id;
    symbols[best].length += symbols[best + 1].length;
    std::move(symbols.begin() + static_cast<ptrdiff_t>(best) + 2, symbols.begin() + static_cast<ptrdiff_t>(count),
              symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::move(next_merge.begin() + best + 2, next_merge.begin() + count, next_merge.begin() + best + 1);
    --count;
    if (best > 0) next_merge[best - 1] = merges_.find(symbols[best - 1].id, symbols[best].id);
    if (best + 1 < count) next_merge[best] = merges_.find(symbols[best].id, symbols[best + 1].id);
  }
  symbols.resize(count);
}

bool Bpe::drops_out() const {
  if (dropout_ == 0.0) return false;
  return Rng{.seed = dropout_seed, .stream = 0}.uniform(draws_++) < static_cast<float>(dropout_);
}

void Bpe::merge_long(std::vector<Symbol>& symbols, TextBudget& budget) const {
  struct Candidate {
    uint32_t rank;
    uint32_t place;
    int32_t id;
    bool operator<(const Candidate& other) const {  // the queue gives the largest first
      return rank != other.rank ? rank > other.rank : place > other.place;
    }
  };
  std::priority_queue<Candidate> queue;
  std::vector<Candidate> skipped;
  const auto offer = [&](uint32_t place) {
    const Merge merge = merges_.find(symbols[place].id, symbols[symbols[place].next].id);
    if (merge.rank != Merge::never) queue.push({merge.rank, place, merge.id});
  };
  for (uint32_t i = 0; i + 1 < symbols.size(); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    if (drops_out()) {
      skipped.push_back(top);
      continue;
    }
    for (const Candidate& candidate : skipped) queue.push(candidate);
    budget.take_time(nanoseconds_per_offer * skipped.size());
    skipped.clear();
    Symbol& left = symbols[top.place];
    if (left.length == 0 || left.next == none) continue;
    Symbol& right = symbols[left.next];
    if (merges_.find(left.id, right.id).id != top.id) continue;  // either side has changed meanwhile
    left.id = top.id;
    left.length += right.length;
    left.next = right.next;
    right.length = 0;
    if (left.next != none) symbols[left.next].previous = top.place;
    if (left.previous != none) offer(left.previous);
    if (left.next != none) offer(top.place);
  }
  std::erase_if(symbols, [](const Symbol& symbol) { return symbol.length == 0; });
}

void Bpe::tokenize(std::string_view piece, TextBudget& budget, std::vector<PieceToken>& tokens) const {
  if (ignore_merges_ && dropout_ == 0.0) {
    if (const int32_t id = vocabulary_.find_id(piece); id >= 0) {
      tokens.push_back({id, 0, static_cast<uint32_t>(piece.size())});
      return;
    }
  }
  std::vector<Symbol> symbols;
  symbols.reserve(piece.size());
  begin_symbols(piece, budget, symbols);
  if (dropout_ == 0.0 && symbols.size() <= short_piece) {
    merge_short(symbols);
  } else {
    merge_long(symbols, budget);
  }
  uint32_t begin = 0;
  for (const Symbol& symbol : symbols) {
    tokens.push_back({symbol.id, begin, begin + symbol.length});
    begin += symbol.length;
  }
}

}  // namespace weft::text
