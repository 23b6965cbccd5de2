#include "weft/train/samples.h"

#include <algorithm>

#include "weft/generate/causal_decoder.h"
#include "weft/generate/generate.h"

namespace weft::train {

namespace {

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
  constexpr int64_t most_samples = 3, prompt_tokens = 16, new_tokens = 48;
  const data::PackedBatch batch = (task.validation == nullptr ? task.training : task.validation)->batch(0);
  std::vector<std::vector<int32_t>> prompts;
  for (size_t i = 0; i + 1 < batch.offsets.size() && static_cast<int64_t>(i) < most_samples; ++i) {
    const int64_t length = std::min(prompt_tokens, batch.offsets[i + 1] - batch.offsets[i]);
    const auto ids =
        batch.ids.span<int32_t>().subspan(static_cast<size_t>(batch.offsets[i]), static_cast<size_t>(length));
    prompts.emplace_back(ids.begin(), ids.end());
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

}  // namespace

Json draw_samples(const models::CausalLM& model, const Task& task, Precision precision) {
  generate::CausalDecoder decoder(model, {.precision = precision});
  return task.count ? count_samples(decoder, task) : text_samples(decoder, task);
}

}  // namespace weft::train
