#include "weft/text/encoding_tokenizer.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/threads.h"

namespace weft::text {

Encoding EncodingTokenizer::encode_one(const TextPair& texts, const EncodeOptions& options) const {
  // The reference looks at all of the first text where only the second may be cut, and at no more of the second than
  // fits in any case.
  const auto request = [&](std::string_view text, int32_t type_id) {
    EncodeRequest result{.text = text, .type_id = type_id, .detail = options.detail};
    const bool whole =
        type_id == 0 && options.truncation && options.truncation->strategy == TruncationStrategy::only_second;
    if (options.truncation && !whole) {
      result.enough = static_cast<size_t>(std::max<int64_t>(options.truncation->max_length, 0));
      result.kept_end = options.truncation->direction == Side::right ? Side::left : Side::right;
    }
    return result;
  };
  const PostProcessor* processor = post_processor();
  std::vector<EncodedPart> parts;
  parts.reserve(2);
  parts.push_back({encode_text(request(texts.text, 0)), texts.text});
  if (texts.pair) {
    parts.push_back({encode_text(request(*texts.pair, 1)), *texts.pair});
  }
  if (options.truncation) {
    Truncation truncation = *options.truncation;
    const bool special = processor != nullptr && options.special_tokens == AddSpecialTokens::yes;
    const int64_t room = truncation.max_length - (special ? processor->added_tokens(false) : 0);
    require(truncation.stride == 0 || truncation.stride <= room,
            "truncation: expected a stride within the {} tokens that are left for text, got {}", room,
            truncation.stride);
    if (special) {
      const int64_t added = processor->added_tokens(texts.pair.has_value());
      require(added <= truncation.max_length, "truncation: {} tokens have no room for the {} special ones",
              truncation.max_length, added);
      truncation.max_length -= added;
    }
    truncate(parts[0].encoding, texts.pair ? &parts[1].encoding : nullptr, truncation);
  }
  if (processor != nullptr) processor->process(parts, options.special_tokens);
  Encoding result = parts.empty() ? Encoding{} : std::move(parts[0].encoding);
  size_t size = 0;
  for (const EncodedPart& part : parts) size += part.encoding.size();
  result.ids.reserve(size + result.size());
  for (size_t i = 1; i < parts.size(); ++i) result.append(std::move(parts[i].encoding));
  return result;
}

Encoding EncodingTokenizer::encode(const TextPair& texts, const EncodeOptions& options) const {
  std::vector<Encoding> encodings;
  encodings.push_back(encode_one(texts, options));
  if (options.padding) pad(encodings, *options.padding);
  return std::move(encodings[0]);
}

std::vector<Encoding> EncodingTokenizer::encode_batch(std::span<const TextPair> texts,
                                                      const EncodeOptions& options) const {
  std::vector<Encoding> encodings(texts.size());
  constexpr size_t texts_per_task = 32;
  parallel_tasks(static_cast<int64_t>((texts.size() + texts_per_task - 1) / texts_per_task), [&](int64_t task) {
    const size_t begin = static_cast<size_t>(task) * texts_per_task;
    const size_t end = std::min(begin + texts_per_task, texts.size());
    for (size_t i = begin; i < end; ++i) encodings[i] = encode_one(texts[i], options);
  });
  if (options.padding) pad(encodings, *options.padding);
  return encodings;
}

int64_t EncodingTokenizer::special_tokens_per_text() const {
  return post_processor() != nullptr ? post_processor()->added_tokens(false) : 0;
}

std::vector<int32_t> EncodingTokenizer::encode(std::string_view text) const {
  return encode_text({.text = text, .type_id = 0, .detail = EncodeDetail::ids}).ids;
}

}  // namespace weft::text
