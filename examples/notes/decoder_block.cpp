// The fourth document: the block of a causal decoder, and how LLaMA's differs from GPT's.
#include "notes.h"
#include "weft/nn/transformer_block.h"

using namespace weft;
using namespace notes;

// DecoderBlock(64, 8): post-norm, ReLU, 4 · d wide.
nn::TransformerBlockConfig notes_block() {
  nn::TransformerBlockConfig config;
  config.wiring = nn::Wiring::post_norm;
  config.attention = {.d_model = 64, .heads = 8, .dropout = 0.1};
  config.feed_forward = {.d_model = 64, .d_ff = 256, .activation = kernels::Activation::relu};
  config.norm = {.d = 64, .epsilon = 1e-5};
  config.dropout = 0.1;
  return config;
}

// LLaMA's: pre-norm, RMSNorm, SwiGLU at 8/3 · d (rounded to a multiple of 32), no biases.
nn::TransformerBlockConfig llama_block() {
  nn::TransformerBlockConfig config;
  config.wiring = nn::Wiring::pre_norm;
  config.attention = {.d_model = 64, .heads = 8, .bias = false};
  config.feed_forward = {
      .d_model = 64, .d_ff = 192, .activation = kernels::Activation::silu, .gated = true, .bias = false};
  config.norm = {.d = 64, .kind = kernels::NormKind::rms_norm, .epsilon = 1e-6};
  return config;
}

Tensor row(const Tensor& x, int64_t sequence, int64_t token) {
  return x.slice(0, sequence, sequence + 1).slice(1, token, token + 1);
}

void run(const char* name, const nn::TransformerBlockConfig& config) {
  section(name);
  ParameterStore parameters(initialise(1));
  const nn::TransformerBlock block(parameters.root(), config);
  for (const Parameter& parameter : parameters) {
    std::printf("  %-24s %s\n", parameter.name().c_str(), parameter.value().shape().to_string().c_str());
  }
  // Keys that are padding, per sequence; every query sees only the keys before it as well.
  const Tensor x = randn({3, 4, 64});
  const Tensor keys = mask_of({1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0}, {3, 4});
  Tensor allowed = Tensor::empty({3, 1, 4, 4}, DType::u8);
  for (int64_t i = 0; i < allowed.numel(); ++i) {
    allowed.data<uint8_t>()[i] = keys.data<uint8_t>()[i / 16 * 4 + i % 4];
  }
  Context ctx;  // not training: no dropout
  const nn::AttentionCall call{.mask = {.causal = true, .allowed = allowed}};
  const Tensor y = block.forward(ctx, x, call).value();
  check_equal("output", y.shape(), Shape{3, 4, 64});
  print("output", y);

  // What comes later in a sequence, and what is masked, changes nothing before it.
  Tensor changed = x.clone();
  for (int64_t c = 0; c < 64; ++c) changed.data<float>()[(1 * 4 + 2) * 64 + c] += 1.0f;  // sequence 1, token 2
  const Tensor z = block.forward(ctx, changed, call).value();
  check("a later token changes no earlier one", row(z, 1, 1), row(y, 1, 1), 0.0f);
  check("a masked token changes no other one", row(z, 1, 3), row(y, 1, 3), 0.0f);
  check("nor another sequence", z.slice(0, 2, 3), y.slice(0, 2, 3), 0.0f);

  Context training{.training = true, .rng = Rng{7, 0}};
  const Tensor dropped = block.forward(training, x, call).value();
  bool same = true;
  for (int64_t i = 0; i < y.numel(); ++i) same = same && dropped.data<float>()[i] == y.data<float>()[i];
  check("dropout only while training", same == (config.dropout == 0.0));
}

int main() {
  run("the notes' block", notes_block());
  run("LLaMA's block", llama_block());
}
