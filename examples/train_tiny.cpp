// Builds a small GPT on characters, trains it on one verse and writes with it: everything that weft needs to be told.
#include <cstdio>
#include <string>

#include "weft/data/text_corpus.h"
#include "weft/generate/causal_decoder.h"
#include "weft/generate/generate.h"
#include "weft/models/causal_lm.h"
#include "weft/optim/adamw.h"
#include "weft/text/character.h"

int main() {
  std::string text;
  for (int i = 0; i < 50; ++i)
    text += "Shall I compare thee to a summer's day? Thou art more lovely and more temperate.\n";
  const auto tokenizer = weft::text::CharacterTokenizer::train(text);
  const weft::data::TextCorpus corpus(text, "the verse", tokenizer, {.context = 80, .batch_size = 4, .seed = 1});
  const auto batches = corpus.training();

  weft::models::TransformerConfig config;
  config.vocab_size = tokenizer.vocab_size();
  config.max_length = 96;
  config.d_model = 64;
  config.layers = 2;
  config.heads = 4;
  config.positions = weft::nn::Positions::rotary;
  weft::ParameterStore parameters(weft::initialise(1));
  const weft::models::CausalLM model(parameters.root(), config);

  weft::optim::AdamW optimizer(parameters, {.weight_decay = 0.01});
  weft::Tape tape;
  weft::Gradients gradients;
  for (int step = 0; step < 200; ++step) {
    const weft::data::Batch batch = batches->batch(step);
    weft::Context ctx{.tape = &tape, .training = true};
    const weft::models::TokenInput input{.ids = batch.input.ids, .mask = weft::Mask::packed(batch.input.offsets, true)};
    const weft::Variable loss = model.loss(ctx, input, batch.targets);
    gradients.clear();
    tape.backward(loss, gradients);
    optimizer.step(parameters, gradients, {.learning_rate = 3e-3});
    if (step % 50 == 0 || step == 199) std::printf("step %3d: loss %.4f\n", step, loss.value().item());
  }

  weft::generate::CausalDecoder decoder(model);
  const auto written = weft::generate::generate(decoder, tokenizer.encode("Shall"), {.max_new_tokens = 75});
  std::printf("Shall%s", tokenizer.decode(written.ids).c_str());
}
