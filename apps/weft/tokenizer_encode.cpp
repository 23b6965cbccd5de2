#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <mutex>

#include "apps/weft/line_batches.h"
#include "apps/weft/options.h"
#include "apps/weft/tokenizer.h"
#include "weft/base/error.h"
#include "weft/base/json.h"

namespace weft::app {

namespace {

struct EncodeCommand {
  CommonOptions common;
  std::string tokenizer;
  InputFormat input = InputFormat::text;
  bool no_special_tokens = false;
  std::optional<int64_t> max_length, stride;
  std::string padding;
};

// The texts of a line.
struct Input {
  std::string text;
  std::optional<std::string> pair;
};

Input read_json_input(std::string_view line) {
  constexpr std::string_view source = "the line's JSON";
  const Json document = parse_json(line, source);
  const JsonView view(document, std::string(source));
  if (document.is_string()) return {view.as<std::string>(), std::nullopt};
  if (!document.is_object()) view.expected("a string or an object with \"text\"");
  view.allow_only({"text", "pair"});
  Input input{view.get<std::string>("text"), std::nullopt};
  if (view.has("pair")) input.pair = view.get<std::string>("pair");
  return input;
}

Json to_json(const text::Encoding& encoding) {
  Json offsets = Json::array(), words = Json::array();
  for (const text::ByteRange& range : encoding.offsets) offsets.push_back({range.begin, range.end});
  for (const int32_t word : encoding.word_ids) {
    words.push_back(word == text::Encoding::no_word ? Json(nullptr) : Json(word));
  }
  Json result = {{"ids", encoding.ids},
                 {"tokens", encoding.tokens},
                 {"offsets", std::move(offsets)},
                 {"type_ids", encoding.type_ids},
                 {"attention_mask", encoding.attention_mask},
                 {"special_tokens_mask", encoding.special_tokens_mask},
                 {"word_ids", std::move(words)}};
  for (const text::Encoding& window : encoding.overflowing) result["overflowing"].push_back(to_json(window));
  return result;
}

class Encoder {
 public:
  explicit Encoder(const EncodeCommand& command)
      : tokenizer_(load_encoding_tokenizer(command.tokenizer)), input_(command.input), json_(command.common.json) {
    settings_ = tokenizer_->default_options();
    if (command.no_special_tokens) settings_.special_tokens = text::AddSpecialTokens::no;
    settings_.detail = json_ ? text::EncodeDetail::all : text::EncodeDetail::ids;
    set_truncation(command);
    if (!command.padding.empty()) set_padding(command.padding);
  }

  void run() {
    if (pads_to_longest_) {
      run_together();
      return;
    }
    answer_lines([&](std::string_view line, int64_t, std::string& output) { print(encode(line), output); });
  }

 private:
  void set_truncation(const EncodeCommand& command) {
    if (command.max_length) {
      if (!settings_.truncation) settings_.truncation.emplace();
      settings_.truncation->max_length = *command.max_length;
      settings_.truncation->stride = 0;
    }
    if (!command.stride) return;
    require<UsageError>(settings_.truncation.has_value(), "--stride needs --max-length");
    settings_.truncation->stride = *command.stride;
  }

  void set_padding(const std::string& padding) {
    if (!settings_.padding) {
      const std::optional<int32_t> id = tokenizer_->special().pad;
      require(id.has_value(), "--padding: the tokenizer has no padding token");
      settings_.padding = text::Padding{.length = std::nullopt, .id = *id, .token = tokenizer_->token(*id)};
    }
    settings_.padding->length.reset();
    if (padding == "longest") {
      pads_to_longest_ = true;
    } else if (padding == "max-length") {
      require<UsageError>(settings_.truncation.has_value(), "--padding max-length needs --max-length");
      settings_.padding->length = settings_.truncation->max_length;
    } else {
      int64_t length = 0;
      const auto [end, error] = std::from_chars(padding.data(), padding.data() + padding.size(), length);
      require<UsageError>(error == std::errc() && end == padding.data() + padding.size() && length > 0,
                          "--padding: expected longest, max-length or a length, got \"{}\"", padding);
      settings_.padding->length = length;
    }
  }

  text::Encoding encode(std::string_view line) const {
    if (input_ == InputFormat::text) return tokenizer_->encode({.text = line}, settings_);
    const Input input = read_json_input(line);
    return tokenizer_->encode({.text = input.text, .pair = input.pair}, settings_);
  }

  void print(const text::Encoding& encoding, std::string& output) const {
    if (json_) {
      output += format_json(to_json(encoding), JsonStyle::compact);
    } else {
      char digits[16];
      for (size_t i = 0; i < encoding.ids.size(); ++i) {
        if (i > 0) output += ' ';
        output.append(digits, std::to_chars(digits, digits + sizeof(digits), encoding.ids[i]).ptr);
      }
    }
    output += '\n';
  }

  // The longest line is known at the end only, so all of them are kept until then.
  void run_together() {
    const std::optional<text::Padding> padding = std::exchange(settings_.padding, std::nullopt);
    std::vector<text::Encoding> encodings;
    std::mutex mutex;
    answer_lines([&](std::string_view line, int64_t number, std::string&) {
      text::Encoding encoding = encode(line);
      const std::lock_guard lock(mutex);
      const auto place = static_cast<size_t>(number - 1);
      if (encodings.size() <= place) encodings.resize(place + 1);
      encodings[place] = std::move(encoding);
    });
    text::pad(encodings, *padding);
    std::string output;
    for (const text::Encoding& encoding : encodings) {
      output.clear();
      print(encoding, output);
      print_all(output);
    }
  }

  std::unique_ptr<text::EncodingTokenizer> tokenizer_;
  text::EncodeOptions settings_;
  InputFormat input_;
  bool json_;
  bool pads_to_longest_ = false;
};

void run_encode(const EncodeCommand& command) {
  apply_threads(command.common);
  Encoder(command).run();
}

}  // namespace

void add_tokenizer_encode(CLI::App& tokenizer) {
  auto options = std::make_shared<EncodeCommand>();
  CLI::App* command = tokenizer.add_subcommand("encode", "Lines of standard input to ids");
  add_tokenizer_path(*command, options->tokenizer);
  add_input_format(*command, options->input,
                   "text: a text a line; jsonl: a JSON string, {\"text\": …} or {\"text\": …, \"pair\": …} a line");
  command->add_flag("--no-special-tokens", options->no_special_tokens, "Do not add [CLS], </s> and the like");
  command->add_option("--max-length", options->max_length, "Cut off what is longer, special tokens counted")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->add_option("--stride", options->stride, "Tokens that a window of cut-off text repeats (with --json)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
  command->add_option("--padding", options->padding,
                      "longest (keeps all lines in memory), max-length, or a length in tokens");
  add_threads(*command, options->common);
  command->add_flag("--json", options->common.json,
                    "Print ids, tokens, offsets, type_ids, attention_mask, special_tokens_mask and word_ids per line");
  command->callback([options] { run_encode(*options); });
}

}  // namespace weft::app
