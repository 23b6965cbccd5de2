#include "weft/train/evaluate.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "weft/base/error.h"
#include "weft/data/masked_task.h"
#include "weft/data/rank_task.h"
#include "weft/generate/causal_decoder.h"
#include "weft/generate/choose.h"
#include "weft/generate/generate.h"
#include "weft/generate/source_decoder.h"
#include "weft/train/loss.h"

namespace weft::train {

namespace {

// Calls visit for every batch of the validation data that is to be used.
void for_each_batch(const Task& task, const EvaluationSettings& settings,
                    const std::function<void(const data::Batch&)>& visit) {
  const int64_t all = task.validation->batches_per_epoch();
  const int64_t count = settings.batches > 0 ? std::min(settings.batches, all) : all;
  for (int64_t index = 0; index < count; ++index) visit(task.validation->batch(index));
}

void add_losses(const models::AnyModel& model, const Task& task, const EvaluationSettings& settings, Json& figures) {
  double total = 0.0;
  int64_t counted = 0;
  for_each_batch(task, settings, [&](const data::Batch& batch) {
    Context ctx{.precision = settings.precision, .rng = {}};
    const Variable loss = loss_of(ctx, model, batch, {});
    total += static_cast<double>(loss.value().item()) * static_cast<double>(batch.counted);
    counted += batch.counted;
  });
  const double loss = total / static_cast<double>(std::max<int64_t>(counted, 1));
  require(std::isfinite(loss), "evaluation: the validation loss is {}; the model's weights are broken", loss);
  figures["loss"] = json_number(static_cast<float>(loss));
  // e^88 is the largest that a float holds; a loss beyond that says nothing more.
  if (task.kind != TaskKind::bert) {
    figures["perplexity"] = json_number(static_cast<float>(std::exp(std::min(loss, 88.0))));
  }
  figures["tokens"] = counted;
}

// The numbers from 0 on that a greedy continuation of [BOS, number] gets exactly right.
void add_exact_starts(const models::CausalLM& model, const data::CountTask& count, Precision precision, Json& figures) {
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t start = 0; start < count.config().numbers; ++start) prompts.push_back(data::CountTask::prompt(start));
  generate::CausalDecoder decoder(model, {.precision = precision});
  const std::vector<generate::Generated> answers = generate::generate(
      decoder, prompts, {.max_new_tokens = count.config().max_length - 1, .end_id = data::CountTask::eos_id});
  int64_t exact = 0;
  for (size_t start = 0; start < answers.size(); ++start) {
    exact += answers[start].ids == count.answer(static_cast<int64_t>(start)) ? 1 : 0;
  }
  figures["starts"] = count.config().numbers;
  figures["exact"] = exact;
}

void add_exact_ranks(const models::EncoderDecoder& model, const Task& task, const EvaluationSettings& settings,
                     Json& figures) {
  int64_t sequences = 0, exact = 0;
  for_each_batch(task, settings, [&](const data::Batch& batch) {
    std::vector<std::vector<int32_t>> sources;
    for (int64_t i = 0; i < batch.sequences(); ++i) sources.push_back(batch.source.sequence(i));
    const std::vector<std::vector<int32_t>> prompts(sources.size(), {data::RankTask::bos_id});
    generate::SourceDecoder decoder(model, sources, {.precision = settings.precision});
    const std::vector<generate::Generated> answers = generate::generate(
        decoder, prompts, {.max_new_tokens = model.config().max_length, .end_id = data::RankTask::eos_id});
    for (size_t i = 0; i < sources.size(); ++i) {
      exact += answers[i].ids == data::RankTask::answer(sources[i]) ? 1 : 0;
    }
    sequences += static_cast<int64_t>(sources.size());
  });
  figures["sequences"] = sequences;
  figures["exact"] = exact;
}

struct Share {
  int64_t right = 0;
  int64_t of = 0;

  void count(bool is_right) {
    right += is_right ? 1 : 0;
    ++of;
  }
  double value() const { return of == 0 ? 1.0 : static_cast<double>(right) / static_cast<double>(of); }
};

void add_masked_accuracy(const models::Bert& model, const Task& task, const EvaluationSettings& settings,
                         Json& figures) {
  Share classes, masked, beside_visible;
  for_each_batch(task, settings, [&](const data::Batch& batch) {
    Context ctx{.precision = settings.precision, .rng = {}};
    const models::TokenInput input = input_of(batch.input, false);
    const Variable hidden = model.hidden(ctx, input);
    const std::vector<int32_t> chosen = generate::most_probable_rows(model.class_logits(ctx, input, hidden));
    const std::vector<int32_t> tokens = generate::most_probable_rows(model.masked_logits(ctx, hidden));
    const auto ids = batch.input.ids.span<int32_t>(), targets = batch.targets.span<int32_t>();
    for (size_t i = 0; i < batch.input.lengths.size(); ++i) {
      classes.count(chosen[i] == batch.classes.span<int32_t>()[i]);
      const auto begin = static_cast<size_t>(batch.input.offsets[i]);
      const size_t end = begin + static_cast<size_t>(batch.input.lengths[i]);
      const auto is_visible = [&](size_t row) {
        return row > begin && row < end && ids[row] != data::MaskedTask::mask_id;
      };
      for (size_t row = begin + 1; row < end; ++row) {
        if (is_visible(row)) continue;
        masked.count(tokens[row] == targets[row]);
        if (is_visible(row - 1) || is_visible(row + 1)) beside_visible.count(tokens[row] == targets[row]);
      }
    }
  });
  figures["class_accuracy"] = classes.value();
  figures["masked_accuracy"] = masked.value();
  figures["masked_accuracy_beside_visible"] = beside_visible.value();
}

}  // namespace

Json evaluate(const models::AnyModel& model, const Task& task, const EvaluationSettings& settings) {
  Json figures = Json::object();
  if (task.validation != nullptr) add_losses(model, task, settings, figures);
  switch (task.kind) {
    case TaskKind::language_model:
      break;
    case TaskKind::count:
      add_exact_starts(model.as<models::CausalLM>(), *task.count, settings.precision, figures);
      break;
    case TaskKind::rank:
      if (task.validation != nullptr) add_exact_ranks(model.as<models::EncoderDecoder>(), task, settings, figures);
      break;
    case TaskKind::bert:
      if (task.validation != nullptr) add_masked_accuracy(model.as<models::Bert>(), task, settings, figures);
      break;
  }
  return figures;
}

}  // namespace weft::train
