// The fifth document: positions, masks and variants of attention.
#include <array>

#include "notes.h"
#include "weft/nn/attention.h"
#include "weft/nn/positions.h"
#include "weft/ops/linear_attention.h"
#include "weft/ops/mask.h"
#include "weft/ops/multi_head_attention.h"
#include "weft/ops/scaled_dot_product_attention.h"

using namespace weft;
using namespace notes;

// Which keys each query of sequence 0 may see under a mask: the weights that are not 0.
void show(const char* name, const Mask& mask, int64_t b, int64_t q, int64_t k, const std::string& wanted) {
  Context ctx;
  const ops::AttentionOptions options{.heads = 1, .head_dim = 4, .need_weights = true};
  const Variable query = randn({b, q, 4}, 1), key = randn({b, k, 4}, 2);
  const Tensor weights = ops::attention(ctx, {query}, {key}, {key}, mask, options).weights;
  std::string seen;
  for (int64_t i = 0; i < weights.numel(); ++i) {
    seen += weights.data<float>()[i] > 0.0f ? '1' : '.';
    if ((i + 1) % weights.dim(-1) == 0) seen += (i + 1) % (weights.dim(-1) * weights.dim(-2)) == 0 ? '|' : ' ';
  }
  check_equal(name, seen, wanted);
}

void masks() {
  section("masks: 1 = may attend, a word per query, a bar per sequence");
  const std::array<int64_t, 2> lengths = {4, 2};
  show("padding", Mask::padded(lengths, 4, false), 2, 4, 4, "1111 1111 1111 1111|11.. 11.. 11.. 11..|");
  show("look-ahead", {.causal = true}, 1, 4, 4, "1... 11.. 111. 1111|");
  show("both", Mask::padded(lengths, 4, true), 2, 4, 4, "1... 11.. 111. 1111|1... 11.. .... ....|");
  // Cross-attention: the source's padding alone decides.
  Mask cross;
  for (int64_t i = 0; i < 2; ++i) cross.segments.push_back({i * 2, 2, i * 4, lengths[static_cast<size_t>(i)]});
  show("cross", cross, 2, 2, 4, "1111 1111|11.. 11..|");
}

// attention(query, key, value, mask) of the notes, by its formula, against weft's; a mask (b, k) is the same for every
// query.
void attention_by_formula() {
  section("attention by its formula");
  const int64_t b = 2, s = 5, d = 8;
  const Tensor q = randn({b, s, d}, 1), k = randn({b, s, d}, 2), v = randn({b, s, d}, 3);
  const Tensor mask = mask_of({1, 1, 1, 1, 1, 1, 1, 1, 0, 0}, {b, 1, s});
  Tensor wanted = Tensor::zeros({b, s, d}), weights = Tensor::zeros({b, s, s});
  for (int64_t row = 0; row < b * s; ++row) {
    float* p = weights.data<float>() + row * s;
    float total = 0.0f;
    for (int64_t j = 0; j < s; ++j) {
      const int64_t key = row / s * s + j;
      float score = 0.0f;
      for (int64_t c = 0; c < d; ++c) score += q.data<float>()[row * d + c] * k.data<float>()[key * d + c];
      p[j] = mask.data<uint8_t>()[key] ? std::exp(score / std::sqrt(static_cast<float>(d))) : 0.0f;
      total += p[j];
    }
    for (int64_t j = 0; j < s; ++j) {
      p[j] /= total;
      for (int64_t c = 0; c < d; ++c) {
        wanted.data<float>()[row * d + c] += p[j] * v.data<float>()[(row / s * s + j) * d + c];
      }
    }
  }
  Context ctx;
  const ops::AttentionOutput result =
      ops::scaled_dot_product_attention(ctx, q, k, v, {.attn_mask = mask, .need_weights = true});
  check("output", result.output.value(), wanted);
  check("weights", result.weights, weights);
}

// MultiHeadedAttention(h, d_model) as one call on given weights.
void multi_headed() {
  section("multi-headed attention");
  Context ctx;
  const Tensor x = randn({2, 4, 32});
  const ops::MultiHeadWeights weights{.in_proj_weight = randn({96, 32}, 2),
                                      .in_proj_bias = randn({96}, 3),
                                      .out_proj_weight = randn({32, 32}, 4),
                                      .out_proj_bias = randn({32}, 5)};
  const auto result = ops::multi_head_attention(
      ctx, x, x, x, weights, {.num_heads = 8, .is_causal = true, .need_weights = true, .average_attn_weights = false});
  check_equal("output", result.output.shape(), Shape{2, 4, 32});
  check_equal("weights", result.weights.shape(), Shape{2, 8, 4, 4});
}

