#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "apps/weft/commands.h"
#include "apps/weft/encoder_input.h"
#include "apps/weft/input_lines.h"
#include "apps/weft/model_kind.h"
#include "apps/weft/options.h"
#include "weft/base/error.h"
#include "weft/base/json.h"

namespace weft::app {

namespace {

constexpr std::string_view written_mask = "[MASK]";  // as people write it, whatever the vocabulary calls it
constexpr size_t lines_at_once = 32;

struct FillMaskOptions {
  CommonOptions common;
  std::string run;
  std::optional<std::string> text;
  int64_t top_k = 5;
};

// The name of the mask in a vocabulary.
std::string mask_name(const text::Tokenizer& tokenizer) {
  constexpr std::array<std::string_view, 3> names = {written_mask, "<mask>", "<MASK>"};
  const auto found =
      std::ranges::find_if(names, [&](std::string_view name) { return tokenizer.find(name).has_value(); });
  require(found != names.end(), "fill-mask: the vocabulary has no mask token ({})", fmt::join(names, ", "));
  return std::string(*found);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t place = text.find(from); place != std::string::npos; place = text.find(from, place + to.size())) {
    text.replace(place, from.size(), to);
  }
  return text;
}

class MaskFiller {
 public:
  explicit MaskFiller(const FillMaskOptions& options)
      : options_(options), bert_(options.run), mask_(mask_name(*bert_.tokenizer)) {
    mask_id_ = *bert_.tokenizer->find(mask_);
  }

  void fill(std::span<const std::string> lines, int64_t first_line) const {
    std::vector<std::vector<int32_t>> ids;
    for (const std::string& line : lines) {
      const int64_t number = first_line + static_cast<int64_t>(ids.size());
      ids.push_back(bert_.encode(replaced(line, written_mask, mask_), number));
      require(std::ranges::find(ids.back(), mask_id_) != ids.back().end(),
              "fill-mask: line {} has no {}; write one where a token is to be found", number, written_mask);
    }
    const models::Bert& model = bert_.model->model;
    Context ctx{.precision = precision_of(options_.common), .rng = {}};
    const Variable hidden =
        model.hidden(ctx, models::packed_input(std::vector<std::span<const int32_t>>(ids.begin(), ids.end())));
    const Tensor logits = model.masked_logits(ctx, hidden).value().to(DType::f32).contiguous();
    const auto v = static_cast<size_t>(logits.dim(-1));
    size_t row = 0;
    for (size_t line = 0; line < lines.size(); ++line) {
      Json masks = Json::array();
      for (size_t position = 0; position < ids[line].size(); ++position, ++row) {
        if (ids[line][position] != mask_id_) continue;
        masks.push_back(
            {{"position", position}, {"predictions", predictions(logits.span<float>().subspan(row * v, v))}});
      }
      print(lines[line], masks);
    }
  }

 private:
  // A model's table may have more rows than the tokenizer has tokens: those are no answers, and share no probability.
  Json predictions(std::span<const float> logits) const {
    const auto tokens = static_cast<size_t>(bert_.tokenizer->vocab_size());
    const std::vector<float> probabilities = probabilities_of(logits.first(std::min(logits.size(), tokens)));
    Json list = Json::array();
    for (const size_t id : largest_first(probabilities, static_cast<size_t>(options_.top_k))) {
      list.push_back({{"id", id},
                      {"token", text::repair_utf8(bert_.tokenizer->token(static_cast<int32_t>(id)))},
                      {"probability", json_number(probabilities[id])}});
    }
    return list;
  }

  void print(const std::string& line, const Json& masks) const {
    if (options_.common.json) {
      const Json result = {{"text", text::repair_utf8(line)}, {"masks", masks}};
      fmt::print("{}\n", format_json(result, JsonStyle::compact));
      return;
    }
    for (size_t mask = 0; mask < masks.size(); ++mask) {
      for (const Json& prediction : masks[mask]["predictions"]) {
        fmt::print("{}\t{}\t{:.6f}\n", mask + 1, prediction["token"].get<std::string>(),
                   prediction["probability"].get<double>());
      }
    }
  }

  const FillMaskOptions& options_;
  LoadedBert bert_;
  std::string mask_;
  int32_t mask_id_ = 0;
};

void run_fill_mask(const FillMaskOptions& options) {
  apply_threads(options.common);
  require_architecture(options.run, models::Architecture::bert, "fill-mask");
  const MaskFiller filler(options);
  for_lines(options.text, lines_at_once,
            [&](std::span<const std::string> lines, int64_t first_line) { filler.fill(lines, first_line); });
}

}  // namespace

void add_fill_mask(CLI::App& program) {
  auto options = std::make_shared<FillMaskOptions>();
  CLI::App* command = program.add_subcommand(
      "fill-mask", "Say which tokens a model puts in the place of each [MASK]: its number, the token, the probability");
  command->add_option("run", options->run, "Run folder or model folder")->required();
  command->add_option("--text", options->text, "Text with [MASK] in it; without it, every line of standard input");
  command->add_option("--top-k", options->top_k, "Tokens to name for each mask")
      ->capture_default_str()
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  add_precision(*command, options->common);
  add_threads(*command, options->common);
  add_json(*command, options->common);
  command->callback([options] { run_fill_mask(*options); });
}

}  // namespace weft::app
