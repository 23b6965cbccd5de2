#include "weft/text/pre_tokenizers/metaspace.h"

#include <algorithm>
#include <array>

#include "weft/base/error.h"
#include "weft/base/suggest.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

PrependScheme read_scheme(const JsonView& description) {
  constexpr std::array<std::string_view, 3> names = {"always", "first", "never"};
  const JsonView scheme = description.at("prepend_scheme");
  const auto value = scheme.as<std::string>();
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end()) {
    fail<FormatError>("{}: unknown scheme \"{}\"{}", scheme.place(), value, suggestion(value, names));
  }
  return static_cast<PrependScheme>(found - names.begin());
}

}  // namespace

Metaspace::Metaspace(const JsonView& description) : replacement(description.get<std::string>("replacement")) {
  description.allow_only({"type", "replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
  const CodePoint character = first_code_point(replacement);
  if (replacement.empty() || character.length != replacement.size()) {
    description.at("replacement").expected("one character");
  }
  split = description.get_or<bool>("split", true);
  if (description.has("prepend_scheme")) scheme = read_scheme(description);
  if (!description.get_or<bool>("add_prefix_space", true)) {
    if (description.has("prepend_scheme") && scheme != PrependScheme::never) {
      description.at("add_prefix_space").expected("what prepend_scheme says");
    }
    scheme = PrependScheme::never;
  }
}

void MetaspacePreTokenizer::split(Pieces& pieces) const {
  const std::string& mark = metaspace_.replacement;
  const std::string_view text = pieces.text.text();
  pieces.rewrite_and_cut_each([&](const Piece& piece, TextEdit& edit, auto&& cut) {
    const std::string_view view = pieces.view(piece);
    const bool marked = view.starts_with(mark) || view.starts_with(' ');
    const bool wanted = metaspace_.scheme == PrependScheme::always ||
                        (metaspace_.scheme == PrependScheme::first && pieces.text.origin(piece.begin).begin == 0);
    if (wanted && !marked) edit.put(mark, piece.begin);
    size_t begin = piece.begin;
    for (size_t i = piece.begin; i < piece.end; ++i) {
      const bool is_blank = text[i] == ' ';
      if (!is_blank && (text[i] != mark[0] || !text.substr(i, piece.end - i).starts_with(mark))) continue;
      edit.keep(begin, i);
      begin = i;
      if (metaspace_.split) cut();
      if (!is_blank) continue;
      edit.put(mark, i);
      begin = i + 1;
    }
    edit.keep(begin, piece.end);
  });
}

}  // namespace weft::text
