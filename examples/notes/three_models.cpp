// The third document: attention by hand, and its Transformer, BERT and GPT, a few steps of each. Whole trainings are
// `weft train recipes/rank.toml` and so on; what they reach is in docs/from-the-notes.md.
#include <functional>

#include "notes.h"
#include "weft/data/count_task.h"
#include "weft/data/masked_task.h"
#include "weft/data/rank_task.h"
#include "weft/models/bert.h"
#include "weft/models/causal_lm.h"
#include "weft/models/encoder_decoder.h"
#include "weft/ops/multi_head_attention.h"
#include "weft/ops/scaled_dot_product_attention.h"
#include "weft/optim/adamw.h"

using namespace weft;
using namespace notes;

Tensor lower_triangle(int64_t q, int64_t k) {
  Tensor mask = Tensor::zeros({q, k}, DType::u8);
  for (int64_t i = 0; i < q; ++i) {
    for (int64_t j = 0; j <= std::min(i, k - 1); ++j) mask.data<uint8_t>()[i * k + j] = 1;
  }
  return mask;
}

// scaled_dot_product_attention.py: b, l_q, l_kv, d = 8, 32, 64, 128, a lower triangle as mask.
void scaled_dot_product() {
  section("scaled_dot_product_attention");
  Context ctx;
  const Variable q = randn({8, 32, 128}, 1), k = randn({8, 64, 128}, 2), v = randn({8, 64, 128}, 3);
  const auto masked =
      ops::scaled_dot_product_attention(ctx, q, k, v, {.attn_mask = lower_triangle(32, 64), .need_weights = true});
  check_equal("score", masked.weights.shape(), Shape{8, 32, 64});
  check_equal("res", masked.output.shape(), Shape{8, 32, 128});
  print("res", masked.output.value());
  check("is_causal is that mask", ops::scaled_dot_product_attention(ctx, q, k, v, {.is_causal = true}).output.value(),
        masked.output.value());
  check("the first query sees the first key alone", masked.output.value().slice(1, 0, 1), v.value().slice(1, 0, 1));
}

// multi_head_scaled_dot_product_attention.py: 8 heads, separate weights, both masks; the score averaged over the heads.
void multi_head() {
  section("multi_head_scaled_dot_product_attention");
  Context ctx;
  const int64_t b = 8, l_q = 32, l_kv = 64, d = 128;
  const Variable q = randn({b, l_q, d}, 1), k = randn({b, l_kv, d}, 2), v = randn({b, l_kv, d}, 3);
  const ops::MultiHeadWeights weights{.q_proj_weight = randn({d, d}, 4),
                                      .k_proj_weight = randn({d, d}, 5),
                                      .v_proj_weight = randn({d, d}, 6),
                                      .in_proj_bias = randn({3 * d}, 7),
                                      .out_proj_weight = randn({d, d}, 8),
                                      .out_proj_bias = randn({d}, 9)};
  // As numbers, 0 or −∞: what the notes give to PyTorch. Sequence i ends with 4 · i keys of padding.
  Tensor causal = Tensor::zeros({l_q, l_kv}), padding = Tensor::zeros({b, l_kv});
  const Tensor triangle = lower_triangle(l_q, l_kv);
  for (int64_t i = 0; i < causal.numel(); ++i) {
    if (triangle.data<uint8_t>()[i] == 0) causal.data<float>()[i] = -INFINITY;
  }
  for (int64_t i = 0; i < padding.numel(); ++i) {
    if (i % l_kv >= l_kv - 4 * (i / l_kv)) padding.data<float>()[i] = -INFINITY;
  }
  ops::MultiHeadOptions options{.num_heads = 8, .key_padding_mask = padding, .attn_mask = causal};
  options.need_weights = true;
  const auto result = ops::multi_head_attention(ctx, q, k, v, weights, options);
  check_equal("score", result.weights.shape(), Shape{b, l_q, l_kv});
  check_equal("res", result.output.shape(), Shape{b, l_q, d});
  print("res", result.output.value());
  bool sums = true;
  for (int64_t row = 0; row < b * l_q; ++row) {
    float sum = 0.0f;
    for (int64_t j = 0; j < l_kv; ++j) sum += result.weights.data<float>()[row * l_kv + j];
    sums = sums && std::fabs(sum - 1.0f) < 1e-4f;
  }
  check("every row of the score sums to 1", sums);
}

