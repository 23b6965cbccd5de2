#include "weft/text/byte.h"

#include "weft/base/error.h"
#include "weft/text/byte_names.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

constexpr int32_t byte_count = 256;

std::vector<std::string> byte_names() {
  std::vector<std::string> names;
  for (int byte = 0; byte < byte_count; ++byte) names.emplace_back(visible_byte_utf8(static_cast<uint8_t>(byte)));
  return names;
}

}  // namespace

ByteTokenizer::ByteTokenizer(const SpecialNames& special) : vocabulary_(byte_names(), special) {
  require(!special.unk, "byte tokenizer: no byte is unknown; leave out the unknown token \"{}\"",
          special.unk.value_or(""));
  for (const std::optional<int32_t>& id : {this->special().bos, this->special().eos, this->special().pad}) {
    require(!id || *id >= byte_count, "byte tokenizer: the special token \"{}\" is the name of a byte",
            token(id.value_or(0)));
  }
}

std::vector<int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size());
  for (char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

std::string ByteTokenizer::decode_bytes(std::span<const int32_t> ids, SpecialTokens special) const {
  std::string bytes;
  for (int32_t id : ids) {
    if (special == SpecialTokens::skip && vocabulary_.is_skipped(id)) continue;
    if (id >= 0 && id < byte_count) {
      bytes += static_cast<char>(id);
    } else {
      bytes += vocabulary_.shown(id);
      require_decodable(bytes.size(), ids.size());
    }
  }
  return bytes;
}

}  // namespace weft::text