// The variance of q·k grows with d: why scores are divided by √d.
void variance() {
  section("variance of q·k");
  const int64_t pairs = 20000;
  for (const int64_t d : {4, 16, 64}) {
    const Tensor q = randn({pairs, d}, 1), k = randn({pairs, d}, 2);
    double squares = 0.0;
    for (int64_t i = 0; i < pairs; ++i) {
      double dot = 0.0;
      for (int64_t c = 0; c < d; ++c) dot += double{q.data<float>()[i * d + c]} * k.data<float>()[i * d + c];
      squares += dot * dot;
    }
    const double variance = squares / static_cast<double>(pairs);
    std::printf("d %2lld: variance %.2f\n", static_cast<long long>(d), variance);
    check("d, but for 5 %", std::fabs(variance / static_cast<double>(d) - 1.0) < 0.05);
  }
}

// Orthogonal keys and a large query choose one value; argmax attention chooses it whatever the size.
void by_content() {
  section("attention by content, and argmax attention");
  Context ctx;
  const Tensor keys = tensor_of({1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3});
  const Tensor values = tensor_of({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
  const Tensor large = tensor_of({0, 100, 0}, {1, 3}), small = tensor_of({0, 0.1f, 0}, {1, 3});
  const Tensor second = values.slice(0, 1, 2);
  check("a large query", ops::scaled_dot_product_attention(ctx, large, keys, values).output.value(), second);
  const ops::AttentionOptions options{.heads = 1, .head_dim = 3, .need_weights = true};
  const auto hard =
      ops::scored_attention(ctx, {small}, {keys}, {values}, {}, options, {.rule = kernels::WeightRule::hard});
  check("a small one, argmax", hard.output.value(), second);
  check("its weights", hard.weights, tensor_of({0, 1, 0}, {1, 1, 1, 3}), 0.0f);
}

// Kernelized linear attention: softmax's exp(q·k) becomes φ(q)·φ(k), so that the sums over the keys serve all queries.
void kernelized() {
  section("kernelized linear attention");
  const int64_t s = 6, e = 4;
  const Tensor q = randn({s, e}, 1), k = randn({s, e}, 2), v = randn({s, e}, 3);
  const auto phi = [](float x) { return x > 0.0f ? x + 1.0f : std::exp(x); };  // elu(x) + 1
  Tensor wanted = Tensor::zeros({s, e});
  for (int64_t i = 0; i < s; ++i) {
    float total = 0.0f;
    for (int64_t j = 0; j <= i; ++j) {
      float weight = 0.0f;
      for (int64_t c = 0; c < e; ++c) weight += phi(q.data<float>()[i * e + c]) * phi(k.data<float>()[j * e + c]);
      total += weight;
      for (int64_t c = 0; c < e; ++c) wanted.data<float>()[i * e + c] += weight * v.data<float>()[j * e + c];
    }
    for (int64_t c = 0; c < e; ++c) wanted.data<float>()[i * e + c] /= total;
  }
  Context ctx;
  const auto result = ops::linear_attention(ctx, {q}, {k}, {v}, {.causal = true}, {.heads = 1, .head_dim = e});
  check("causal, by its formula", result.output.value(), wanted);
}

// Attention by position: with queries and keys that are positions alone, a position is nearest to itself.
void by_position() {
  section("attention by position");
  const Tensor positions = nn::sinusoidal_positions(6, 32);
  Context ctx;
  const Tensor weights =
      ops::scaled_dot_product_attention(ctx, positions, positions, positions, {.need_weights = true}).weights;
  print("weights", weights);
  bool diagonal = true;
  for (int64_t i = 0; i < 36; ++i) {
    diagonal = diagonal && weights.data<float>()[i] <= weights.data<float>()[i / 6 * 7];
  }
  check("largest on the diagonal", diagonal);
}

int main() {
  masks();
  attention_by_formula();
  multi_headed();
  variance();
  by_content();
  kernelized();
  by_position();
}
