#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/text/aligned_text.h"

namespace weft::text {

// A stretch of bytes of the text; an added token, or still to be tokenized.
struct Piece {
  static constexpr int32_t open = -1;

  size_t begin;
  size_t end;
  int32_t token = open;
};

// The text cut into pieces, in order; none is empty.
class Pieces {
 public:
  static constexpr size_t bytes_per_piece = 4;  // of most texts, not less

  AlignedText text;
  std::vector<Piece> list;

  std::string_view view(const Piece& piece) const {
    return std::string_view(text.text()).substr(piece.begin, piece.end - piece.begin);
  }

  // Cuts each open piece: cut(view, emit) calls emit(begin, end) for the parts to keep, as bytes of the view, in order.
  template <typename Cut>
  void cut_each(Cut&& cut) {
    std::vector<Piece> parts;
    parts.reserve(std::max(list.size(), text.text().size() / bytes_per_piece));
    for (const Piece& piece : list) {
      if (piece.token != Piece::open) {
        parts.push_back(piece);
        continue;
      }
      cut(view(piece), [&](size_t begin, size_t end) {
        if (begin < end) parts.push_back({piece.begin + begin, piece.begin + end, Piece::open});
      });
    }
    list = std::move(parts);
  }

  // Rewrites each open piece: change(piece, edit) puts into `edit` what stands in its place.
  template <typename Change>
  void rewrite_each(Change&& change) {
    rewrite_and_cut_each([&](const Piece& piece, TextEdit& edit, auto&&) { change(piece, edit); });
  }

  // Both at once: change(piece, edit, cut) calls cut() where what it has put by then is to end a piece.
  template <typename Change>
  void rewrite_and_cut_each(Change&& change) {
    TextEdit edit(text);
    std::vector<Piece> changed;
    changed.reserve(std::max(list.size(), text.text().size() / bytes_per_piece));
    for (const Piece& piece : list) {
      size_t begin = edit.size();
      const auto cut = [&] {
        if (edit.size() > begin) changed.push_back({begin, edit.size(), piece.token});
        begin = edit.size();
      };
      if (piece.token == Piece::open) {
        change(piece, edit, cut);
      } else {
        edit.keep(piece.begin, piece.end);
      }
      cut();
    }
    text = edit.finish();
    list = std::move(changed);
  }
};

}  // namespace weft::text
