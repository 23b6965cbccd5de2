#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::text {

// Looks through the bytes of a SentencePiece `.model` (a protocol buffer, ModelProto) before the library reads them:
// the library trusts character maps and can be made to read outside of them, or to allocate without bound. FormatError
// with `source` and the place for bytes that are no such message, and for sizes, texts and numbers that no trainer
// writes. The result is how many times its own bytes the model's character map may make a text grow.
size_t check_sentence_piece_model(std::string_view bytes, const std::string& source);

}  // namespace weft::text
