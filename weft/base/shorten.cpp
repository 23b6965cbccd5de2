#include "weft/base/shorten.h"

namespace weft {

std::string shortened(std::string_view text, size_t longest) {
  if (text.size() <= longest) return std::string(text);
  size_t cut = longest;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0u) == 0x80u) --cut;
  return std::string(text.substr(0, cut)) + "…";
}

}  // namespace weft
