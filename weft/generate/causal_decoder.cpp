#include "weft/generate/causal_decoder.h"

#include <algorithm>
#include <numeric>

#include "weft/base/error.h"

namespace weft::generate {

Tensor CausalDecoder::start(std::span<const std::vector<int32_t>> prompts, const DecoderRoom& room) {
  check_prompts(prompts, vocab_size());
  require(!prompts.empty() && static_cast<int64_t>(prompts.size()) <= room.rows,
          "generate: {} prompts, and room for {} rows", prompts.size(), room.rows);
  rows_.clear();
  cache_.reset();
  int64_t longest = 0;
  for (const std::vector<int32_t>& prompt : prompts) {
    rows_.push_back({.window = prompt, .cached = 0});
    slide(rows_.back(), 0);
    longest = std::max(longest, static_cast<int64_t>(rows_.back().window.size()));
  }
  if (settings_.cache == CacheUse::cached) {
    const int64_t max_length = model_.config().max_length;
    const int64_t capacity = room.new_tokens < max_length - longest ? longest + room.new_tokens : max_length;
    cache_.emplace(model_.make_cache(room.rows, capacity, settings_.precision));
    std::vector<int64_t> first(rows_.size());
    std::iota(first.begin(), first.end(), int64_t{0});
    cache_->reorder(first);
  }
  return logits();
}

void CausalDecoder::select(std::span<const int64_t> sources) {
  std::vector<Row> rows;
  for (const int64_t source : sources) {
    require(source >= 0 && source < static_cast<int64_t>(rows_.size()), "generate: row {} was asked for, there are {}",
            source, rows_.size());
    rows.push_back(rows_[static_cast<size_t>(source)]);
  }
  if (cache_) cache_->reorder(sources);
  rows_ = std::move(rows);
}

Tensor CausalDecoder::next(std::span<const int32_t> ids) {
  require(ids.size() == rows_.size(), "generate: {} tokens for {} rows", ids.size(), rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].window.push_back(ids[i]);
    slide(rows_[i], static_cast<int64_t>(i));
  }
  return logits();
}

void CausalDecoder::slide(Row& row, int64_t number) {
  const auto longest = static_cast<size_t>(model_.config().max_length);
  if (row.window.size() <= longest) return;
  row.window.erase(row.window.begin(),
                   row.window.end() - static_cast<std::ptrdiff_t>(std::max<size_t>(1, longest / 2)));
  row.cached = 0;
  if (cache_) cache_->truncate(number, 0);
}

// One pass over the tokens that the cache lacks, the rows laid end to end.
Tensor CausalDecoder::logits() {
  std::vector<int32_t> ids;
  std::vector<int64_t> offsets = {0};
  for (Row& row : rows_) {
    ids.insert(ids.end(), row.window.begin() + static_cast<std::ptrdiff_t>(row.cached), row.window.end());
    offsets.push_back(static_cast<int64_t>(ids.size()));
    if (cache_) row.cached = row.window.size();
  }
  Context ctx{.precision = settings_.precision, .rng = {}};
  const models::TokenInput input{.ids = Tensor::from<int32_t>(ids, {static_cast<int64_t>(ids.size())}),
                                 .position_ids = {},
                                 .mask = Mask::packed(offsets, true)};
  return model_.logits(ctx, input, cache_ ? &*cache_ : nullptr, true).value().to(DType::f32).contiguous();
}

}  // namespace weft::generate
