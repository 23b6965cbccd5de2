#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "weft/generate/beam_search.h"
#include "weft/generate/decoder.h"

namespace weft::generate {

// Every continuation of `prompt` by up to `length` tokens, ended by `end_id` or cut off, the highest score first: each
// prefix is run anew by the decoder, whose own cache therefore plays no part.
class Exhaustive {
 public:
  Exhaustive(Decoder& decoder, int64_t length, int32_t end_id, double penalty)
      : decoder_(decoder), length_(length), end_id_(end_id), penalty_(penalty) {}

  std::vector<Hypothesis> rank(const std::vector<int32_t>& prompt) {
    extend(prompt, {});
    std::ranges::stable_sort(all_, std::greater<>(), &Hypothesis::score);
    return all_;
  }

 private:
  void extend(const std::vector<int32_t>& prompt, const Hypothesis& begun) {
    std::vector<int32_t> ids = prompt;
    ids.insert(ids.end(), begun.ids.begin(), begun.ids.end());
    const Tensor logits = decoder_.start(std::span(&ids, 1), {.rows = 1, .new_tokens = 1});
    double total = 0.0;
    for (const float logit : logits.span<float>()) total += std::exp(static_cast<double>(logit));
    for (int32_t id = 0; id < decoder_.vocab_size(); ++id) {
      Hypothesis longer = begun;
      longer.ids.push_back(id);
      longer.log_prob += static_cast<double>(logits.span<float>()[static_cast<size_t>(id)]) - std::log(total);
      longer.score = longer.log_prob / std::pow(static_cast<double>(longer.ids.size()), penalty_);
      if (id == end_id_ || static_cast<int64_t>(longer.ids.size()) == length_) {
        all_.push_back(longer);
      } else {
        extend(prompt, longer);
      }
    }
  }

  Decoder& decoder_;
  int64_t length_;
  int32_t end_id_;
  double penalty_;
  std::vector<Hypothesis> all_;
};

inline std::vector<std::vector<int32_t>> ids_of(const std::vector<Hypothesis>& hypotheses) {
  std::vector<std::vector<int32_t>> ids;
  for (const Hypothesis& hypothesis : hypotheses) ids.push_back(hypothesis.ids);
  return ids;
}

}  // namespace weft::generate
