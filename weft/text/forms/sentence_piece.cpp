#include "weft/text/forms/sentence_piece.h"

#include <sentencepiece_processor.h>

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/text/forms/sentence_piece_check.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

constexpr size_t unrehearsed_bytes = size_t{256} << 10;  // of a text, grown by the character map
constexpr size_t rehearsed_bytes = size_t{16} << 10;     // of a part
constexpr size_t most_unknown_bytes = size_t{256} << 10;
constexpr size_t spare_pieces = size_t{1} << 22;
constexpr size_t pieces_per_byte = 4;

std::optional<int32_t> role(int id) { return id < 0 ? std::nullopt : std::optional<int32_t>(id); }

}  // namespace

SentencePieceModel::SentencePieceModel(std::string_view bytes, std::string source)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  growth_ = check_sentence_piece_model(bytes, source);
  try {
    const auto status = processor_->LoadFromSerializedProto({bytes.data(), bytes.size()});
    if (!status.ok()) fail<FormatError>("{}: not a SentencePiece model: {}", source, status.ToString());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // the trie that the library builds of the pieces
    fail<FormatError>("{}: not a SentencePiece model: {}", source, error.what());
  }
}

SentencePieceModel::SentencePieceModel(SentencePieceModel&&) noexcept = default;
SentencePieceModel& SentencePieceModel::operator=(SentencePieceModel&&) noexcept = default;
SentencePieceModel::~SentencePieceModel() = default;

// Encodes a long text in parts, of which none is out of proportion, to see what the whole would take: the library
// copies a run of unknown characters for each of them, and keeps hundreds of bytes for a piece.
void SentencePieceModel::rehearse(std::string_view text) const {
  if (text.size() * growth_ <= unrehearsed_bytes) return;
  TextBudget budget(text.size());
  const size_t most_pieces = spare_pieces + pieces_per_byte * text.size();
  size_t pieces = 0;
  size_t unknown = 0;  // bytes of the run of unknown text so far
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(begin + rehearsed_bytes, text.size());
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) ++end;
    const auto encoded = processor_->EncodeAsImmutableProto({text.data() + begin, end - begin});
    for (size_t i = 0; i < encoded.pieces_size(); ++i) {
      const auto piece = encoded.pieces(static_cast<int>(i));
      const bool is_unknown = processor_->IsUnknown(static_cast<int>(piece.id()));
      if (!is_unknown && i == 0) continue;  // the mark of a blank, as each part begins a text
      unknown = is_unknown ? unknown + piece.piece().size() : 0;
      require(unknown <= most_unknown_bytes,
              "sentencepiece: more than {} bytes of the text, up to byte {}, are unknown to the model; cut the text",
              most_unknown_bytes, end);
    }
    pieces += encoded.pieces_size();
    require(pieces <= most_pieces, "sentencepiece: a text of {} bytes makes more than {} pieces; cut it", text.size(),
            most_pieces);
    budget.take_time(1 << 20);
    begin = end;
  }
}

std::vector<SurfacePiece> SentencePieceModel::encode(std::string_view text) const {
  rehearse(text);
  const auto encoded = processor_->EncodeAsImmutableProto({text.data(), text.size()});
  std::vector<SurfacePiece> pieces;
  pieces.reserve(encoded.pieces_size());
  for (size_t i = 0; i < encoded.pieces_size(); ++i) {
    const auto piece = encoded.pieces(static_cast<int>(i));
    pieces.push_back({piece.piece(), static_cast<int32_t>(piece.id()), {piece.begin(), piece.end()}});
  }
  return pieces;
}

std::vector<int32_t> SentencePieceModel::encode_ids(std::string_view text) const {
  rehearse(text);
  std::vector<int> ids;
  const auto status = processor_->Encode({text.data(), text.size()}, &ids);
  require(status.ok(), "sentencepiece: {}", status.ToString());
  return ids;
}

std::string SentencePieceModel::decode(const std::vector<int>& ids) const { return processor_->DecodeIds(ids); }

