#include "tests/text/samples.h"

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

// Compares a row's values with what came, one by one.
class RowCheck {
 public:
  RowCheck(const Json& row, std::vector<std::string>& differences) : row_(row), differences_(differences) {}

  void expect(const char* key, const Json& actual) {
    if (row_.contains(key) && row_[key] != actual) differ(key, actual);
  }
  void differ(const char* key, const Json& actual) {
    const auto shown = [](const Json& value) {
      return value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 300);
    };
    differences_.push_back(
        fmt::format("{}: {}\n  expected {}\n  got      {}", key, shown(row_["text"]), shown(row_[key]), shown(actual)));
  }

 private:
  const Json& row_;
  std::vector<std::string>& differences_;
};

Json code_point_offsets(const Encoding& encoding, std::string_view text) {
  std::vector<size_t> numbers(text.size() + 1);
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t length = first_code_point(text.substr(i)).length;
    for (size_t j = 0; j < length; ++j) numbers[i + j] = count;
    ++count;
    i += length;
  }
  numbers[text.size()] = count;
  Json offsets = Json::array();
  for (const ByteRange& range : encoding.offsets) {
    offsets.push_back(Json::array({numbers[range.begin], numbers[range.end]}));
  }
  return offsets;
}

EncodeOptions options_of(const Json& row) {
  EncodeOptions options;
  if (row.contains("truncation") && row["truncation"].is_object()) {
    const Json& given = row["truncation"];
    Truncation truncation{.max_length = given["max_length"], .stride = given["stride"]};
    truncation.strategy = given["strategy"] == "only_first"    ? TruncationStrategy::only_first
                          : given["strategy"] == "only_second" ? TruncationStrategy::only_second
                                                               : TruncationStrategy::longest_first;
    truncation.direction = given["direction"] == "left" ? Side::left : Side::right;
    options.truncation = truncation;
  }
  if (row.contains("padding") && row["padding"].is_object()) {
    const Json& given = row["padding"];
    Padding padding;
    if (given["length"].is_number()) padding.length = given["length"].get<int64_t>();
    padding.multiple_of = given["pad_to_multiple_of"];
    padding.direction = given["direction"] == "left" ? Side::left : Side::right;
    padding.id = given["pad_id"];
    padding.type_id = given["pad_type_id"];
    padding.token = given["pad_token"];
    options.padding = padding;
  }
  return options;
}

}  // namespace

std::vector<Json> read_rows(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  std::vector<Json> rows;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) rows.push_back(Json::parse(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return rows;
}

std::vector<std::string> check_cases(const PipelineTokenizer& tokenizer, const std::filesystem::path& file) {
  std::vector<std::string> differences;
  for (const Json& row : read_rows(file)) {
    RowCheck check(row, differences);
    const std::string text = row["text"];
    EncodeOptions options{.special_tokens = AddSpecialTokens::no};
    const Encoding plain = tokenizer.encode({text}, options);
    check.expect("ids", plain.ids);
    check.expect("tokens", plain.tokens);
    check.expect("offsets", code_point_offsets(plain, text));
    check.expect("word_ids", plain.word_ids);
    check.expect("ids", tokenizer.encode(text));
    options.special_tokens = AddSpecialTokens::yes;
    const Encoding special = tokenizer.encode({text}, options);
    check.expect("ids_special", special.ids);
    check.expect("offsets_special", code_point_offsets(special, text));
    const std::vector<int32_t> ids = row.value("decode_ids", row["ids"]);
    const std::vector<int32_t> ids_special = row["ids_special"];
    check.expect("decoded", tokenizer.decode(ids, SpecialTokens::skip));
    check.expect("decoded_special", tokenizer.decode(ids_special, SpecialTokens::keep));
  }
  return differences;
}

std::vector<std::string> check_pairs(const PipelineTokenizer& tokenizer, const std::filesystem::path& file) {
  std::vector<std::string> differences;
  for (const Json& row : read_rows(file)) {
    RowCheck check(row, differences);
    const std::string text = row["text"];
    const std::string pair = row["pair"].is_string() ? row["pair"].get<std::string>() : "";
    TextPair texts{text};
    if (row["pair"].is_string()) texts.pair = pair;
    if (row.contains("error")) {
      try {
        check.differ("error", tokenizer.encode(texts, options_of(row)).ids);
      } catch (const Error&) {
      }
      continue;
    }
    Encoding encoding;
    try {
      encoding = tokenizer.encode(texts, options_of(row));
    } catch (const Error& error) {
      check.differ("ids", error.what());
      continue;
    }
    check.expect("word_ids", encoding.word_ids);
    check.expect("ids", encoding.ids);
    check.expect("type_ids", encoding.type_ids);
    check.expect("attention_mask", encoding.attention_mask);
    check.expect("special_tokens_mask", encoding.special_tokens_mask);
    check.expect("tokens", encoding.tokens);
    Json windows = Json::array();
    Json window_types = Json::array();
    for (const Encoding& window : encoding.overflowing) {
      windows.push_back(window.ids);
      window_types.push_back(window.type_ids);
    }
    check.expect("overflowing", windows);
    check.expect("overflowing_type_ids", window_types);
  }
  return differences;
}

}  // namespace weft::text
