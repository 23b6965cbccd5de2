#include <charconv>
#include <memory>

#include "apps/weft/line_batches.h"
#include "apps/weft/options.h"
#include "apps/weft/tokenizer.h"
#include "weft/base/error.h"
#include "weft/base/json.h"
#include "weft/text/tokenizer_file.h"

namespace weft::app {

namespace {

struct DecodeOptions {
  CommonOptions common;
  std::string tokenizer;
  InputFormat input = InputFormat::text;
  bool skip_special_tokens = false;
};

std::vector<int32_t> read_ids(std::string_view line) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<int32_t> ids;
  for (size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    int32_t id = 0;
    const auto [last, error] = std::from_chars(line.data() + begin, line.data() + end, id);
    require<FormatError>(error == std::errc() && last == line.data() + end,
                         "expected ids separated by blanks, got \"{}\"",
                         text::repair_utf8(line.substr(begin, std::min<size_t>(end - begin, 40))));
    ids.push_back(id);
    begin = line.find_first_not_of(blanks, end);
  }
  return ids;
}

std::vector<int32_t> read_json_ids(std::string_view line) {
  const Json document = parse_json(line, "the line's JSON");
  const JsonView view(document, "the line's JSON");
  std::vector<int32_t> ids;
  for (int id : view.as<std::vector<int>>()) ids.push_back(id);
  return ids;
}

void run_decode(const DecodeOptions& options) {
  apply_threads(options.common);
  const std::unique_ptr<text::Tokenizer> tokenizer = text::load_tokenizer(options.tokenizer);
  const auto special = options.skip_special_tokens ? text::SpecialTokens::skip : text::SpecialTokens::keep;
  answer_lines([&](std::string_view line, int64_t, std::string& output) {
    const std::vector<int32_t> ids = options.input == InputFormat::jsonl ? read_json_ids(line) : read_ids(line);
    for (const int32_t id : ids) {
      require<FormatError>(id >= 0 && id < tokenizer->vocab_size(), "the id {} is not among the {} of the vocabulary",
                           id, tokenizer->vocab_size());
    }
    const std::string decoded = tokenizer->decode(ids, special);
    output += options.common.json ? format_json(Json{{"text", decoded}}, JsonStyle::compact) : decoded;
    output += '\n';
  });
}

}  // namespace

void add_tokenizer_decode(CLI::App& tokenizer) {
  auto options = std::make_shared<DecodeOptions>();
  CLI::App* command = tokenizer.add_subcommand("decode", "Lines of ids on standard input to text");
  add_tokenizer_path(*command, options->tokenizer);
  add_input_format(*command, options->input, "text: ids separated by blanks; jsonl: a JSON array a line");
  command->add_flag("--skip-special-tokens", options->skip_special_tokens, "Leave special tokens out");
  add_threads(*command, options->common);
  command->add_flag("--json", options->common.json, "Print {\"text\": …} per line: the text may hold line ends");
  command->callback([options] { run_decode(*options); });
}

}  // namespace weft::app
