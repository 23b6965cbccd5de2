#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weft/base/json.h"
#include "weft/text/byte_trie.h"
#include "weft/text/models/token_model.h"
#include "weft/text/normalizers/normalizer.h"
#include "weft/text/pieces.h"

namespace weft::text {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool single_word = false;  // only where no word character stands beside it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and behind it
  bool normalized = true;    // looked for in the normalized text, not in the raw one
  std::string shown;         // what it decodes to: its content, normalized if the text is
  bool special = false;      // left out by decoding with SpecialTokens::skip
};

// The tokens that are found in a text as a whole, before the model sees the rest.
class AddedTokens {
 public:
  AddedTokens() = default;
  // `added_tokens` of a tokenizer.json. Tokens that the model knows have its ids; others follow on the model's, in the
  // order given, whatever id the file says, as in the reference.
  AddedTokens(const JsonView& list, const TokenModel& model, const Normalizer* normalizer);

  // Normalizes a text and cuts it at the tokens found.
  Pieces find(AlignedText text, const Normalizer* normalizer) const;

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  std::optional<int32_t> find_id(std::string_view content) const;
  const AddedToken* by_id(int32_t id) const;
  bool is_special(std::string_view content) const { return special_.contains(std::string(content)); }

 private:
  // Finds the contents of some of the tokens in a text.
  struct Finder {
    ByteTrie trie;  // to places in tokens_
    std::array<bool, 256> first_bytes{};
    std::optional<unsigned char> only_first_byte;  // that all contents begin with
    bool is_empty = true;

    void add(std::string_view content, int32_t place);
    // The first place from `position` on where a content may begin; the text's end if there is none.
    size_t next_begin(std::string_view text, size_t position) const;
  };
  // A token found at [begin, end), or text between two (token null).
  struct Found {
    size_t begin;
    size_t end;
    const AddedToken* token;
  };

  // `next_id` is what the next token gets that the model does not know.
  void add(AddedToken token, const TokenModel& model, int32_t& next_id);
  // All of the text in parts; nothing if no token is in it. weft::Error if the budget does not last.
  std::vector<Found> search(const Finder& finder, std::string_view text, TextBudget& budget) const;

  std::vector<AddedToken> tokens_;
  std::unordered_map<int32_t, size_t> places_;  // in tokens_, by id
  std::unordered_map<std::string, int32_t> ids_;
  std::unordered_set<std::string> special_;
  Finder raw_;
  Finder normalized_;
};

}  // namespace weft::text
