// The second document: absolute, trainable, relative and rotary positions.
#include "weft/nn/positions.h"
#include "notes.h"
#include "weft/nn/attention.h"
#include "weft/nn/embedding.h"
#include "weft/ops/add.h"
#include "weft/ops/rotary.h"
#include "weft/ops/scaled_dot_product_attention.h"

using namespace weft;
using namespace notes;

// SinPositionEncoding(d_model=4, max_sequence_length=10)
void sinusoids() {
  section("sinusoidal positions");
  const Tensor table = nn::sinusoidal_positions(10, 4);
  print("table", table);
  const Tensor printed_in_the_notes = tensor_of(
      {
          0.0000f,  1.0000f,  0.0000f, 1.0000f,  //
          0.8415f,  0.5403f,  0.0100f, 1.0000f,  //
          0.9093f,  -0.4161f, 0.0200f, 0.9998f,  //
          0.1411f,  -0.9900f, 0.0300f, 0.9996f,  //
          -0.7568f, -0.6536f, 0.0400f, 0.9992f,  //
          -0.9589f, 0.2837f,  0.0500f, 0.9988f,  //
          -0.2794f, 0.9602f,  0.0600f, 0.9982f,  //
          0.6570f,  0.7539f,  0.0699f, 0.9976f,  //
          0.9894f,  -0.1455f, 0.0799f, 0.9968f,  //
          0.4121f,  -0.9111f, 0.0899f, 0.9960f,
      },
      {10, 4});
  check("the table that the notes print", table, printed_in_the_notes, 5.1e-5f);
  // x + pe[:, :x.size(1)]: the first rows for a shorter sequence; the notes pick one row instead.
  Context ctx;
  const Tensor x = randn({1, 3, 4});
  const Variable sum = ops::add(ctx, x, table.slice(0, 0, 3).reshape({1, 3, 4}));
  check_equal("x + positions", sum.shape(), x.shape());
}

// TrainablePositionEncoding(max_sequence_length=10, d_model=4): a parameter, so that it trains.
void trainable() {
  section("trainable positions");
  ParameterStore parameters(initialise(1));
  nn::EmbeddingConfig config{.vocab_size = 7, .d_model = 4, .max_length = 10, .positions = nn::Positions::learned};
  const nn::Embedding embedding(parameters.root(), config);
  check_equal("position.weight", parameters.find("position.weight")->value().shape(), Shape{10, 4});
  Tape tape;
  Context ctx{.tape = &tape};
  const Tensor ids = ids_of({3, 1, 4}, {3}), position_ids = ids_of({0, 1, 2}, {3});
  const Variable y = embedding.forward(ctx, ids, position_ids);
  print("three tokens with their positions", y.value());
  check("the table has a gradient to come", y.edge().wanted());
}

// RelativeMultiHeadAttention(d_model=16, n_heads=4), batch 2, length 5. The notes flatten the result to (10, 16).
void relative() {
  section("relative positions (Shaw et al.)");
  ParameterStore parameters(initialise(1));
  const nn::Attention attention(parameters.root(), {.d_model = 16, .heads = 4, .relative_distance = 16});
  Context ctx;
  const nn::AttentionResult result = attention.forward(ctx, randn({2, 5, 16}), {}, {.need_weights = true});
  check_equal("output", result.output.shape(), Shape{2, 5, 16});
  check_equal("weights", result.weights.shape(), Shape{2, 4, 5, 5});
  check_equal("table of keys, 2 · 16 + 1 distances", parameters.find("relative.keys")->value().shape(), Shape{33, 4});
}

// Queries and keys (8, 12, 10, 32); rotary positions turn adjacent pairs of columns, as in the notes.
void rotary() {
  section("rotary positions");
  const int64_t b = 8, h = 12, s = 10, e = 32;
  const kernels::Rotary adjacent{.layout = kernels::RotaryLayout::interleaved, .rotary_dim = e};
  Context ctx;
  const auto turned = [&](const Tensor& x, int32_t first) {
    std::vector<int32_t> positions;
    for (int64_t row = 0; row < b * h * s; ++row) positions.push_back(first + static_cast<int32_t>(row % s));
    const Tensor ids = Tensor::from<int32_t>(positions, {b, h, s});
    return ops::rotary(ctx, x, adjacent, 1, e, ids);
  };
  const Tensor q = randn({b, h, s, e}, 1), k = randn({b, h, s, e}, 2), v = randn({b, h, s, e}, 3);
  const auto attended = [&](int32_t first) {
    return ops::scaled_dot_product_attention(ctx, turned(q, first), turned(k, first), v, {.need_weights = true});
  };
  const ops::AttentionOutput result = attended(0);
  check_equal("output", result.output.shape(), Shape{b, h, s, e});
  check_equal("weights", result.weights.shape(), Shape{b, h, s, s});
  print("weights", result.weights);
  // Pair 0 of position 1 turns by one radian.
  const float x0 = q.data<float>()[e], x1 = q.data<float>()[e + 1];
  const Variable turned_q = turned(q, 0);
  const Tensor pair = tensor_of({turned_q.value().data<float>()[e], turned_q.value().data<float>()[e + 1]}, {2});
  const float c = std::cos(1.0f), sine = std::sin(1.0f);
  check("the formula of the notes", pair, tensor_of({c * x0 - sine * x1, c * x1 + sine * x0}, {2}));
  check("only distances count: all positions later by 100", attended(100).weights, result.weights, 1e-4f);
}

int main() {
  sinusoids();
  trainable();
  relative();
  rotary();
}
