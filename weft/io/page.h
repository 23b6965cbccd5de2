#pragma once

#include <string>
#include <string_view>

namespace weft {

// What an HTML page is made of. Parts are files of the source tree, embedded by weft_embed(); data comes from the
// program.
struct PageParts {
  std::string_view title;   // plain text
  std::string_view style;   // CSS, added to the style that all pages share
  std::string_view body;    // HTML
  std::string_view data;    // JSON; the script finds it in the element with the id "data"
  std::string_view script;  // JavaScript, run when body and data are there
};

// One self-contained HTML file: it asks for nothing from anywhere, and follows the reader's light or dark setting. Text
// in `data` cannot end its element, whatever it holds.
std::string make_page(const PageParts& parts);

}  // namespace weft
