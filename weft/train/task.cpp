#include "weft/train/task.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "weft/base/error.h"
#include "weft/data/text_corpus.h"
#include "weft/generate/causal_decoder.h"
#include "weft/generate/generate.h"
#include "weft/text/byte.h"
#include "weft/text/character.h"
#include "weft/text/word.h"

namespace weft::train {

namespace {

// The words of the text, the most frequent first and equals by name; at most `limit` of them unless that is 0.
std::vector<std::string> frequent_words(std::string_view text, int64_t limit) {
  std::map<std::string, int64_t> counts;
  for (const std::string_view piece : text::split_whitespace(text)) ++counts[text::repair_utf8(piece)];
  std::vector<std::pair<std::string, int64_t>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered, std::greater<>(), &std::pair<std::string, int64_t>::second);
  if (limit > 0 && static_cast<int64_t>(ordered.size()) > limit) ordered.resize(static_cast<size_t>(limit));
  std::vector<std::string> words;
  for (auto& [word, count] : ordered) words.push_back(std::move(word));
  return words;
}

std::unique_ptr<text::Tokenizer> make_tokenizer(const TokenizerSettings& settings, std::string_view text) {
  switch (settings.kind) {
    case TokenizerKind::character:
      return std::make_unique<text::CharacterTokenizer>(text::CharacterTokenizer::train(text));
    case TokenizerKind::byte:
      return std::make_unique<text::ByteTokenizer>();
    case TokenizerKind::word: {
      text::WordTokenizerConfig config{.words = frequent_words(text, settings.words), .special = {}, .max_length = 0};
      config.special.unk = "<UNK>";
      return std::make_unique<text::WordTokenizer>(config);
    }
  }
  fail("tokenizer: kind {} does not exist", static_cast<int>(settings.kind));
}

void make_language_model(const Recipe& recipe, Task& task) {
  const std::string text = data::read_text(recipe.data.file);
  if (task.tokenizer == nullptr) task.tokenizer = make_tokenizer(recipe.tokenizer, text);
  const data::TextCorpus corpus(text, recipe.data.file, *task.tokenizer,
                                {.validation_share = recipe.data.validation_share,
                                 .context = recipe.data.context,
                                 .batch_size = recipe.train.batch_size,
                                 .seed = static_cast<uint64_t>(recipe.train.seed)});
  task.training = corpus.training();
  task.validation = corpus.validation();
}

void make_count(const Recipe& recipe, Task& task) {
  if (task.tokenizer == nullptr) {
    task.tokenizer = std::make_unique<text::WordTokenizer>(text::number_words(static_cast<int>(recipe.data.numbers)));
  }
  data::CountTaskConfig config{.numbers = recipe.data.numbers,
                               .max_length = recipe.model.max_length,
                               .stop_at = recipe.data.stop_at,
                               .samples = recipe.data.samples,
                               .batch_size = recipe.train.batch_size,
                               .seed = static_cast<uint64_t>(recipe.train.seed)};
  task.count.emplace(config);
  task.training = std::make_unique<data::CountTask>(config);
  if (recipe.data.validation_samples > 0) {
    config.samples = recipe.data.validation_samples;
    task.validation = std::make_unique<data::CountTask>(config, data::CountSplit::validation);
  }
  task.generation = {.bos_id = data::CountTask::bos_id,
                     .eos_id = data::CountTask::eos_id,
                     .max_new_tokens = recipe.model.max_length - 1};
}

// The numbers from 0 on that a greedy continuation of [BOS, number] gets exactly right.
int64_t exact_starts(const models::CausalLM& model, const data::CountTask& count, Precision precision) {
  std::vector<std::vector<int32_t>> prompts;
  for (int64_t start = 0; start < count.config().numbers; ++start) prompts.push_back(data::CountTask::prompt(start));
  generate::CausalDecoder decoder(model, {.precision = precision});
  const std::vector<generate::Generated> answers = generate::generate(
      decoder, prompts, {.max_new_tokens = count.config().max_length - 1, .end_id = data::CountTask::eos_id});
  int64_t exact = 0;
  for (size_t start = 0; start < answers.size(); ++start) {
    exact += answers[start].ids == count.answer(static_cast<int64_t>(start)) ? 1 : 0;
  }
  return exact;
}

}  // namespace

Task make_task(const Recipe& recipe, std::unique_ptr<text::Tokenizer> tokenizer) {
  Task task;
  task.tokenizer = std::move(tokenizer);
  if (recipe.task.name == TaskKind::language_model) {
    make_language_model(recipe, task);
  } else {
    make_count(recipe, task);
  }
  task.model = recipe.model;
  task.model.vocab_size = task.tokenizer->vocab_size();
  task.model.resolve();
  return task;
}

Json evaluate(const models::CausalLM& model, const Task& task, const EvaluationSettings& settings) {
  Json figures = Json::object();
  if (task.validation != nullptr) {
    const int64_t all = task.validation->batches_per_epoch();
    double total = 0.0;
    int64_t counted = 0;
    for (int64_t index = 0; index < (settings.batches > 0 ? std::min(settings.batches, all) : all); ++index) {
      const data::PackedBatch batch = task.validation->batch(index);
      Context ctx{.precision = settings.precision, .rng = {}};
      const models::TokenInput input{batch.ids, batch.position_ids, Mask::packed(batch.offsets, true)};
      const Variable loss = model.loss(ctx, input, batch.targets, {.ignore_id = data::ignored_target});
      total += static_cast<double>(loss.value().item()) * static_cast<double>(batch.counted);
      counted += batch.counted;
    }
    const double loss = total / static_cast<double>(std::max<int64_t>(counted, 1));
    require(std::isfinite(loss), "evaluation: the validation loss is {}; the model's weights are broken", loss);
    figures["loss"] = json_number(static_cast<float>(loss));
    // e^88 is the largest that a float holds; a loss beyond that says nothing more.
    figures["perplexity"] = json_number(static_cast<float>(std::exp(std::min(loss, 88.0))));
    figures["tokens"] = counted;
  }
  if (task.count) {
    figures["starts"] = task.count->config().numbers;
    figures["exact"] = exact_starts(model, *task.count, settings.precision);
  }
  return figures;
}

}  // namespace weft::train
