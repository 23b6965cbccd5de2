// The first document, from self-attention to the whole Transformer. With the path of BERT's vocab.txt as argument, its
// tokenizer too.
#include <array>

#include "notes.h"
#include "weft/generate/generate.h"
#include "weft/generate/source_decoder.h"
#include "weft/models/causal_lm.h"
#include "weft/models/encoder_decoder.h"
#include "weft/nn/attention.h"
#include "weft/nn/norm.h"
#include "weft/ops/add.h"
#include "weft/ops/linear.h"
#include "weft/ops/scaled_dot_product_attention.h"
#include "weft/text/encoding_tokenizer.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/word.h"

using namespace weft;
using namespace notes;

// SelfAttentionV1 and V2: three projections, or one matrix whose rows are those of the three.
void self_attention() {
  section("self-attention");
  Context ctx;
  const Tensor x = randn({3, 2, 4});
  const Tensor weight = randn({12, 4}, 2), bias = randn({12}, 3);
  const auto project = [&](int64_t part) {
    return ops::linear(ctx, x, weight.slice(0, 4 * part, 4 * part + 4), bias.slice(0, 4 * part, 4 * part + 4));
  };
  const ops::AttentionOutput separate =
      ops::scaled_dot_product_attention(ctx, project(0), project(1), project(2), {.need_weights = true});
  print("weights", separate.weights);
  print("output", separate.output.value());

  const Variable qkv = ops::linear(ctx, x, weight, bias);
  check_equal("queries, keys and values in one", qkv.shape(), Shape{3, 2, 12});
  const ops::AttentionOutput fused = ops::attention(ctx, {qkv, 0}, {qkv, 4}, {qkv, 8}, {}, {.heads = 1, .head_dim = 4});
  check("one product gives what three give", fused.output.value(), separate.output.value());
}

// SelfAttentionV3: a mask of keys per sequence, dropout on the weights, an output projection.
void masked_attention() {
  section("dropout, mask, output projection");
  ParameterStore parameters(initialise(1));
  const nn::Attention attention(parameters.root(), {.d_model = 2, .heads = 1, .dropout = 0.1});
  Tensor allowed = Tensor::empty({3, 1, 4, 4}, DType::u8);
  const Tensor keys = mask_of({1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0}, {3, 4});
  for (int64_t i = 0; i < 48; ++i) allowed.data<uint8_t>()[i] = keys.data<uint8_t>()[i / 16 * 4 + i % 4];
  Context ctx;
  const auto result =
      attention.forward(ctx, randn({3, 4, 2}), {}, {.mask = {.allowed = allowed}, .need_weights = true});
  print("weights", result.weights);
  print("output", result.output.value());
  bool masked = true;
  for (int64_t i = 0; i < 48; ++i)
    masked = masked && (allowed.data<uint8_t>()[i] != 0 || result.weights.data<float>()[i] == 0.0f);
  check("masked keys have weight 0", masked);
  check("a single key has weight 1", result.weights.slice(0, 2, 3).slice(3, 0, 1), Tensor::full({1, 1, 4, 1}, 1.0f));
}

// MultiHeadSelfAttention(128, 8): causal, then norm(output + x).
void multi_head() {
  section("multi-head attention");
  ParameterStore parameters(initialise(1));
  const nn::Attention attention(parameters.root() / "attention", {.d_model = 128, .heads = 8});
  const nn::Norm norm(parameters.root() / "norm", {.d = 128, .epsilon = 1e-7});
  Context ctx;
  const Variable x = randn({3, 4, 128});
  const auto result = attention.forward(ctx, x, {}, {.mask = {.causal = true}, .need_weights = true});
  print("weights", result.weights);
  bool lower = true;
  for (int64_t i = 0; i < result.weights.numel(); ++i) {
    lower = lower && (i % 4 <= i / 4 % 4) == (result.weights.data<float>()[i] > 0.0f);
  }
  check("lower triangle only", lower);
  const Variable y = norm.forward(ctx, ops::add(ctx, x, result.output));
  check_equal("norm(x + attention(x))", y.shape(), Shape{3, 4, 128});
  print("output", y.value());
}

// Decoder(hidden_dim=64, nums_head=8, layer_nums=8) over 12 words.
void causal_decoder() {
  section("causal decoder");
  models::TransformerConfig config{.vocab_size = 12, .max_length = 4, .d_model = 64, .layers = 8, .heads = 8};
  config.wiring = nn::Wiring::post_norm;
  config.final_norm = false;
  config.positions = nn::Positions::none;
  config.resolve();
  ParameterStore parameters(initialise(1));
  const models::CausalLM model(parameters.root(), config);
  Context ctx;
  const Tensor x = ids_of({8, 1, 10, 8, 3, 10, 11, 4, 0, 1, 6, 1}, {3, 4});
  const Tensor logits = model.logits(ctx, {.ids = x}).value();
  check_equal("a score for each of 12 words", logits.shape(), Shape{3, 4, 12});
  const Tensor other = ids_of({8, 1, 10, 5, 3, 10, 11, 5, 0, 1, 6, 5}, {3, 4});
  const Tensor others = model.logits(ctx, {.ids = other}).value();
  check("the last word changes nothing before it", others.slice(1, 0, 3), logits.slice(1, 0, 3), 0.0f);
}

