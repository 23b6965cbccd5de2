#pragma once

#include <string>
#include <string_view>

namespace weft::text {

// The bytes that Base64 text (RFC 4648, padded) stands for. FormatError for anything else.
std::string decode_base64(std::string_view text);
std::string encode_base64(std::string_view bytes);

}  // namespace weft::text
