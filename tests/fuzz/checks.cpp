#include "tests/fuzz/checks.h"

#include <fmt/format.h>

#include "tests/fuzz/target.h"

namespace weft::fuzz {

namespace {

void expect(bool condition, std::string_view what) {
  if (!condition) throw Finding(std::string(what));
}

}  // namespace

void check_encoding(const text::EncodingTokenizer& tokenizer, const text::Encoding& encoding, std::string_view text,
                    Order order) {
  const size_t n = encoding.size();
  expect(encoding.type_ids.size() == n && encoding.attention_mask.size() == n &&
             encoding.special_tokens_mask.size() == n && encoding.tokens.size() == n && encoding.offsets.size() == n &&
             encoding.word_ids.size() == n,
         "an encoding whose lists differ in length");
  uint32_t last_end = 0;
  int32_t last_word = 0;
  for (size_t i = 0; i < n; ++i) {
    const text::ByteRange range = encoding.offsets[i];
    expect(range.begin <= range.end && range.end <= text.size(),
           fmt::format("offsets {} to {} of a text of {} bytes", range.begin, range.end, text.size()));
    expect(text::is_utf8(encoding.tokens[i]), "a token that is not UTF-8");
    if (encoding.special_tokens_mask[i] != 0) continue;
    expect(encoding.ids[i] >= 0 && encoding.ids[i] < tokenizer.vocab_size(),
           fmt::format("the id {} of a vocabulary of {}", encoding.ids[i], tokenizer.vocab_size()));
    if (order == Order::any) continue;
    expect(range.end >= last_end, fmt::format("offsets that go back from {} to {}", last_end, range.end));
    expect(encoding.word_ids[i] >= last_word, "word ids that go back");
    last_end = range.end;
    last_word = encoding.word_ids[i];
  }
}

}  // namespace weft::fuzz
