#include "weft/train/recipe.h"

#include <algorithm>
#include <set>
#include <type_traits>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/suggest.h"
#include "weft/train/recipe_fields.h"
#include "weft/train/recipe_source.h"

namespace weft::train {

namespace {

constexpr uint64_t max_recipe_bytes = uint64_t{1} << 20;
constexpr std::string_view table_names[] = {"task", "data", "tokenizer", "model", "train", "optimizer", "schedule"};

// One table of a recipe as a visitor of its keys: sets every member whose key is given, remembers which keys exist.
class TableReader {
 public:
  explicit TableReader(const RecipeTable& table) : table_(&table) {}

  void operator()(std::string_view key, int64_t& member, const Range& range) {
    if (const RecipeValue* value = find(key)) {
      const auto* number = std::get_if<int64_t>(&value->value);
      if (number == nullptr || !range.holds(static_cast<double>(*number))) expected(*value, "a whole number", range);
      member = *number;
    }
  }
  void operator()(std::string_view key, double& member, const Range& range) {
    if (const RecipeValue* value = find(key)) {
      const auto* number = std::get_if<double>(&value->value);
      const auto* whole = std::get_if<int64_t>(&value->value);
      const double got = number != nullptr ? *number : whole != nullptr ? static_cast<double>(*whole) : 0.0;
      if ((number == nullptr && whole == nullptr) || !range.holds(got)) expected(*value, "a number", range);
      member = got;
    }
  }
  void operator()(std::string_view key, std::string& member) {
    if (const RecipeValue* value = find(key)) {
      const auto* text = std::get_if<std::string>(&value->value);
      if (text == nullptr || text->empty()) expected(*value, "a text that is not empty");
      member = *text;
    }
  }
  template <typename E, size_t n>
  void operator()(std::string_view key, E& member, const std::array<std::pair<std::string_view, E>, n>& names) {
    if (const RecipeValue* value = find(key)) {
      const auto* text = std::get_if<std::string>(&value->value);
      std::vector<std::string_view> known;
      for (const auto& [name, choice] : names) {
        known.push_back(name);
        if (text != nullptr && *text == name) {
          member = choice;
          return;
        }
      }
      const std::string_view closest = text != nullptr ? closest_match(*text, known) : "";
      expected(*value, fmt::format("one of {}", fmt::join(known, ", ")),
               closest.empty() ? "" : fmt::format("; did you mean \"{}\"?", closest));
    }
  }

  // To be called once all keys were visited.
  void finish() const {
    for (const RecipeValue& value : table_->values) {
      require<FormatError>(std::ranges::find(known_, value.key) != known_.end(), "{}: {}.{}: there is no such key{}",
                           value.place, table_->name, value.key, suggestion(value.key, known_));
    }
  }

  [[noreturn]] void expected(const RecipeValue& value, std::string_view what, std::string_view hint = "") const {
    fail<FormatError>("{}: {}.{}: expected {}, got {}{}", value.place, table_->name, value.key, what, describe(value),
                      hint);
  }

 private:
  const RecipeValue* find(std::string_view key) {
    known_.push_back(key);
    const auto found = std::ranges::find(table_->values, key, &RecipeValue::key);
    return found == table_->values.end() ? nullptr : &*found;
  }
  [[noreturn]] void expected(const RecipeValue& value, std::string_view kind, const Range& range) const {
    expected(value,
             fmt::format("{}{}{}", kind, range.words.starts_with("in") || range.words.starts_with("above") ? " " : ", ",
                         range.words));
  }

  const RecipeTable* table_;
  std::vector<std::string_view> known_;
};

Json json_value(const RecipeValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, OtherValue>) {
          return nullptr;
        } else {
          return v;
        }
      },
      value.value);
}

// [model] has the keys of models::TransformerConfig, whose own reader knows their values; this adds the place in the
// recipe.
models::TransformerConfig read_model(const RecipeTable& table, models::Architecture architecture,
                                     std::string_view source) {
  models::TransformerConfig usual_model;
  usual_model.architecture = architecture;
  const Json defaults = usual_model.to_json();
  std::vector<std::string> keys;
  for (const auto& [key, value] : defaults.items()) {
    if (!is_decided_by_task(key)) keys.push_back(key);
  }
  const std::vector<std::string_view> known(keys.begin(), keys.end());
  TableReader reader(table);
  Json given = {{"architecture", defaults.at("architecture")}};
  for (const RecipeValue& value : table.values) {
    require<FormatError>(!is_decided_by_task(value.key),
                         "{}: model.{}: the task and its tokenizer decide that; leave it out", value.place, value.key);
    require<FormatError>(std::ranges::find(known, value.key) != known.end(), "{}: model.{}: there is no such key{}",
                         value.place, value.key, suggestion(value.key, known));
    const Json& usual = defaults.at(value.key);
    const Json mine = json_value(value);
    if (usual.is_boolean() && !mine.is_boolean()) reader.expected(value, "true or false");
    if (usual.is_number_integer() && !mine.is_number_integer()) reader.expected(value, "a whole number");
    if (usual.is_number_float() && !mine.is_number()) reader.expected(value, "a number");
    if (usual.is_string() && !mine.is_string()) reader.expected(value, "a text");
    given[value.key] = mine;
    try {
      const Json alone = {{"architecture", defaults.at("architecture")}, {value.key, mine}};
      models::TransformerConfig::from_json(JsonView(alone, "[model]"));
    } catch (const Error& error) {
      fail<FormatError>("{}: {}", value.place, error.what());
    }
  }
  models::TransformerConfig config = models::TransformerConfig::from_json(JsonView(given, std::string(source)));
  config.vocab_size = 1;  // not known yet, and resolve() wants one
  if (architecture == models::Architecture::bert) config.classes = 1;
  try {
    config.resolve();
  } catch (const Error& error) {
    fail<FormatError>("{}: {}", table.place, error.what());
  }
  config.vocab_size = config.source_vocab_size = config.classes = 0;
  return config;
}

