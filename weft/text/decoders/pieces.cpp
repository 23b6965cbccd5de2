#include "weft/text/decoders/pieces.h"

#include <numeric>

#include "weft/text/utf8.h"

namespace weft::text {

namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  size_t begin = 0;
  for (size_t next = text.find(from); next != text.npos; next = text.find(from, begin)) {
    result += text.substr(begin, next - begin);
    result += to;
    begin = next + from.size();
  }
  return result += text.substr(begin);
}

}  // namespace

void MetaspaceDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool added = i == 0 && metaspace_.scheme != PrependScheme::never;
    tokens[i] = replaced(tokens[i], metaspace_.replacement, added ? "" : " ");
  }
}

FuseDecoder::FuseDecoder(const JsonView& description) { description.allow_only({"type"}); }

void FuseDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens.assign(1, std::move(all));
}

StripDecoder::StripDecoder(const JsonView& description) : content_(description.get<std::string>("content")) {
  description.allow_only({"type", "content", "start", "stop"});
  const CodePoint character = first_code_point(content_);
  if (content_.empty() || character.length != content_.size()) description.at("content").expected("one character");
  start_ = description.get<int64_t>("start");
  stop_ = description.get<int64_t>("stop");
  if (start_ < 0 || stop_ < 0) description.expected("counts from 0 on");
}

void StripDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  for (std::string& token : tokens) {
    std::string_view rest = token;
    for (int64_t i = 0; i < start_ && rest.starts_with(content_); ++i) rest.remove_prefix(content_.size());
    for (int64_t i = 0; i < stop_ && rest.ends_with(content_); ++i) rest.remove_suffix(content_.size());
    token = std::string(rest);
  }
}

ReplaceDecoder::ReplaceDecoder(const JsonView& description)
    : pattern_(description.at("pattern")), content_(description.get<std::string>("content")) {
  description.allow_only({"type", "pattern", "content"});
}

void ReplaceDecoder::decode(std::vector<std::string>& tokens, TextBudget& budget) const {
  size_t made = 0;
  for (std::string& token : tokens) {
    std::string result;
    pattern_.for_each_part(token, budget, [&](const Part& part) {
      budget.allow_size(made + result.size() + content_.size());
      result += part.is_match ? std::string_view(content_)
                              : std::string_view(token).substr(part.begin, part.end - part.begin);
    });
    made += result.size();
    token = std::move(result);
  }
}

}  // namespace weft::text
