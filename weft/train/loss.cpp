#include "weft/train/loss.h"

#include "weft/base/error.h"
#include "weft/generate/choose.h"

namespace weft::train {

namespace {

constexpr uint64_t sampling_site = 0x73616d70;  // the random stream of scheduled sampling

ops::CrossEntropyOptions options_of(const LossSettings& settings) {
  return {.ignore_id = data::ignored_target, .label_smoothing = settings.label_smoothing};
}

Variable loss(Context& ctx, const models::CausalLM& model, const data::Batch& batch, const LossSettings& settings) {
  return model.loss(ctx, input_of(batch.input, true), batch.targets, options_of(settings));
}

Variable loss(Context& ctx, const models::Bert& model, const data::Batch& batch, const LossSettings& settings) {
  return model.loss(ctx, input_of(batch.input, false),
                    {.tokens = batch.targets,
                     .classes = batch.classes,
                     .token_weight = settings.token_weight,
                     .class_weight = settings.class_weight},
                    options_of(settings));
}

// The decoder's input with some of its tokens replaced by what the model took for most probable in their place.
Tensor sampled_ids(const Context& ctx, const models::EncoderDecoder& model, const data::Batch& batch,
                   double teacher_probability) {
  Context inference{.precision = ctx.precision, .rng = {}};
  const models::EncodedSource source = model.encode(inference, input_of(batch.source, false));
  const std::vector<int32_t> guesses =
      generate::most_probable_rows(model.logits(inference, input_of(batch.input, true), source));
  const Rng rng = ctx.rng.split(sampling_site);
  Tensor ids = batch.input.ids.clone();
  for (size_t i = 0; i < batch.input.lengths.size(); ++i) {
    // The first token, BOS, is always given.
    for (int64_t row = batch.input.offsets[i] + 1; row < batch.input.offsets[i] + batch.input.lengths[i]; ++row) {
      if (rng.bernoulli(teacher_probability, static_cast<uint64_t>(row))) continue;
      ids.data<int32_t>()[row] = guesses[static_cast<size_t>(row - 1)];
    }
  }
  return ids;
}

Variable loss(Context& ctx, const models::EncoderDecoder& model, const data::Batch& batch,
              const LossSettings& settings) {
  require(batch.source.sequences() == batch.sequences(),
          "training: an encoder–decoder model needs a source for each of the {} sequences, got {}", batch.sequences(),
          batch.source.sequences());
  models::TokenInput target = input_of(batch.input, true);
  if (settings.teacher_probability < 1.0) {
    target.ids = sampled_ids(ctx, model, batch, settings.teacher_probability);
  }
  return model.loss(ctx, input_of(batch.source, false), target, batch.targets, options_of(settings));
}

}  // namespace

models::TokenInput input_of(const data::TokenRows& rows, bool causal) {
  models::TokenInput input{.ids = rows.ids, .position_ids = rows.position_ids};
  for (size_t i = 0; i < rows.lengths.size(); ++i) {
    const int64_t begin = rows.offsets[i], owned = rows.offsets[i + 1] - begin;
    input.mask.segments.push_back({begin, causal ? rows.lengths[i] : owned, begin, rows.lengths[i]});
  }
  input.mask.causal = causal;
  return input;
}

Variable loss_of(Context& ctx, const models::AnyModel& model, const data::Batch& batch, const LossSettings& settings) {
  return model.visit([&](const auto& held) { return loss(ctx, held, batch, settings); });
}

}  // namespace weft::train
