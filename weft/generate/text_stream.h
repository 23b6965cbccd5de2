#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/text/tokenizer.h"

namespace weft::generate {

// Turns a sequence's tokens into text as they come: every piece is whole UTF-8 characters, and all pieces with finish()
// are the text of all tokens. The tokenizer must outlive the stream.
class TextStream {
 public:
  explicit TextStream(const text::Tokenizer& tokenizer, text::SpecialTokens special = text::SpecialTokens::skip)
      : tokenizer_(&tokenizer), special_(special) {}

  // Tokens that come before the text, such as the prompt: they are not shown, but decide what stands between them and
  // what follows (word tokenizers put a space there).
  void skip(std::span<const int32_t> ids);
  std::string push(int32_t id);  // what this token adds; may be empty
  std::string finish();          // what was held back of an unfinished character

 private:
  std::string bytes_of(int32_t id);
  std::string take_held(bool all);

  const text::Tokenizer* tokenizer_;
  text::SpecialTokens special_;
  std::vector<int32_t> recent_;  // enough of the tokens before for the tokenizer to see what goes between
  std::vector<int32_t> held_;    // tokens whose text is not whole yet
  text::Utf8Stream characters_;
};

}  // namespace weft::generate
