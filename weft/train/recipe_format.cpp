#include <iterator>
#include <sstream>
#include <vector>

#include "weft/base/error.h"
#include "weft/train/recipe.h"
#include "weft/train/recipe_fields.h"

namespace weft::train {

namespace {

std::string toml_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

// As many digits as give the same number back, and always a float of TOML.
std::string written(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Writes key after key of one table.
class TableWriter {
 public:
  TableWriter(std::string_view name, std::string& out) : out_(&out) {
    fmt::format_to(std::back_inserter(out), "{}[{}]\n", out.empty() ? "" : "\n", name);
  }

  void operator()(std::string_view key, int64_t member, const Range&) { line(key, fmt::format("{}", member)); }
  void operator()(std::string_view key, double member, const Range&) { line(key, written(member)); }
  // An empty text is one that was not given: the reader takes none.
  void operator()(std::string_view key, const std::string& member) {
    if (!member.empty()) line(key, toml_text(member));
  }
  template <typename E, size_t n>
  void operator()(std::string_view key, E member, const std::array<std::pair<std::string_view, E>, n>& names) {
    for (const auto& [name, choice] : names) {
      if (choice == member) line(key, toml_text(name));
    }
  }
  void line(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(*out_), "{} = {}\n", key, value);
  }

 private:
  std::string* out_;
};

void write_model(const models::TransformerConfig& model, TableWriter writer) {
  const Json json = model.to_json();
  for (const auto& [key, value] : json.items()) {
    if (is_decided_by_task(key)) continue;
    if (value.is_string()) {
      writer.line(key, toml_text(value.get<std::string>()));
    } else {
      writer.line(key, value.is_number_float() ? written(value.get<double>()) : value.dump());
    }
  }
}

// The parts of a recipe that a run cannot change: what the numbers learnt so far belong to.
std::string unchangeable(Recipe recipe) {
  recipe.data.file.clear();
  Recipe fixed;
  fixed.task = recipe.task;
  fixed.data = recipe.data;
  fixed.tokenizer = recipe.tokenizer;
  fixed.model = recipe.model;
  fixed.train.batch_size = recipe.train.batch_size;
  fixed.train.gradient_accumulation = recipe.train.gradient_accumulation;
  fixed.train.seed = recipe.train.seed;
  return format_recipe(fixed);
}

}  // namespace

std::string format_recipe(const Recipe& recipe) {
  std::string text;
  visit_task(recipe.task, TableWriter("task", text));
  visit_data(recipe.task.name, recipe.data, TableWriter("data", text));
  visit_tokenizer(recipe.tokenizer, TableWriter("tokenizer", text));
  write_model(recipe.model, TableWriter("model", text));
  visit_train(recipe.task.name, recipe.train, TableWriter("train", text));
  visit_optimizer(recipe.optimizer, TableWriter("optimizer", text));
  visit_schedule(recipe.schedule, TableWriter("schedule", text));
  return text;
}

bool operator==(const Recipe& a, const Recipe& b) { return format_recipe(a) == format_recipe(b); }

void require_resumable(const Recipe& before, const Recipe& after) {
  std::istringstream old_lines(unchangeable(before)), new_lines(unchangeable(after));
  std::string was, is, table;
  while (std::getline(old_lines, was) && std::getline(new_lines, is)) {
    if (was.starts_with('[')) table = was;
    require(was == is,
            "resume: {} cannot change during a run: it has `{}`, and `{}` was asked for; start a new run for that",
            table, was, is);
  }
}

}  // namespace weft::train
