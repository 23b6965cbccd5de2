#include "apps/weft/encoder_input.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "weft/base/error.h"
#include "weft/kernels/softmax.h"
#include "weft/text/encoding_tokenizer.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

LoadedBert::LoadedBert(const std::string& folder)
    : model(models::load_bert(folder)),
      tokenizer(text::load_tokenizer(folder)),
      config(generate::load_generation_config(folder)) {}

std::vector<int32_t> LoadedBert::encode(const std::string& line) const {
  const auto* published = dynamic_cast<const text::EncodingTokenizer*>(tokenizer.get());
  if (published == nullptr || published->special_tokens_per_text() == 0)
    return generate::encode_prompt(*tokenizer, config, line);
  return published->encode({line}, {.detail = text::EncodeDetail::ids}).ids;
}

std::vector<int32_t> LoadedBert::encode(const std::string& line, int64_t number) const {
  std::vector<int32_t> ids = encode(line);
  const size_t added = encode("").size();
  require(ids.size() > added, "line {} has no tokens", number);
  require(static_cast<int64_t>(ids.size()) <= model->model.config().max_length,
          "line {} has {} tokens, the model takes {}; give a shorter one", number, ids.size(),
          model->model.config().max_length);
  return ids;
}

std::vector<size_t> largest_first(std::span<const float> values, size_t count) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return values[i]; });
  order.resize(std::min(count, order.size()));
  return order;
}

std::vector<float> probabilities_of(std::span<const float> logits) {
  std::vector<float> probabilities(logits.size());
  const auto v = static_cast<int64_t>(logits.size());
  kernels::softmax_forward({logits.data(), DType::f32, 1, v, v}, {probabilities.data(), DType::f32, 1, v, v});
  return probabilities;
}

}  // namespace weft::app
