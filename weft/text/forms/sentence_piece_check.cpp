#include "weft/text/forms/sentence_piece_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/base/error.h"
#include "weft/text/forms/character_map_check.h"
#include "weft/text/little_endian.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

constexpr size_t most_pieces = size_t{1} << 22;
constexpr size_t longest_piece = 2048;  // trainers make at most 512 characters
constexpr size_t most_prefixes = 64;
constexpr size_t longest_unknown_surface = 64;

enum class Wire { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

struct Field {
  uint64_t number = 0;
  Wire wire = Wire::varint;
  uint64_t value = 0;        // of a varint
  std::string_view content;  // of the others
};

// Field numbers of the format.
namespace model_field {
constexpr uint64_t piece = 1;
constexpr uint64_t trainer = 2;
constexpr uint64_t normalizer = 3;
constexpr uint64_t denormalizer = 5;
}  // namespace model_field
constexpr uint64_t piece_text = 1;
constexpr uint64_t piece_score = 2;
constexpr uint64_t piece_type = 3;
constexpr uint64_t user_defined = 4;
constexpr uint64_t trainer_model_type = 3;
constexpr uint64_t trainer_unknown_surface = 44;
constexpr uint64_t normalizer_map = 2;

// The fields of a message, one after another.
class Message {
 public:
  Message(std::string_view bytes, std::string place) : rest_(bytes), place_(std::move(place)) {}

  bool next(Field& field) {
    if (rest_.empty()) return false;
    const uint64_t key = varint();
    field.number = key >> 3;
    field.wire = static_cast<Wire>(key & 7u);
    require<FormatError>(field.number > 0 && field.number < (uint64_t{1} << 29), "{}: the field number {} is not one",
                         place_, field.number);
    switch (field.wire) {
      case Wire::varint:
        field.value = varint();
        field.content = {};
        return true;
      case Wire::eight_bytes:
        field.content = take(8);
        return true;
      case Wire::bytes:
        field.content = take(varint());
        return true;
      case Wire::four_bytes:
        field.content = take(4);
        return true;
    }
    fail<FormatError>("{}: field {} has the wire type {}, which is not supported", place_, field.number, key & 7u);
  }
  void expect(const Field& field, Wire wire) const {
    require<FormatError>(field.wire == wire, "{}: field {} has the wire type {}, expected {}", place_, field.number,
                         static_cast<int>(field.wire), static_cast<int>(wire));
  }

 private:
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    fail<FormatError>("{}: a number of more than 64 bits", place_);
  }
  std::string_view take(uint64_t count) {
    require<FormatError>(count <= rest_.size(), "{}: {} bytes are to follow, but only {} do", place_, count,
                         rest_.size());
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
  std::string place_;
};

struct CheckedPiece {
  std::string_view text;
  uint64_t type;
};

CheckedPiece check_piece(std::string_view bytes, const std::string& place) {
  Message message(bytes, place);
  std::string_view text;
  uint64_t type = 1;
  Field field;
  while (message.next(field)) {
    if (field.number == piece_text) {
      message.expect(field, Wire::bytes);
      text = field.content;
    } else if (field.number == piece_score) {
      message.expect(field, Wire::four_bytes);
      require<FormatError>(std::isfinite(std::bit_cast<float>(read_u32(field.content))), "{}: the score is not finite",
                           place);
    } else if (field.number == piece_type) {
      message.expect(field, Wire::varint);
      type = field.value;
    }
  }
  require<FormatError>(!text.empty(), "{}: the piece is empty", place);
  require<FormatError>(text.size() <= longest_piece, "{}: expected at most {} bytes, got {}", place, longest_piece,
                       text.size());
  require<FormatError>(is_utf8(text) && text.find('\0') == text.npos, "{}: the piece is not UTF-8 text", place);
  return {text, type};
}

// The library looks for user-defined pieces at every place of a text and has room for so many that begin there.
void check_user_defined(std::vector<std::string_view> pieces, const std::string& place) {
  std::sort(pieces.begin(), pieces.end());
  std::vector<std::string_view> chain;  // of pieces that begin each other
  for (const std::string_view piece : pieces) {
    while (!chain.empty() && !piece.starts_with(chain.back())) chain.pop_back();
    chain.push_back(piece);
    require<FormatError>(chain.size() <= most_prefixes, "{}: more than {} user-defined pieces begin each other", place,
                         most_prefixes);
  }
}

size_t check_normalizer(std::string_view bytes, const std::string& place) {
  Message message(bytes, place);
  size_t growth = 1;
  Field field;
  while (message.next(field)) {
    if (field.number != normalizer_map) continue;
    message.expect(field, Wire::bytes);
    growth = std::max(growth, check_character_map(field.content, place + ": character map"));
  }
  return growth;
}

void check_trainer(std::string_view bytes, const std::string& place) {
  Message message(bytes, place);
  Field field;
  while (message.next(field)) {
    if (field.number == trainer_unknown_surface) {
      message.expect(field, Wire::bytes);
      require<FormatError>(field.content.size() <= longest_unknown_surface,
                           "{}: expected at most {} bytes to show for the unknown, got {}", place,
                           longest_unknown_surface, field.content.size());
    }
    if (field.number != trainer_model_type) continue;
    message.expect(field, Wire::varint);
    require<FormatError>(field.value >= 1 && field.value <= 4,
                         "{}: expected a model type from 1 to 4 (unigram, bpe, word, char), got {}", place,
                         field.value);
  }
}

}  // namespace

size_t check_sentence_piece_model(std::string_view bytes, const std::string& source) {
  const std::string place = source + ": not a SentencePiece model";
  Message message(bytes, place);
  size_t pieces = 0;
  size_t growth = 1;
  std::vector<std::string_view> of_users;
  Field field;
  while (message.next(field)) {
    switch (field.number) {
      case model_field::piece:
        message.expect(field, Wire::bytes);
        if (const CheckedPiece piece = check_piece(field.content, fmt::format("{}: piece {}", place, pieces));
            piece.type == user_defined) {
          of_users.push_back(piece.text);
        }
        require<FormatError>(++pieces <= most_pieces, "{}: more than {} pieces", place, most_pieces);
        break;
      case model_field::trainer:
        message.expect(field, Wire::bytes);
        check_trainer(field.content, place + ": trainer");
        break;
      case model_field::normalizer:
      case model_field::denormalizer:
        message.expect(field, Wire::bytes);
        growth = std::max(growth, check_normalizer(field.content, place + ": normalizer"));
        break;
      default:
        break;
    }
  }
  require<FormatError>(pieces > 0, "{}: it has no pieces", place);
  check_user_defined(std::move(of_users), place);
  return growth;
}

}  // namespace weft::text