// The wiring, norms and first values of the article, on a smaller scale.
models::TransformerConfig article(models::Architecture architecture, int64_t max_length) {
  models::TransformerConfig config{.architecture = architecture, .vocab_size = 103, .max_length = max_length};
  config.d_model = 64;
  config.layers = 2;
  config.d_ff = 256;
  config.wiring = nn::Wiring::block_input;
  config.final_norm = false;
  config.activation = kernels::Activation::relu;
  config.feed_forward_bias = false;
  config.positions = nn::Positions::sinusoidal;
  config.tie_embeddings = false;
  config.output_bias = true;
  config.initialisation = nn::Initialisation::xavier_uniform;
  return config;
}

models::TokenInput input_of(const data::TokenRows& rows, bool causal) {
  return {.ids = rows.ids, .mask = Mask::packed(rows.offsets, causal)};
}

// 60 steps of AdamW; the mean loss of the last ten is well below the first.
void train(ParameterStore& parameters, const data::Dataset& task,
           const std::function<Variable(Context&, const data::Batch&)>& loss_of) {
  const int steps = 60;
  optim::AdamW optimizer(parameters, {.weight_decay = 0.01});
  Tape tape;
  Gradients gradients;
  float first = 0.0f, last = 0.0f;
  for (int step = 0; step < steps; ++step) {
    Context ctx{.tape = &tape, .training = true};
    const Variable loss = loss_of(ctx, task.batch(step));
    const float value = loss.value().item();
    if (step == 0) first = value;
    if (step >= steps - 10) last += value / 10.0f;
    gradients.clear();
    tape.backward(loss, gradients);
    optimizer.step(parameters, gradients, {.learning_rate = 2e-3});
  }
  std::printf("loss %.4f at first, %.4f at last\n", static_cast<double>(first), static_cast<double>(last));
  check("it learns", last < 0.8f * first);
}

void transformer() {
  section("Transformer: how many earlier numbers are not greater");
  // x: tensor([76, 63, 90, 32, 18, 50]) of the article, ids with the three special ones in front.
  const std::vector<int32_t> x = {76, 63, 90, 32, 18, 50};
  check_equal("y of the article", data::RankTask::answer(x), {3, 3, 5, 3, 3, 5, 2});
  const data::RankTask task({.sampling = {.batch_size = 64}});
  models::TransformerConfig config = article(models::Architecture::encoder_decoder, 7);
  config.decoder_wiring = nn::Wiring::post_norm;
  config.resolve();
  ParameterStore parameters(initialise(0));
  const models::EncoderDecoder model(parameters.root(), config);
  train(parameters, task, [&](Context& ctx, const data::Batch& batch) {
    return model.loss(ctx, input_of(batch.source, false), input_of(batch.input, true), batch.targets);
  });
}

void bert() {
  section("BERT: masked numbers, and whether a run is high or low");
  const data::MaskedTask task({.sampling = {.batch_size = 64}});
  models::TransformerConfig config = article(models::Architecture::bert, 16);
  config.classes = data::MaskedTask::classes;
  config.resolve();
  ParameterStore parameters(initialise(0));
  const models::Bert model(parameters.root(), config);
  train(parameters, task, [&](Context& ctx, const data::Batch& batch) {
    return model.loss(ctx, input_of(batch.input, false), {.tokens = batch.targets, .classes = batch.classes});
  });
}

void gpt() {
  section("GPT: the next number, until 42");
  const data::CountTask task({.sampling = {.batch_size = 64}});
  // What the article's model says after each start; ids are numbers + 3, EOS is 2.
  check_equal("34", task.answer(34), {38, 39, 40, 41, 42, 43, 44, 45, 2});
  check_equal("40", task.answer(40), {44, 45, 2});
  check_equal("45", task.answer(45), {2});
  models::TransformerConfig config = article(models::Architecture::causal_lm, 16);
  config.resolve();
  ParameterStore parameters(initialise(0));
  const models::CausalLM model(parameters.root(), config);
  train(parameters, task, [&](Context& ctx, const data::Batch& batch) {
    return model.loss(ctx, input_of(batch.input, true), batch.targets);
  });
}

int main() {
  scaled_dot_product();
  multi_head();
  transformer();
  bert();
  gpt();
}