// GroupQueryAttention(128, 8, 2), multi-query attention, CrossMHA(128, 8).
void grouped_and_cross() {
  section("grouped queries, one query for all, cross-attention");
  Context ctx;
  for (const int64_t kv_heads : {2, 1}) {
    ParameterStore parameters(initialise(1));
    const nn::Attention attention(parameters.root(), {.d_model = 128, .heads = 8, .kv_heads = kv_heads});
    check_equal("output", attention.forward(ctx, randn({3, 2, 128}), {}).output.shape(), Shape{3, 2, 128});
  }
  // repeat_interleave by hand: query head h reads key head h / 4.
  const Tensor q = randn({1, 8, 5, 16}, 1), k = randn({1, 2, 5, 16}, 2), v = randn({1, 2, 5, 16}, 3);
  Tensor all_k = Tensor::empty(q.shape()), all_v = Tensor::empty(q.shape());
  for (int64_t i = 0; i < q.numel(); ++i) {
    const int64_t from = i / (5 * 16) / 4 * (5 * 16) + i % (5 * 16);
    all_k.data<float>()[i] = k.data<float>()[from];
    all_v.data<float>()[i] = v.data<float>()[from];
  }
  check("grouped heads are repeated heads",
        ops::scaled_dot_product_attention(ctx, q, k, v, {.enable_gqa = true}).output.value(),
        ops::scaled_dot_product_attention(ctx, q, all_k, all_v).output.value());

  ParameterStore parameters(initialise(1));
  const nn::Attention cross(parameters.root(), {.kind = nn::AttentionKind::cross, .d_model = 128, .heads = 8});
  const auto result = cross.forward(ctx, randn({3, 4, 128}), randn({3, 8, 128}, 2), {.need_weights = true});
  check_equal("cross-attention", result.output.shape(), Shape{3, 4, 128});
  check("every target sees the whole source",
        std::ranges::all_of(result.weights.span<float>(), [](float w) { return w > 0.0f; }));
}

void word_tokenizer() {
  section("tokenizer");
  const text::WordTokenizer tokenizer({.words = {"a", "am", "an", "are", "coding", "I", "in", "is", "lover", "of",
                                                 "the", "to", "best", "<BOS>", "<EOS>", "<PAD>"},
                                       .special = {.bos = "<BOS>", .eos = "<EOS>", .pad = "<PAD>", .unk = "<UNK>"},
                                       .max_length = 20});
  check_equal("I am the lover of coding", tokenizer.encode("I am the lover of coding"), {5, 1, 10, 8, 9, 4});
  const std::array<int32_t, 6> ids = {4, 16, 7, 10, 12, 17};
  check_equal("decoded", tokenizer.decode(ids), std::string("coding <UNK> is the best <UNK>"));
}

void bert_tokenizer(const char* path) {
  section("BERT's tokenizer");
  const auto loaded = text::load_tokenizer(path);
  const auto& tokenizer = dynamic_cast<const text::EncodingTokenizer&>(*loaded);
  const std::array<text::TextPair, 2> texts = {{{"this is a sample."}, {"I am coding with BERT tokenizer."}}};
  const auto encodings =
      tokenizer.encode_batch(texts, {.truncation = text::Truncation{.max_length = 20}, .padding = text::Padding{}});
  check_equal("first", encodings[0].ids, {101, 2023, 2003, 1037, 7099, 1012, 102, 0, 0, 0});
  check_equal("second", encodings[1].ids, {101, 1045, 2572, 16861, 2007, 14324, 19204, 17629, 1012, 102});
  for (const int32_t id : encodings[1].ids) std::printf("  %5d %s\n", id, tokenizer.token(id).c_str());
}

// Transformer(...): source (2, 6), target (2, 3). The notes draw one token per target position; here the decoder reads
// what it has drawn.
void transformer() {
  section("Transformer");
  models::TransformerConfig config{.architecture = models::Architecture::encoder_decoder, .vocab_size = 500};
  config.max_length = 16;
  config.d_model = 64;
  config.layers = 3;
  config.wiring = nn::Wiring::post_norm;
  config.final_norm = false;
  config.resolve();
  ParameterStore parameters(initialise(1));
  const models::EncoderDecoder model(parameters.root(), config);
  Context ctx;
  const Tensor source = ids_of({101, 23, 3, 37, 102, 0, 101, 45, 72, 61, 7, 102}, {2, 6});
  const Tensor target = ids_of({101, 99, 102, 101, 87, 102}, {2, 3});
  const std::array<int64_t, 2> lengths = {5, 6};
  const models::TokenInput padded{.ids = source, .mask = Mask::padded(lengths, 6, false)};
  const models::EncodedSource memory = model.encode(ctx, padded);
  check_equal("encoder's output", memory.hidden.shape(), Shape{2, 6, 64});
  check_equal("decoder's output", model.logits(ctx, {.ids = target}, memory).shape(), Shape{2, 3, 500});

  const std::vector<std::vector<int32_t>> sources = {{101, 23, 3, 37, 102}, {101, 45, 72, 61, 7, 102}};
  generate::SourceDecoder decoder(model, sources);
  const std::vector<std::vector<int32_t>> begin(2, {101});
  const auto drawn = generate::generate(decoder, begin, {.max_new_tokens = 3, .decoding = generate::Decoding::sample});
  for (const auto& sentence : drawn) {
    std::printf("drawn %s\n", text_of(sentence.ids).c_str());
    check("three tokens", sentence.ids.size() == 3);
  }
}

int main(int count, char** arguments) {
  self_attention();
  masked_attention();
  multi_head();
  causal_decoder();
  grouped_and_cross();
  word_tokenizer();
  if (count > 1) bert_tokenizer(arguments[1]);
  transformer();
}
