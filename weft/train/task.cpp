#include "weft/train/task.h"

#include <algorithm>
#include <functional>
#include <map>

#include "weft/base/error.h"
#include "weft/data/masked_task.h"
#include "weft/data/rank_task.h"
#include "weft/data/text_corpus.h"
#include "weft/text/byte.h"
#include "weft/text/character.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/training/tokenizer_trainer.h"
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

std::unique_ptr<text::Tokenizer> train_tokenizer(text::TokenizerKind kind, int64_t vocab_size, std::string_view text) {
  text::TokenizerTrainerConfig config;
  config.kind = kind;
  if (vocab_size > 0) config.vocab_size = static_cast<int32_t>(std::min<int64_t>(vocab_size, 1 << 24));
  text::TokenizerTrainer trainer(config);
  trainer.add_text(text);
  return trainer.finish();
}

std::unique_ptr<text::Tokenizer> make_tokenizer(const TokenizerSettings& settings, std::string_view text) {
  if (!settings.path.empty()) return text::load_tokenizer(settings.path);
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
    case TokenizerKind::bpe:
      return train_tokenizer(text::TokenizerKind::bpe, settings.vocab_size, text);
    case TokenizerKind::bpe_character:
      return train_tokenizer(text::TokenizerKind::bpe_character, settings.vocab_size, text);
    case TokenizerKind::unigram:
      return train_tokenizer(text::TokenizerKind::unigram, settings.vocab_size, text);
    case TokenizerKind::wordpiece:
      return train_tokenizer(text::TokenizerKind::wordpiece, settings.vocab_size, text);
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

// The two splits of a task that makes its samples up; the training split.
template <typename DataTask, typename Config>
const DataTask* make_sampled(const Recipe& recipe, Config config, Task& task) {
  config.numbers = recipe.data.numbers;
  config.max_length = recipe.model.max_length;
  config.sampling = {.samples = recipe.data.samples,
                     .batch_size = recipe.train.batch_size,
                     .seed = static_cast<uint64_t>(recipe.train.seed),
                     .split = data::Split::training,
                     .packing = recipe.data.packing};
  auto training = std::make_unique<DataTask>(config);
  const DataTask* result = training.get();
  task.training = std::move(training);
  if (recipe.data.validation_samples == 0) return result;
  config.sampling.samples = recipe.data.validation_samples;
  config.sampling.split = data::Split::validation;
  task.validation = std::make_unique<DataTask>(config);
  return result;
}

void make_synthetic(const Recipe& recipe, Task& task) {
  const int numbers = static_cast<int>(recipe.data.numbers);
  if (task.tokenizer == nullptr) {
    task.tokenizer = std::make_unique<text::WordTokenizer>(
        recipe.task.name == TaskKind::bert ? text::masked_number_words(numbers) : text::number_words(numbers));
  }
  switch (recipe.task.name) {
    case TaskKind::language_model:
      break;
    case TaskKind::count:
      task.count.emplace(
          *make_sampled<data::CountTask>(recipe, data::CountTaskConfig{.stop_at = recipe.data.stop_at}, task));
      break;
    case TaskKind::rank:
      make_sampled<data::RankTask>(recipe, data::RankTaskConfig(), task);
      break;
    case TaskKind::bert:
      make_sampled<data::MaskedTask>(recipe, data::MaskedTaskConfig{.mask_rate = recipe.data.mask_rate}, task);
      break;
  }
  task.generation.bos_id = task.tokenizer->special().bos;
  task.generation.eos_id = task.tokenizer->special().eos;
  if (recipe.task.name != TaskKind::bert) task.generation.max_new_tokens = recipe.model.max_length - 1;
}

}  // namespace

Task make_task(const Recipe& recipe, std::unique_ptr<text::Tokenizer> tokenizer) {
  Task task;
  task.kind = recipe.task.name;
  task.tokenizer = std::move(tokenizer);
  if (task.kind == TaskKind::language_model) {
    make_language_model(recipe, task);
  } else {
    make_synthetic(recipe, task);
  }
  task.model = recipe.model;
  task.model.vocab_size = task.tokenizer->vocab_size();
  if (task.kind == TaskKind::bert) task.model.classes = data::MaskedTask::classes;
  if (task.kind == TaskKind::rank) {
    task.model.source_vocab_size = task.model.vocab_size;
    // Ranks are small numbers, the first of the vocabulary: the decoder needs no others.
    if (!task.model.share_embeddings) task.model.vocab_size = data::RankTask::target_ids(recipe.model.max_length);
  }
  task.model.resolve();
  return task;
}

}  // namespace weft::train
