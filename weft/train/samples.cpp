#include "weft/train/samples.h"

#include <algorithm>

#include "weft/data/masked_task.h"
#include "weft/data/rank_task.h"
#include "weft/generate/causal_decoder.h"
#include "weft/generate/choose.h"
#include "weft/generate/generate.h"
#include "weft/generate/source_decoder.h"
#include "weft/train/loss.h"

namespace weft::train {

namespace {

constexpr int64_t most_samples = 3;

data::Batch first_batch(const Task& task) {
  return (task.validation == nullptr ? task.training : task.validation)->batch(0);
}

std::string shown(const Task& task, std::span<const int32_t> ids) {
  return task.tokenizer->decode(ids, text::SpecialTokens::keep);
}

Json count_samples(generate::Decoder& decoder, const Task& task) {
  const data::CountTask& count = *task.count;
  const int64_t numbers = count.config().numbers, stop_at = count.config().stop_at;
  std::vector<int64_t> starts;
  for (const int64_t start : {int64_t{0}, stop_at / 2, stop_at - 2, stop_at, numbers - 1}) {
    if (start >= 0 && start < numbers && std::ranges::find(starts, start) == starts.end()) starts.push_back(start);
  }
  std::vector<std::vector<int32_t>> prompts;
  for (const int64_t start : starts) prompts.push_back(data::CountTask::prompt(start));
  const auto answers = generate::generate(
      decoder, prompts,
      {.max_new_tokens = std::max<int64_t>(1, count.config().max_length - 1), .end_id = data::CountTask::eos_id});
  Json samples = Json::array();
  for (size_t i = 0; i < starts.size(); ++i) {
    samples.push_back({{"input", shown(task, prompts[i])},
                       {"output", shown(task, answers[i].ids)},
                       {"expected", shown(task, count.answer(starts[i]))}});
  }
  return samples;
}

Json text_samples(generate::Decoder& decoder, const Task& task) {
  constexpr size_t prompt_tokens = 16;
  constexpr int64_t new_tokens = 48;
  const data::Batch batch = first_batch(task);
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t i = 0; i < std::min(most_samples, batch.sequences()); ++i) {
    prompts.push_back(batch.input.sequence(i));
    prompts.back().resize(std::min(prompts.back().size(), prompt_tokens));
  }
  const auto answers = generate::generate(decoder, prompts,
                                          {.max_new_tokens = new_tokens,
                                           .decoding = generate::Decoding::sample,
                                           .sampling = {.temperature = 0.8},
                                           .end_id = task.generation.eos_id});
  Json samples = Json::array();
  for (size_t i = 0; i < prompts.size(); ++i) {
    samples.push_back({{"input", shown(task, prompts[i])}, {"output", shown(task, answers[i].ids)}});
  }
  return samples;
}

Json rank_samples(const models::EncoderDecoder& model, const Task& task, Precision precision) {
  const data::Batch batch = first_batch(task);
  std::vector<std::vector<int32_t>> sources;
  for (int64_t i = 0; i < std::min(most_samples, batch.sequences()); ++i) sources.push_back(batch.source.sequence(i));
  generate::SourceDecoder decoder(model, sources, {.precision = precision});
  const std::vector<std::vector<int32_t>> prompts(sources.size(), {data::RankTask::bos_id});
  const auto answers = generate::generate(
      decoder, prompts, {.max_new_tokens = model.config().max_length, .end_id = data::RankTask::eos_id});
  Json samples = Json::array();
  for (size_t i = 0; i < sources.size(); ++i) {
    samples.push_back({{"input", shown(task, sources[i])},
                       {"output", shown(task, answers[i].ids)},
                       {"expected", shown(task, data::RankTask::answer(sources[i]))}});
  }
  return samples;
}

Json masked_samples(const models::Bert& model, const Task& task, Precision precision) {
  const data::Batch batch = first_batch(task);
  Context ctx{.precision = precision, .rng = {}};
  const Variable hidden = model.hidden(ctx, input_of(batch.input, false));
  const std::vector<int32_t> guesses = generate::most_probable_rows(model.masked_logits(ctx, hidden));
  Json samples = Json::array();
  for (int64_t i = 0; i < std::min(most_samples, batch.sequences()); ++i) {
    const std::vector<int32_t> input = batch.input.sequence(i);
    std::vector<int32_t> output = input, expected = input;
    for (size_t t = 1; t < input.size(); ++t) {
      const size_t row = static_cast<size_t>(batch.input.offsets[static_cast<size_t>(i)]) + t;
      expected[t] = batch.targets.span<int32_t>()[row];
      if (input[t] == data::MaskedTask::mask_id) output[t] = guesses[row];
    }
    samples.push_back(
        {{"input", shown(task, input)}, {"output", shown(task, output)}, {"expected", shown(task, expected)}});
  }
  return samples;
}

}  // namespace

Json draw_samples(const models::AnyModel& model, const Task& task, Precision precision) {
  switch (task.kind) {
    case TaskKind::rank:
      return rank_samples(model.as<models::EncoderDecoder>(), task, precision);
    case TaskKind::bert:
      return masked_samples(model.as<models::Bert>(), task, precision);
    case TaskKind::language_model:
    case TaskKind::count:
      break;
  }
  generate::CausalDecoder decoder(model.as<models::CausalLM>(), {.precision = precision});
  return task.count ? count_samples(decoder, task) : text_samples(decoder, task);
}

}  // namespace weft::train
