#include "weft/io/safetensors_header.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>

#include "weft/base/error.h"
#include "weft/base/json.h"

namespace weft {

static_assert(std::endian::native == std::endian::little, "safetensors files are read in place");

namespace {

struct TypeRow {
  std::string_view name;
  uint64_t bits;
  std::optional<DType> dtype;
};

// Every element type of the format, so that a file is checked whole even if weft cannot use one of its tensors.
constexpr std::array<TypeRow, 20> types = {{
    {"F32", 32, DType::f32},      {"BF16", 16, DType::bf16},    {"F16", 16, DType::f16},
    {"I32", 32, DType::i32},      {"I64", 64, DType::i64},      {"U8", 8, DType::u8},
    {"BOOL", 8, DType::boolean},  {"F64", 64, std::nullopt},    {"I8", 8, std::nullopt},
    {"I16", 16, std::nullopt},    {"U16", 16, std::nullopt},    {"U32", 32, std::nullopt},
    {"U64", 64, std::nullopt},    {"F8_E4M3", 8, std::nullopt}, {"F8_E5M2", 8, std::nullopt},
    {"F8_E8M0", 8, std::nullopt}, {"F6_E2M3", 6, std::nullopt}, {"F6_E3M2", 6, std::nullopt},
    {"F4", 4, std::nullopt},      {"C64", 64, std::nullopt},
}};

const TypeRow& type_row(const JsonView& dtype) {
  const std::string name = dtype.as<std::string>();
  const auto row = std::find_if(types.begin(), types.end(), [&](const TypeRow& type) { return type.name == name; });
  if (row == types.end()) dtype.expected("an element type of safetensors such as F32");
  return *row;
}

uint64_t whole_number(const JsonView& value) {
  const auto number = value.as<int64_t>();
  if (number < 0) value.expected("a whole number that is not negative");
  return static_cast<uint64_t>(number);
}

// Bytes of a tensor, from its shape; a product that does not fit is an error, so that no later sum can wrap around.
uint64_t bytes_of(const std::vector<int64_t>& sizes, const TypeRow& type, const JsonView& place) {
  uint64_t bits = type.bits;
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(bits, static_cast<uint64_t>(size), &bits)) {
      fail<FormatError>("{}: its size does not fit 64 bits", place.place());
    }
  }
  if (bits % 8 != 0) fail<FormatError>("{}: its size is no whole number of bytes", place.place());
  return bits / 8;
}

SafetensorsEntry parse_entry(const std::string& name, const JsonView& value, uint64_t data_bytes) {
  value.allow_only({"dtype", "shape", "data_offsets"});
  const TypeRow type = type_row(value.at("dtype"));
  SafetensorsEntry entry{name, std::string(type.name), type.dtype, {}, 0, 0};
  const JsonView shape = value.at("shape");
  for (size_t i = 0; i < shape.size(); ++i) entry.sizes.push_back(static_cast<int64_t>(whole_number(shape.at(i))));
  const JsonView offsets = value.at("data_offsets");
  if (offsets.size() != 2)
    fail<FormatError>("{}: expected [begin, end], got {} numbers", offsets.place(), offsets.size());
  entry.begin = whole_number(offsets.at(0));
  entry.end = whole_number(offsets.at(1));
  if (entry.begin > entry.end || entry.end > data_bytes) {
    fail<FormatError>("{}: [{}, {}) does not lie within the {} bytes of numbers", offsets.place(), entry.begin,
                      entry.end, data_bytes);
  }
  const uint64_t bytes = bytes_of(entry.sizes, type, value);
  if (bytes != entry.end - entry.begin) {
    fail<FormatError>("{}: {} of its shape needs {} bytes, data_offsets give {}", value.place(), type.name, bytes,
                      entry.end - entry.begin);
  }
  return entry;
}

// In the order of their numbers, each tensor must start where the one before ends, and the last must end with the file.
void check_cover(const std::vector<SafetensorsEntry>& entries, uint64_t data_bytes, std::string_view source) {
  uint64_t covered = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin < covered) {
      fail<FormatError>("{}: {}: starts at byte {} of the numbers, inside the tensor that ends at {}", source,
                        entry.name, entry.begin, covered);
    }
    if (entry.begin > covered) {
      fail<FormatError>("{}: {}: starts at byte {} of the numbers, and those from {} on belong to no tensor", source,
                        entry.name, entry.begin, covered);
    }
    covered = entry.end;
  }
  if (covered != data_bytes) {
    fail<FormatError>("{}: {} bytes at the end belong to no tensor", source, data_bytes - covered);
  }
}

std::string_view header_text(std::string_view front, uint64_t file_bytes, std::string_view source) {
  uint64_t length = 0;
  if (file_bytes < sizeof length || front.size() < sizeof length) {
    fail<FormatError>("{}: {} bytes are too few for a safetensors file", source, file_bytes);
  }
  std::memcpy(&length, front.data(), sizeof length);
  if (length > max_safetensors_header_bytes) {
    fail<FormatError>(
        "{}: a header of {} bytes is longer than the {} that safetensors allows; is it a safetensors file?", source,
        length, max_safetensors_header_bytes);
  }
  if (length > file_bytes - sizeof length) {
    fail<FormatError>("{}: the header should have {} bytes, but the file ends after {}", source, length,
                      file_bytes - sizeof length);
  }
  const std::string_view text = front.substr(sizeof length, length);
  if (!text.starts_with('{')) fail<FormatError>("{}: the header does not start with '{{'", source);
  return text;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view front, uint64_t file_bytes, std::string_view source) {
  const std::string_view text = header_text(front, file_bytes, source);
  const Json document = parse_json(text, source, {.max_bytes = max_safetensors_header_bytes, .max_depth = 3});
  SafetensorsHeader header;
  header.data_offset = sizeof(uint64_t) + text.size();
  const uint64_t data_bytes = file_bytes - header.data_offset;
  const JsonView root(document, std::string(source));
  for (const std::string& name : root.keys()) {
    const JsonView value = root.at(name);
    if (name == "__metadata__") {
      for (const std::string& key : value.keys()) header.metadata[key] = value.get<std::string>(key);
    } else {
      header.entries.push_back(parse_entry(name, value, data_bytes));
    }
  }
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  check_cover(header.entries, data_bytes, source);
  return header;
}

std::string_view safetensors_name(DType dtype) {
  const auto row = std::find_if(types.begin(), types.end(), [&](const TypeRow& type) { return type.dtype == dtype; });
  require(row != types.end(), "safetensors: no name for the element type {}", name_of(dtype));
  return row->name;
}

}  // namespace weft
