#include "tests/fuzz/sentence_piece_files.h"

#include <array>
#include <cstdint>
#include <filesystem>

#include "tests/fuzz/mutation.h"
#include "weft/base/files.h"

namespace weft::fuzz {

namespace {

namespace fs = std::filesystem;

enum class Wire { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

// A field of a message: a number's bytes, or what is inside.
struct Field {
  uint64_t number;
  Wire wire;
  std::string content;
};

bool take_varint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80u | (value & 0x7fu));
  return bytes += static_cast<char>(value);
}

// As many fields as can be read.
std::vector<Field> read_fields(std::string_view bytes) {
  std::vector<Field> fields;
  while (!bytes.empty()) {
    uint64_t key = 0;
    if (!take_varint(bytes, key)) break;
    Field field{key >> 3, static_cast<Wire>(key & 7), ""};
    uint64_t value = 0;
    size_t length = field.wire == Wire::eight_bytes ? 8 : 4;
    if (field.wire == Wire::varint) {
      if (!take_varint(bytes, value)) break;
      field.content = varint(value);
      fields.push_back(std::move(field));
      continue;
    }
    if (field.wire == Wire::bytes) {
      if (!take_varint(bytes, value)) break;
      length = value;
    } else if (field.wire != Wire::eight_bytes && field.wire != Wire::four_bytes) {
      break;
    }
    if (length > bytes.size()) break;
    field.content = bytes.substr(0, length);
    bytes.remove_prefix(length);
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string write_fields(const std::vector<Field>& fields) {
  std::string bytes;
  for (const Field& field : fields) {
    bytes += varint(field.number << 3 | static_cast<uint64_t>(field.wire));
    if (field.wire == Wire::bytes) bytes += varint(field.content.size());
    bytes += field.content;
  }
  return bytes;
}

void change_field(Field& field, const std::vector<Field>& others, Dice& dice) {
  if (field.wire == Wire::varint) {
    constexpr std::array<uint64_t, 10> values = {0,          1,          2,          3,     6, uint64_t{1} << 31,
                                                 0xffffffff, UINT64_MAX, 0x7fffffff, 100000};
    field.content = varint(dice.one_of(values));
  } else if (field.wire != Wire::bytes) {
    constexpr std::array<std::string_view, 4> floats = {{"\x00\x00\xc0\x7f", "\x00\x00\x80\xff", "\xff\xff\x7f\x7f"}};
    if (dice.one_in(2))
      field.content = mutate_bytes(field.content, "", dice, field.content.size());
    else
      field.content = dice.one_of(floats);
    field.content.resize(field.wire == Wire::four_bytes ? 4 : 8);
  } else if (!others.empty() && dice.one_in(4)) {
    field.content = dice.one_of(others).content;
  } else {
    field.content = mutate_bytes(field.content, "", dice, field.content.size() + 300);
  }
}

void change_once(std::vector<Field>& fields, const std::vector<Field>& others, int depth, Dice& dice) {
  if (fields.empty()) return;
  const size_t place = dice.below(fields.size());
  // Pieces are many: what stands behind them gets its share.
  const size_t chosen = dice.one_in(2) ? place : fields.size() - 1 - dice.below(std::min<size_t>(fields.size(), 3));
  Field& field = fields[chosen];
  switch (dice.below(6)) {
    case 0:
      fields.erase(fields.begin() + static_cast<ptrdiff_t>(chosen));
      return;
    case 1:
      fields.insert(fields.begin() + static_cast<ptrdiff_t>(place), Field(field));
      return;
    case 2:
      std::swap(fields[place], fields[dice.below(fields.size())]);
      return;
    case 3:
    case 4:
      if (field.wire == Wire::bytes && depth > 0) {
        std::vector<Field> inner = read_fields(field.content);
        if (!inner.empty()) {
          change_once(inner, others, depth - 1, dice);
          field.content = write_fields(inner);
          return;
        }
      }
      [[fallthrough]];
    default:
      change_field(field, others, dice);
  }
}

// Field numbers of the format.
constexpr uint64_t piece = 1;
constexpr uint64_t trainer = 2;
constexpr uint64_t trainer_model_type = 3;

void put_number(std::string& message, uint64_t number, uint64_t value) {
  std::vector<Field> fields = read_fields(message);
  std::erase_if(fields, [&](const Field& field) { return field.number == number; });
  fields.push_back({number, Wire::varint, varint(value)});
  message = write_fields(fields);
}

}  // namespace

std::vector<std::string> small_models() {
  const fs::path folder = fs::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers";
  std::vector<std::string> models;
  for (const char* name : {"source.spm", "target.spm"}) {
    const std::vector<Field> whole = read_fields(read_file(folder / "marian" / name));
    for (const uint64_t type : {1, 2, 3, 4}) {
      std::vector<Field> fields;
      size_t pieces = 0;
      for (const Field& field : whole) {
        if (field.number == piece && ++pieces > 80) continue;
        fields.push_back(field);
        if (field.number == trainer) put_number(fields.back().content, trainer_model_type, type);
      }
      models.push_back(write_fields(fields));
    }
  }
  models.push_back(read_file(folder / "spm-unigram-1k/test_model.model"));
  return models;
}

std::string mutate_message(const std::string& model, const std::string& other, Dice& dice, size_t longest) {
  std::vector<Field> fields = read_fields(model);
  const std::vector<Field> others = read_fields(other);
  const uint64_t changes = uint64_t{1} << dice.below(4);
  for (uint64_t i = 0; i < changes; ++i) change_once(fields, others, 2, dice);
  std::string result = write_fields(fields);
  return result.size() > longest ? model : result;
}

}  // namespace weft::fuzz
