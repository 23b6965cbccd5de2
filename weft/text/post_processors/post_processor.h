#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/encoding.h"

namespace weft::text {

// A stretch of the result: the tokens of one of the texts, or special tokens between them.
struct EncodedPart {
  Encoding encoding;
  std::string_view text;  // what its offsets point into; empty for special tokens
};

enum class AddSpecialTokens { no, yes };

// The fourth stage of a pipeline: puts special tokens around one or two encoded texts.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // How many tokens it adds, for truncation to leave room.
  virtual int64_t added_tokens(bool pair) const = 0;
  // Whether it decides which parts there are and in what order: it wants one part per text, and leaves others.
  virtual bool arranges() const = 0;
  virtual void process(std::vector<EncodedPart>& parts, AddSpecialTokens special) const = 0;
};

// The post-processor of a tokenizer.json. FormatError, with the place, for one that is not known or not well described.
std::unique_ptr<PostProcessor> make_post_processor(const JsonView& description);

}  // namespace weft::text
