#pragma once

#include <string>

#include "weft/text/pre_tokenizers/pre_tokenizer.h"

namespace weft::text {

enum class PrependScheme { always, first, never };

// What the Metaspace pre-tokenizer and decoder are described by. Reads the old form too, where add_prefix_space stands
// for the scheme and str_rep repeats the replacement.
struct Metaspace {
  explicit Metaspace(const JsonView& description);

  std::string replacement;  // one character
  PrependScheme scheme = PrependScheme::always;
  bool split = true;
};

// SentencePiece's: blanks become the replacement, one is put before (always, or only at the start of the text), and
// pieces begin with it.
class MetaspacePreTokenizer final : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const JsonView& description) : metaspace_(description) {}
  void split(Pieces& pieces) const override;
  bool needs_tracking() const override { return metaspace_.scheme == PrependScheme::first; }

 private:
  Metaspace metaspace_;
};

}  // namespace weft::text
