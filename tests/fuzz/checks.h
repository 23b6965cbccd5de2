#pragma once

#include <string_view>

#include "weft/text/encoding_tokenizer.h"

namespace weft::fuzz {

// Throws Finding unless the encoding is one of `text`: as many of everything, ids of the vocabulary, offsets inside the
// text; in order, their ends that is, as blanks may be cut off at the begin, if `order` says so.
enum class Order { any, rising };
void check_encoding(const text::EncodingTokenizer& tokenizer, const text::Encoding& encoding, std::string_view text,
                    Order order);

}  // namespace weft::fuzz
