// The encoder–decoder of the notes on its task: 5 7 3 gives 0 1 0, how many earlier numbers are not greater. Builds the
// model, trains it and decodes. train_rank [STEPS]: 1565 steps are the five epochs of recipes/rank.toml.
#include <cstdio>
#include <cstdlib>

#include "weft/data/rank_task.h"
#include "weft/generate/generate.h"
#include "weft/generate/source_decoder.h"
#include "weft/optim/adamw.h"
#include "weft/optim/schedule.h"
#include "weft/text/word.h"

int main(int count, char** arguments) {
  const int steps = count > 1 ? std::atoi(arguments[1]) : 1565;
  const weft::text::WordTokenizer tokenizer(weft::text::number_words(100));
  const weft::data::RankTask task(
      {.numbers = 100, .max_length = 7, .sampling = {.samples = 100000, .batch_size = 320}});

  weft::models::TransformerConfig config;
  config.architecture = weft::models::Architecture::encoder_decoder;
  config.vocab_size = tokenizer.vocab_size();
  config.max_length = 7;
  config.d_model = 256;
  config.layers = 6;
  config.heads = 8;
  config.d_ff = 1024;
  config.wiring = weft::nn::Wiring::block_input;
  config.decoder_wiring = weft::nn::Wiring::post_norm;
  config.final_norm = false;
  config.activation = weft::kernels::Activation::relu;
  config.feed_forward_bias = false;
  config.positions = weft::nn::Positions::sinusoidal;
  config.tie_embeddings = false;
  config.output_bias = true;
  config.initialisation = weft::nn::Initialisation::xavier_uniform;
  weft::ParameterStore parameters(weft::initialise(0));
  const weft::models::EncoderDecoder model(parameters.root(), config);

  weft::optim::AdamW optimizer(parameters, {.weight_decay = 0.01});
  const weft::optim::Schedule schedule{.kind = weft::optim::ScheduleKind::cosine, .peak = 1e-4, .steps = steps};
  weft::Tape tape;
  weft::Gradients gradients;
  for (int step = 0; step < steps; ++step) {
    const weft::data::Batch batch = task.batch(step);
    weft::Context ctx{.tape = &tape, .training = true, .precision = weft::Precision::bf16};
    const weft::models::TokenInput source{.ids = batch.source.ids,
                                          .mask = weft::Mask::packed(batch.source.offsets, false)};
    const weft::models::TokenInput target{.ids = batch.input.ids,
                                          .mask = weft::Mask::packed(batch.input.offsets, true)};
    const weft::Variable loss = model.loss(ctx, source, target, batch.targets);
    gradients.clear();
    tape.backward(loss, gradients);
    optimizer.step(parameters, gradients, {.learning_rate = weft::optim::learning_rate(schedule, step, 0)});
    if (step % 100 == 0 || step + 1 == steps) std::printf("step %4d: loss %.4f\n", step, loss.value().item());
  }

  const std::vector<std::vector<int32_t>> sources = {tokenizer.encode("5 7 3"), tokenizer.encode("12 70 3 44 44 99")};
  weft::generate::SourceDecoder decoder(model, sources);
  const std::vector<std::vector<int32_t>> begin(sources.size(), {weft::data::RankTask::bos_id});
  const auto answers =
      weft::generate::generate(decoder, begin, {.max_new_tokens = 7, .end_id = weft::data::RankTask::eos_id});
  for (size_t i = 0; i < sources.size(); ++i) {
    std::printf("%s: %s\n", tokenizer.decode(sources[i]).c_str(),
                tokenizer.decode(answers[i].ids, weft::text::SpecialTokens::skip).c_str());
  }
}
