#include "weft/text/post_processors/template.h"

#include <algorithm>
#include <utility>

#include "weft/base/error.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

constexpr size_t most_special_tokens = 1024;  // in one template
constexpr int most_texts = 8;                 // in one template; published ones have each text once

void require_short(const JsonView& place, std::string_view name) {
  if (name.size() > longest_name) place.expected(fmt::format("at most {} bytes", longest_name));
}

TemplatePiece read_piece(const JsonView& piece, const JsonView& special_tokens) {
  piece.allow_only({"Sequence", "SpecialToken"});
  const bool is_sequence = piece.has("Sequence");
  const JsonView content = piece.at(is_sequence ? "Sequence" : "SpecialToken");
  content.allow_only({"id", "type_id"});
  const auto id = content.get<std::string>("id");
  TemplatePiece result;
  result.type_id = content.get<int>("type_id");
  if (is_sequence) {
    if (id != "A" && id != "B") content.at("id").expected("\"A\" or \"B\"");
    result.sequence = id == "A" ? 0 : 1;
    return result;
  }
  if (!special_tokens.has(id)) content.at("id").expected("one of special_tokens");
  const JsonView token = special_tokens.at(id);
  token.allow_only({"id", "ids", "tokens"});
  result.ids = token.get<std::vector<int>>("ids");
  result.tokens = token.get<std::vector<std::string>>("tokens");
  if (result.ids.size() != result.tokens.size()) token.at("tokens").expected("as many as ids");
  for (const std::string& name : result.tokens) require_short(token.at("tokens"), name);
  return result;
}

std::vector<TemplatePiece> read_pieces(const JsonView& list, const JsonView& special_tokens, int sequences) {
  std::vector<TemplatePiece> pieces;
  size_t special = 0;
  int texts = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    TemplatePiece piece = read_piece(list.at(i), special_tokens);
    if (piece.sequence >= sequences) list.at(i).expected("no second text here");
    special += piece.ids.size();
    texts += piece.sequence >= 0 ? 1 : 0;
    if (texts > most_texts) list.expected(fmt::format("at most {} texts", most_texts));
    if (special > most_special_tokens) list.expected(fmt::format("at most {} tokens", most_special_tokens));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

int64_t count_special(const std::vector<TemplatePiece>& pieces) {
  int64_t count = 0;
  for (const TemplatePiece& piece : pieces) count += static_cast<int64_t>(piece.ids.size());
  return count;
}

// What `parts` tell of their tokens. Nothing speaks against the most where they have none.
EncodeDetail detail_of(const std::vector<EncodedPart>& parts) {
  bool masked = true;
  bool detailed = true;
  for (const EncodedPart& part : parts) {
    masked = masked && part.encoding.attention_mask.size() == part.encoding.size();
    detailed = detailed && part.encoding.tokens.size() == part.encoding.size();
  }
  return !masked ? EncodeDetail::ids : detailed ? EncodeDetail::all : EncodeDetail::masks;
}

EncodedPart special_part(const TemplatePiece& piece, EncodeDetail detail) {
  const size_t count = piece.ids.size();
  Encoding encoding;
  encoding.ids = piece.ids;
  if (detail != EncodeDetail::ids) {
    encoding.type_ids.assign(count, piece.type_id);
    encoding.attention_mask.assign(count, 1);
    encoding.special_tokens_mask.assign(count, 1);
  }
  if (detail == EncodeDetail::all) {
    encoding.tokens = piece.tokens;
    encoding.offsets.resize(count);
    encoding.word_ids.resize(count, Encoding::no_word);
  }
  return {std::move(encoding), {}};
}

}  // namespace

TemplateProcessing::TemplateProcessing(const JsonView& description) {
  description.allow_only({"type", "single", "pair", "special_tokens"});
  const JsonView special_tokens = description.at("special_tokens");
  single_ = read_pieces(description.at("single"), special_tokens, 1);
  pair_ = read_pieces(description.at("pair"), special_tokens, 2);
}

int64_t TemplateProcessing::added_tokens(bool pair) const { return count_special(pair ? pair_ : single_); }

void TemplateProcessing::process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const {
  const EncodeDetail detail = detail_of(parts);
  const std::vector<TemplatePiece>& pieces = parts.size() > 1 ? pair_ : single_;
  std::vector<EncodedPart> result;
  result.reserve(pieces.size());
  for (auto piece = pieces.begin(); piece != pieces.end(); ++piece) {
    if (piece->sequence < 0) {
      if (special == AddSpecialTokens::no) continue;
      // Those side by side are one part: each part goes to all windows anew.
      if (piece != pieces.begin() && (piece - 1)->sequence < 0) {
        result.back().encoding.append(special_part(*piece, detail).encoding);
      } else {
        result.push_back(special_part(*piece, detail));
      }
      continue;
    }
    EncodedPart& part = parts[static_cast<size_t>(piece->sequence)];
    const bool comes_again = std::any_of(piece + 1, pieces.end(),
                                         [&](const TemplatePiece& later) { return later.sequence == piece->sequence; });
    result.push_back(comes_again ? part : std::move(part));
    Encoding& encoding = result.back().encoding;
    if (detail != EncodeDetail::ids) encoding.type_ids.assign(encoding.size(), piece->type_id);
  }
  parts = std::move(result);
}

TemplatePiece read_special_token(const JsonView& token) {
  if (token.size() != 2) token.expected("a token and its id");
  require_short(token.at(0), token.at(0).as<std::string>());
  return {.sequence = -1, .type_id = 0, .ids = {token.at(1).as<int>()}, .tokens = {token.at(0).as<std::string>()}};
}

std::unique_ptr<PostProcessor> make_bert_processing(const JsonView& description) {
  description.allow_only({"type", "sep", "cls"});
  const TemplatePiece cls = read_special_token(description.at("cls"));
  const TemplatePiece sep = read_special_token(description.at("sep"));
  TemplatePiece last = sep;
  last.type_id = 1;
  const TemplatePiece first_text{.sequence = 0, .type_id = 0, .ids = {}, .tokens = {}};
  const TemplatePiece second_text{.sequence = 1, .type_id = 1, .ids = {}, .tokens = {}};
  return std::make_unique<TemplateProcessing>(std::vector{cls, first_text, sep},
                                              std::vector{cls, first_text, sep, second_text, last});
}

}  // namespace weft::text