std::string SentencePieceModel::decode(const std::vector<std::string>& pieces) const {
  std::string text;
  const auto status = processor_->Decode(pieces, &text);
  require(status.ok(), "sentencepiece: {}", status.ToString());
  return text;
}

int32_t SentencePieceModel::size() const { return processor_->GetPieceSize(); }

const std::string& SentencePieceModel::piece(int32_t id) const { return processor_->IdToPiece(id); }

std::optional<int32_t> SentencePieceModel::find(std::string_view piece) const {
  const int id = processor_->PieceToId({piece.data(), piece.size()});
  if (id < 0 || id >= size() || processor_->IdToPiece(id) != piece) return std::nullopt;
  return id;
}

bool SentencePieceModel::is_control(int32_t id) const { return processor_->IsControl(id); }

SpecialIds SentencePieceModel::special() const {
  return {.bos = role(processor_->bos_id()),
          .eos = role(processor_->eos_id()),
          .pad = role(processor_->pad_id()),
          .unk = role(processor_->unk_id())};
}

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model, std::string bytes, const SpecialNames& roles)
    : model_(std::move(model)), bytes_(std::move(bytes)), special_(model_.special()) {
  const auto named = [&](const std::optional<std::string>& name, std::optional<int32_t>& id) {
    if (name && model_.find(*name)) id = model_.find(*name);
  };
  named(roles.bos, special_.bos);
  named(roles.eos, special_.eos);
  named(roles.pad, special_.pad);
  named(roles.unk, special_.unk);
}

SentencePieceTokenizer SentencePieceTokenizer::read(const std::filesystem::path& path, const SpecialNames& roles) {
  std::string bytes = read_file(path, longest_file);
  SentencePieceModel model(bytes, path.string());
  return SentencePieceTokenizer(std::move(model), std::move(bytes), roles);
}

std::vector<int32_t> SentencePieceTokenizer::encode(std::string_view text) const {
  if (is_utf8(text)) return model_.encode_ids(text);
  return model_.encode_ids(repair_utf8(text));
}

Encoding SentencePieceTokenizer::encode_text(const EncodeRequest& request) const {
  if (request.detail == EncodeDetail::ids) {
    Encoding encoding;
    encoding.ids = encode(request.text);
    return encoding;
  }
  const AlignedText text(request.text, Tracking::on);
  return encoding_of_pieces(model_.encode(text.text()), text, request.type_id, request.detail);
}

std::string SentencePieceTokenizer::decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const {
  std::vector<int> known;
  for (const int32_t id : ids) {
    if (id < 0 || id >= model_.size()) continue;
    const bool skipped = id == special_.bos || id == special_.eos || id == special_.pad || model_.is_control(id);
    if (special == SpecialTokens::keep || !skipped) known.push_back(id);
  }
  return model_.decode(known);
}

std::string SentencePieceTokenizer::token(int32_t id) const {
  require(id >= 0 && id < model_.size(), "tokenizer: no token {}, ids run from 0 to {}", id, model_.size() - 1);
  return model_.piece(id);
}

Encoding encoding_of_pieces(const std::vector<SurfacePiece>& pieces, const AlignedText& text, int32_t type_id,
                            EncodeDetail detail) {
  Encoding encoding;
  for (const SurfacePiece& piece : pieces) {
    encoding.ids.push_back(piece.id);
    if (detail != EncodeDetail::all) continue;
    encoding.tokens.push_back(piece.piece);
    encoding.offsets.push_back(text.origin(piece.range.begin, piece.range.end));
    // A piece that begins with the mark of a blank begins a word.
    const bool begins = encoding.word_ids.empty() || piece.piece.starts_with("\u2581");
    encoding.word_ids.push_back(encoding.word_ids.empty() ? 0 : encoding.word_ids.back() + (begins ? 1 : 0));
  }
  if (detail == EncodeDetail::ids) return encoding;
  encoding.type_ids.assign(encoding.size(), type_id);
  encoding.attention_mask.assign(encoding.size(), 1);
  encoding.special_tokens_mask.assign(encoding.size(), 0);
  return encoding;
}

}  // namespace weft::text
