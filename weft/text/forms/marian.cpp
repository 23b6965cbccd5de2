#include "weft/text/forms/marian.h"

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/limits.h"
#include "weft/text/post_processors/template.h"
#include "weft/text/special_names.h"

namespace weft::text {

namespace {

namespace fs = std::filesystem;

SentencePieceModel read_model(const fs::path& path) {
  return SentencePieceModel(read_file(path, longest_file), path.string());
}

TokenTable read_vocabulary(const fs::path& path) {
  const Json document = parse_json(read_file(path, longest_file), path.string());
  return TokenTable::from_json(JsonView(document, path.string()));
}

// The length of a language code such as `>>de<<` at the start of a text; 0 if there is none.
size_t language_code_length(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const size_t end = text.substr(0, text.find('\n')).rfind("<<");
  return end == text.npos || end < 3 ? 0 : end + 2;
}

// The target's model leaves the mark of a blank in pieces that only the source's model knows.
std::string with_blanks(std::string_view text) {
  constexpr std::string_view mark = "\u2581";
  std::string result;
  for (size_t next = text.find(mark); next != text.npos; next = text.find(mark)) {
    result += text.substr(0, next);
    result += ' ';
    text.remove_prefix(next + mark.size());
  }
  return result += text;
}

std::string trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

MarianTokenizer::MarianTokenizer(const fs::path& folder)
    : folder_(folder),
      source_(read_model(folder / "source.spm")),
      target_(read_model(folder / "target.spm")),
      vocabulary_(read_vocabulary(folder / "vocab.json")) {
  const SpecialNames names = read_special_names(folder);
  const auto id_of = [&](const std::optional<std::string>& name, std::string_view usual) {
    return vocabulary_.find(name ? *name : std::string(usual));
  };
  special_ = {.bos = names.bos ? vocabulary_.find(*names.bos) : std::nullopt,
              .eos = id_of(names.eos, "</s>"),
              .pad = id_of(names.pad, "<pad>"),
              .unk = id_of(names.unk, "<unk>")};
  require<FormatError>(special_.eos && special_.unk, "{}: the vocabulary lacks the end token or the unknown token",
                       (folder / "vocab.json").string());
  const TemplatePiece first{.sequence = 0, .type_id = 0, .ids = {}, .tokens = {}};
  const TemplatePiece second{.sequence = 1, .type_id = 0, .ids = {}, .tokens = {}};
  const TemplatePiece end{.sequence = -1, .type_id = 0, .ids = {*special_.eos}, .tokens = {token(*special_.eos)}};
  post_processor_ = std::make_unique<TemplateProcessing>(std::vector{first, end}, std::vector{first, second, end});
}

Encoding MarianTokenizer::encode_text(const EncodeRequest& request) const {
  const AlignedText text(request.text, Tracking::on);
  const std::string_view all = text.text();
  const size_t code = language_code_length(all);
  std::vector<SurfacePiece> pieces;
  if (code > 0) pieces.push_back({std::string(all.substr(0, code)), 0, {0, static_cast<uint32_t>(code)}});
  for (SurfacePiece& piece : source_.encode(all.substr(code))) {
    piece.range.begin += static_cast<uint32_t>(code);
    piece.range.end += static_cast<uint32_t>(code);
    pieces.push_back(std::move(piece));
  }
  for (SurfacePiece& piece : pieces) piece.id = vocabulary_.find(piece.piece).value_or(*special_.unk);
  return encoding_of_pieces(pieces, text, request.type_id, request.detail);
}

std::string MarianTokenizer::decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const {
  std::string text;
  std::vector<std::string> pieces;
  const auto close = [&] {
    if (!pieces.empty()) text += target_.decode(pieces);
    pieces.clear();
  };
  for (const int32_t id : ids) {
    const auto name = vocabulary_.name(id);
    if (!name) continue;
    const bool is_special = id == special_.bos || id == special_.eos || id == special_.pad || id == special_.unk;
    if (!is_special) {
      pieces.emplace_back(*name);
    } else if (special == SpecialTokens::keep || id == special_.unk) {
      close();
      text += *name;
      text += ' ';
    }
  }
  close();
  return trimmed(with_blanks(text));
}

std::string MarianTokenizer::token(int32_t id) const {
  require(id >= 0 && id < vocab_size(), "tokenizer: no token {}, ids run from 0 to {}", id, vocab_size() - 1);
  return std::string(vocabulary_.name(id).value_or(""));
}

}  // namespace weft::text
