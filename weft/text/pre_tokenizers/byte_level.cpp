#include "weft/text/pre_tokenizers/byte_level.h"

#include "weft/text/normalizers/byte_level.h"
#include "weft/text/split_scanner.h"

namespace weft::text {

ByteLevelPreTokenizer::ByteLevelPreTokenizer(const JsonView& description) {
  description.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  add_prefix_space_ = description.get<bool>("add_prefix_space");
  use_regex_ = description.get_or<bool>("use_regex", true);
}

void ByteLevelPreTokenizer::split(Pieces& pieces) const {
  if (add_prefix_space_) {
    pieces.rewrite_each([&](const Piece& piece, TextEdit& edit) {
      if (pieces.text.text()[piece.begin] != ' ') edit.put(" ", piece.begin);
      edit.keep(piece.begin, piece.end);
    });
  }
  if (use_regex_) {
    pieces.cut_each([](std::string_view view, auto&& emit) { scan_pieces(KnownPattern::gpt2, view, emit); });
  }
  pieces.rewrite_each(
      [&](const Piece& piece, TextEdit& edit) { put_visible_bytes(pieces.text, piece.begin, piece.end, edit); });
}

}  // namespace weft::text