bool is_trained(TokenizerKind kind) {
  using enum TokenizerKind;
  return kind == bpe || kind == bpe_character || kind == unigram || kind == wordpiece;
}

void complete(Recipe& recipe, std::string_view source) {
  require<FormatError>(recipe.train.steps > 0 || recipe.train.epochs > 0,
                       "{}: train: expected steps or epochs (or both: whichever ends first), got neither", source);
  require<FormatError>(recipe.schedule.minimum <= recipe.optimizer.learning_rate,
                       "{}: schedule.minimum: expected at most optimizer.learning_rate {}, got {}", source,
                       recipe.optimizer.learning_rate, recipe.schedule.minimum);
  require<FormatError>(recipe.schedule.name != optim::ScheduleKind::inverse_sqrt || recipe.schedule.warmup_steps > 0,
                       "{}: schedule.warmup_steps: expected 1 or more for inverse_sqrt, got 0", source);
  require<FormatError>(recipe.tokenizer.words == 0 || recipe.tokenizer.kind == TokenizerKind::word,
                       "{}: tokenizer.words: only for kind = \"word\"", source);
  require<FormatError>(recipe.tokenizer.vocab_size == 0 || is_trained(recipe.tokenizer.kind),
                       "{}: tokenizer.vocab_size: only for the kinds bpe, bpe-character, unigram and wordpiece",
                       source);
  try {
    check(recipe.train.scheduled_sampling);
  } catch (const Error& error) {
    fail<FormatError>("{}: train: {}", source, error.what());
  }
  if (recipe.task.name != TaskKind::language_model) {
    require<FormatError>(
        recipe.tokenizer.path.empty() && recipe.tokenizer.kind == TokenizerKind::word && recipe.tokenizer.words == 0,
        "{}: tokenizer: the tasks of the notes have their own, of kind \"word\"; leave the table out", source);
    return;
  }
  require<FormatError>(!recipe.data.file.empty(), "{}: data.file: expected the path of a text file, got nothing",
                       source);
  if (recipe.data.context == 0) recipe.data.context = recipe.model.max_length;
  require<FormatError>(recipe.data.context <= recipe.model.max_length,
                       "{}: data.context: expected at most model.max_length {}, got {}", source,
                       recipe.model.max_length, recipe.data.context);
}

}  // namespace

models::Architecture architecture_of(TaskKind task) {
  switch (task) {
    case TaskKind::language_model:
    case TaskKind::count:
      return models::Architecture::causal_lm;
    case TaskKind::rank:
      return models::Architecture::encoder_decoder;
    case TaskKind::bert:
      return models::Architecture::bert;
  }
  fail("recipe: task {} does not exist", static_cast<int>(task));
}

Recipe parse_recipe(std::string_view text, std::string_view source, std::span<const std::string> overrides) {
  const std::vector<RecipeTable> tables = parse_recipe_tables(text, source, overrides);
  for (const RecipeTable& table : tables) {
    require<FormatError>(std::ranges::find(table_names, table.name) != std::end(table_names),
                         "{}: [{}]: there is no such table{}", table.place, table.name,
                         suggestion(table.name, table_names));
  }
  const auto table = [&](std::string_view name) {
    const auto found = std::ranges::find(tables, name, &RecipeTable::name);
    return found != tables.end() ? *found : RecipeTable{std::string(name), std::string(source), {}};
  };
  const auto read = [&](std::string_view name, auto visit) {
    const RecipeTable content = table(name);
    TableReader reader(content);
    visit(reader);
    reader.finish();
  };
  Recipe recipe;
  read("task", [&](auto& reader) { visit_task(recipe.task, reader); });
  if (recipe.task.name != TaskKind::language_model) recipe.tokenizer.kind = TokenizerKind::word;
  read("data", [&](auto& reader) { visit_data(recipe.task.name, recipe.data, reader); });
  read("tokenizer", [&](auto& reader) { visit_tokenizer(recipe.tokenizer, reader); });
  read("train", [&](auto& reader) { visit_train(recipe.task.name, recipe.train, reader); });
  read("optimizer", [&](auto& reader) { visit_optimizer(recipe.optimizer, reader); });
  read("schedule", [&](auto& reader) { visit_schedule(recipe.schedule, reader); });
  recipe.model = read_model(table("model"), architecture_of(recipe.task.name), source);
  complete(recipe, source);
  return recipe;
}

Recipe read_recipe(const std::filesystem::path& path, std::span<const std::string> overrides) {
  return parse_recipe(read_file(path, max_recipe_bytes), path.string(), overrides);
}

std::filesystem::path find_data_file(const std::string& file, const std::filesystem::path& recipe_path,
                                     std::string_view key) {
  namespace fs = std::filesystem;
  const fs::path beside = fs::absolute(recipe_path).parent_path().parent_path() / file;
  for (const fs::path& candidate : {fs::path(file), beside}) {
    std::error_code ignored;
    if (fs::exists(candidate, ignored)) return fs::absolute(candidate).lexically_normal();
  }
  fail<IoError>("{} \"{}\": no such file in the current folder {}, nor at {}", key, file, fs::current_path().string(),
                beside.lexically_normal().string());
}

}  // namespace weft::train
