#include "tests/golden/settings.h"

#include "weft/base/error.h"

namespace weft::golden {

kernels::Activation activation_of(const Golden& golden) {
  using kernels::Activation;
  const auto name = golden.get<std::string>("activation");
  if (name == "none") return Activation::none;
  if (name == "relu") return Activation::relu;
  if (name == "gelu") return Activation::gelu;
  if (name == "gelu_tanh") return Activation::gelu_tanh;
  if (name == "silu") return Activation::silu;
  fail("golden: no activation {}", name);
}

kernels::NormKind norm_of(const Golden& golden) {
  const auto name = golden.get<std::string>("norm");
  if (name == "layer_norm") return kernels::NormKind::layer_norm;
  if (name == "rms_norm") return kernels::NormKind::rms_norm;
  fail("golden: no norm {}", name);
}

kernels::Rotary rotary_of(const Golden& golden) {
  const auto name = golden.get<std::string>("rotary_layout");
  require(name == "interleaved" || name == "half_split", "golden: no rotary layout {}", name);
  return {.layout = name == "interleaved" ? kernels::RotaryLayout::interleaved : kernels::RotaryLayout::half_split,
          .rotary_dim = golden.get<int64_t>("rotary_dim"),
          .base = golden.get<double>("rotary_base")};
}

models::TransformerConfig model_config_of(const Golden& golden) {
  return models::TransformerConfig::from_json(JsonView(golden.config(), "golden").at("model"));
}

Mask mask_of(const Golden& golden, int64_t b, int64_t q, int64_t k) {
  const bool causal = golden.get<bool>("causal");
  Mask mask;
  mask.causal = causal;
  if (golden.contains("inputs.lengths")) mask = Mask::padded(golden.integers("inputs.lengths"), q, causal);
  if (mask.segments.empty() && (q != k || golden.contains("inputs.k_lengths"))) {
    const std::vector<int64_t> k_lengths = golden.contains("inputs.k_lengths")
                                               ? golden.integers("inputs.k_lengths")
                                               : std::vector<int64_t>(static_cast<size_t>(b), k);
    for (int64_t i = 0; i < b; ++i) {
      mask.segments.push_back(
          {.q_begin = i * q, .q_length = q, .k_begin = i * k, .k_length = k_lengths[static_cast<size_t>(i)]});
    }
  }
  if (golden.contains("inputs.allowed")) mask.allowed = golden.tensor("inputs.allowed");
  return mask;
}

Tensor counted_rows(const Golden& golden, int64_t heads) {
  if (!golden.contains("inputs.counted")) return {};
  const Tensor counted = golden.tensor("inputs.counted");  // (b, q)
  const auto q = static_cast<size_t>(counted.dim(1));
  Tensor rows = Tensor::empty({counted.dim(0), heads, counted.dim(1)}, DType::u8);
  for (size_t row = 0; row < rows.span<uint8_t>().size(); ++row) {
    const size_t sequence = row / q / static_cast<size_t>(heads);
    rows.span<uint8_t>()[row] = counted.span<uint8_t>()[sequence * q + row % q];
  }
  return rows;
}

}  // namespace weft::golden
