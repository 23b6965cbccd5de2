#pragma once

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "weft/train/recipe.h"

// The keys of every table but [model], each once: reading, writing and checking walk the same lists. A visitor is
// called as visit(key, member, check) for numbers, visit(key, member) for text, visit(key, member, names) for choices.
namespace weft::train {

// The values that a number may take, and how a message says so.
struct Range {
  std::string_view words;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
  bool high_excluded = false;

  bool holds(double value) const {
    return (low_excluded ? value > low : value >= low) && (high_excluded ? value < high : value <= high);
  }
};

constexpr double largest_count = 1e15;  // far beyond any run, and products with other counts of a recipe fit 64 bits
constexpr Range from_0{"0 or more", 0, largest_count};
constexpr Range from_1{"1 or more", 1, largest_count};
constexpr Range size_from_1{"1 to 1000000", 1, 1e6};
constexpr Range up_to_4096{"0 to 4096", 0, 4096};
constexpr Range above_0{"above 0", 0, std::numeric_limits<double>::infinity(), true};
constexpr Range up_to_1{"in [0, 1]", 0, 1};
constexpr Range share{"in [0, 1)", 0, 1, false, true};

template <typename E, size_t n>
using Names = std::array<std::pair<std::string_view, E>, n>;

constexpr Names<TaskKind, 4> task_names = {{{"language_model", TaskKind::language_model},
                                            {"count", TaskKind::count},
                                            {"rank", TaskKind::rank},
                                            {"bert", TaskKind::bert}}};
constexpr Names<data::Packing, 2> packing_names = {
    {{"packed", data::Packing::packed}, {"padded", data::Packing::padded}}};
constexpr Names<SamplingSchedule, 4> sampling_names = {{{"none", SamplingSchedule::none},
                                                        {"linear", SamplingSchedule::linear},
                                                        {"exponential", SamplingSchedule::exponential},
                                                        {"inverse_sigmoid", SamplingSchedule::inverse_sigmoid}}};
constexpr Names<TokenizerKind, 7> tokenizer_names = {{{"character", TokenizerKind::character},
                                                      {"byte", TokenizerKind::byte},
                                                      {"word", TokenizerKind::word},
                                                      {"bpe", TokenizerKind::bpe},
                                                      {"bpe-character", TokenizerKind::bpe_character},
                                                      {"unigram", TokenizerKind::unigram},
                                                      {"wordpiece", TokenizerKind::wordpiece}}};
constexpr Names<Precision, 2> precision_names = {{{"f32", Precision::f32}, {"bf16", Precision::bf16}}};
constexpr Names<optim::DecayScope, 2> decay_names = {
    {{"matrices", optim::DecayScope::matrices}, {"all", optim::DecayScope::all}}};
constexpr Names<optim::ScheduleKind, 4> schedule_names = {{{"constant", optim::ScheduleKind::constant},
                                                           {"cosine", optim::ScheduleKind::cosine},
                                                           {"cosine_epochs", optim::ScheduleKind::cosine_epochs},
                                                           {"inverse_sqrt", optim::ScheduleKind::inverse_sqrt}}};

// Keys of models::TransformerConfig that are not the recipe's to set.
inline bool is_decided_by_task(std::string_view model_key) {
  return model_key == "architecture" || model_key == "vocab_size" || model_key == "source_vocab_size" ||
         model_key == "classes";
}

template <typename Settings, typename Visit>
void visit_task(Settings& task, Visit&& visit) {
  visit("name", task.name, task_names);
}

template <typename Settings, typename Visit>
void visit_data(TaskKind task, Settings& data, Visit&& visit) {
  if (task == TaskKind::language_model) {
    visit("file", data.file);
    visit("validation_share", data.validation_share, share);
    visit("context", data.context, from_0);
  } else {
    visit("numbers", data.numbers, size_from_1);
    if (task == TaskKind::count) visit("stop_at", data.stop_at, from_0);
    if (task == TaskKind::bert) visit("mask_rate", data.mask_rate, share);
    visit("samples", data.samples, from_1);
    visit("validation_samples", data.validation_samples, from_0);
    visit("packing", data.packing, packing_names);
  }
}

template <typename Settings, typename Visit>
void visit_tokenizer(Settings& tokenizer, Visit&& visit) {
  visit("path", tokenizer.path);
  if (!tokenizer.path.empty()) return;
  visit("kind", tokenizer.kind, tokenizer_names);
  visit("words", tokenizer.words, from_0);
  visit("vocab_size", tokenizer.vocab_size, from_0);
}

template <typename Settings, typename Visit>
void visit_train(TaskKind task, Settings& train, Visit&& visit) {
  visit("steps", train.steps, from_0);
  visit("epochs", train.epochs, from_0);
  visit("batch_size", train.batch_size, size_from_1);
  visit("gradient_accumulation", train.gradient_accumulation, size_from_1);
  visit("seed", train.seed, from_0);
  visit("precision", train.precision, precision_names);
  visit("threads", train.threads, up_to_4096);
  visit("log_every", train.log_every, from_1);
  visit("eval_every", train.eval_every, from_0);
  visit("eval_batches", train.eval_batches, from_0);
  visit("checkpoint_every", train.checkpoint_every, from_0);
  visit("keep_checkpoints", train.keep_checkpoints, from_1);
  visit("clip_norm", train.clip_norm, from_0);
  visit("label_smoothing", train.label_smoothing, share);
  if (task == TaskKind::bert) {
    visit("token_weight", train.token_weight, from_0);
    visit("class_weight", train.class_weight, from_0);
  }
  if (task == TaskKind::rank) {
    visit("scheduled_sampling", train.scheduled_sampling.schedule, sampling_names);
    visit("sampling_rate", train.scheduled_sampling.rate, from_0);
    visit("sampling_floor", train.scheduled_sampling.floor, up_to_1);
  }
}

template <typename Settings, typename Visit>
void visit_optimizer(Settings& optimizer, Visit&& visit) {
  visit("learning_rate", optimizer.learning_rate, above_0);
  visit("beta1", optimizer.beta1, share);
  visit("beta2", optimizer.beta2, share);
  visit("epsilon", optimizer.epsilon, above_0);
  visit("weight_decay", optimizer.weight_decay, from_0);
  visit("decay", optimizer.decay, decay_names);
}

template <typename Settings, typename Visit>
void visit_schedule(Settings& schedule, Visit&& visit) {
  visit("name", schedule.name, schedule_names);
  visit("minimum", schedule.minimum, from_0);
  visit("warmup_steps", schedule.warmup_steps, from_0);
  visit("steps", schedule.steps, from_0);
  visit("epochs", schedule.epochs, from_0);
}

}  // namespace weft::train
