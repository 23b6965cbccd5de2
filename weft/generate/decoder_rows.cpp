#include "weft/generate/decoder_rows.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/base/error.h"

namespace weft::generate {

void DecoderRows::start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) {
  require(!prompts.empty() && static_cast<int64_t>(prompts.size()) <= room.rows,
          "decoding: {} prompts, and room for {} rows", prompts.size(), room.rows);
  rows_.clear();
  cache_.reset();
  for (const std::vector<int32_t>& prompt : prompts) {
    rows_.push_back({.ids = prompt, .cached = 0, .prompt = static_cast<int64_t>(rows_.size())});
  }
}

int64_t DecoderRows::capacity(const DecoderRoom& room, int64_t max_length) const {
  int64_t longest = 0;
  for (const Row& row : rows_) longest = std::max(longest, static_cast<int64_t>(row.ids.size()));
  return room.new_tokens < max_length - longest ? longest + room.new_tokens : max_length;
}

void DecoderRows::use(nn::KvCache cache) {
  std::vector<int64_t> first(rows_.size());
  std::iota(first.begin(), first.end(), int64_t{0});
  cache.reorder(first);
  cache_ = std::move(cache);
}

void DecoderRows::select(std::span<const int64_t> sources) {
  std::vector<Row> rows;
  for (const int64_t source : sources) {
    require(source >= 0 && source < static_cast<int64_t>(rows_.size()), "decoding: row {} was asked for, there are {}",
            source, rows_.size());
    rows.push_back(rows_[static_cast<size_t>(source)]);
  }
  if (cache_) cache_->reorder(sources);
  rows_ = std::move(rows);
}

void DecoderRows::append(std::span<const int32_t> ids) {
  require(ids.size() == rows_.size(), "decoding: {} tokens for {} rows", ids.size(), rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i].ids.push_back(ids[i]);
}

void DecoderRows::cut(size_t row, size_t kept) {
  std::vector<int32_t>& ids = rows_[row].ids;
  ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(kept));
  rows_[row].cached = 0;
  if (cache_) cache_->truncate(static_cast<int64_t>(row), 0);
}

models::TokenInput DecoderRows::unread() {
  std::vector<std::span<const int32_t>> tokens;
  for (Row& row : rows_) {
    tokens.push_back(std::span<const int32_t>(row.ids).subspan(row.cached));
    if (cache_) row.cached = row.ids.size();
  }
  return models::packed_input(tokens);
}

std::vector<int64_t> DecoderRows::prompts() const {
  std::vector<int64_t> prompts;
  for (const Row& row : rows_) prompts.push_back(row.prompt);
  return prompts;
}

}  // namespace weft::generate
