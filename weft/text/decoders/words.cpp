#include "weft/text/decoders/words.h"

#include <array>
#include <string_view>
#include <utility>

namespace weft::text {

namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  size_t next = text.find(from);
  if (next == std::string::npos) return;
  std::string result;
  size_t begin = 0;
  for (; next != std::string::npos; next = text.find(from, begin)) {
    result.append(text, begin, next - begin);
    result += to;
    begin = next + from.size();
  }
  result.append(text, begin);
  text = std::move(result);
}

}  // namespace

std::string clean_up(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> rules = {{{" .", "."},
                                                                                    {" ?", "?"},
                                                                                    {" !", "!"},
                                                                                    {" ,", ","},
                                                                                    {" ' ", "'"},
                                                                                    {" n't", "n't"},
                                                                                    {" 'm", "'m"},
                                                                                    {" do not", " don't"},
                                                                                    {" 's", "'s"},
                                                                                    {" 've", "'ve"},
                                                                                    {" 're", "'re"}}};
  for (const auto& [from, to] : rules) replace_all(text, from, to);
  return text;
}

WordPieceDecoder::WordPieceDecoder(const JsonView& description)
    : prefix_(description.get_or<std::string>("prefix", "##")), cleanup_(description.get_or<bool>("cleanup", true)) {
  description.allow_only({"type", "prefix", "cleanup"});
}

void WordPieceDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) tokens[i] = tokens[i].starts_with(prefix_) ? tokens[i].substr(prefix_.size()) : " " + tokens[i];
    if (cleanup_) tokens[i] = clean_up(std::move(tokens[i]));
  }
}

BpeDecoder::BpeDecoder(const JsonView& description) : suffix_(description.get_or<std::string>("suffix", "</w>")) {
  description.allow_only({"type", "suffix"});
}

void BpeDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  for (size_t i = 0; i < tokens.size(); ++i) replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
}

}  // namespace weft::text
