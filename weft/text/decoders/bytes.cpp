#include "weft/text/decoders/bytes.h"

#include "weft/text/byte_names.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

void append_bytes(std::string_view token, std::string& bytes) {
  const size_t before = bytes.size();
  for (std::string_view rest = token; !rest.empty();) {
    const CodePoint next = first_code_point(rest);
    const auto byte = byte_of_visible(next.value);
    if (!byte) {
      bytes.resize(before);
      bytes += token;
      return;
    }
    bytes += static_cast<char>(*byte);
    rest.remove_prefix(next.length);
  }
}

}  // namespace

ByteLevelDecoder::ByteLevelDecoder(const JsonView& description) {
  description.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
}

void ByteLevelDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  std::string bytes;
  for (const std::string& token : tokens) append_bytes(token, bytes);
  tokens.assign(1, std::move(bytes));
}

ByteFallbackDecoder::ByteFallbackDecoder(const JsonView& description) { description.allow_only({"type"}); }

void ByteFallbackDecoder::decode(std::vector<std::string>& tokens, TextBudget&) const {
  std::vector<std::string> decoded;
  std::string run;
  const auto close_run = [&] {
    if (run.empty()) return;
    if (is_utf8(run)) {
      decoded.push_back(run);
    } else {
      decoded.insert(decoded.end(), run.size(), to_utf8(replacement_character));
    }
    run.clear();
  };
  for (std::string& token : tokens) {
    if (const auto byte = byte_of_fallback_name(token)) {
      run += static_cast<char>(*byte);
      continue;
    }
    close_run();
    decoded.push_back(std::move(token));
  }
  close_run();
  tokens = std::move(decoded);
}

}  // namespace weft::text
