#include "weft/io/safetensors_header.h"

#include <gtest/gtest.h>

#include "tests/io/safetensors_bytes.h"
#include "tests/support/message_of.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

using testing_support::message_of;
using testing_support::safetensors_bytes;

SafetensorsHeader parse(std::string_view file) { return parse_safetensors_header(file, file.size(), "m.safetensors"); }

// One tensor `w` with the given fields, over 8 bytes of numbers.
std::string with_fields(std::string_view fields) {
  return safetensors_bytes(fmt::format("{{\"w\":{{{}}}}}", fields), 8);
}

std::string with_length(uint64_t length) {
  std::string file = safetensors_bytes("{}", 0);
  std::memcpy(file.data(), &length, sizeof length);
  return file;
}

// Two tensors of U8 at the given offsets, over 8 bytes of numbers.
std::string with_two(int a_begin, int a_end, int b_begin, int b_end) {
  const auto entry = [](int begin, int end) {
    return fmt::format(R"({{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", end - begin, begin, end);
  };
  return safetensors_bytes(fmt::format(R"({{"a":{},"b":{}}})", entry(a_begin, a_end), entry(b_begin, b_end)), 8);
}

TEST(SafetensorsHeader, ReadsEveryPart) {
  const std::string file = safetensors_bytes(R"({"__metadata__":{"format":"pt","x":""},)"
                                             R"("b":{"dtype":"F32","shape":[2,1],"data_offsets":[2,10]},)"
                                             R"("a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},)"
                                             R"("none":{"dtype":"I64","shape":[3,0],"data_offsets":[10,10]},)"
                                             R"("eighth":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[10,11]}}  )",
                                             11);
  const SafetensorsHeader header = parse(file);
  EXPECT_EQ(header.data_offset, file.size() - 11);
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"x", ""}}));
  ASSERT_EQ(header.entries.size(), 4u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[0].dtype, DType::bf16);
  EXPECT_TRUE(header.entries[0].sizes.empty());
  EXPECT_EQ(header.entries[1].name, "b");
  EXPECT_EQ(header.entries[1].sizes, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(header.entries[1].begin, 2u);
  EXPECT_EQ(header.entries[1].end, 10u);
  EXPECT_EQ(header.entries[2].name, "none");
  EXPECT_EQ(header.entries[3].dtype_name, "F8_E4M3");
  EXPECT_FALSE(header.entries[3].dtype.has_value());
}

TEST(SafetensorsHeader, AFileOfNoTensorsIsValid) { EXPECT_TRUE(parse(safetensors_bytes("{}", 0)).entries.empty()); }

TEST(SafetensorsHeader, TypeNames) {
  EXPECT_EQ(safetensors_name(DType::f32), "F32");
  EXPECT_EQ(safetensors_name(DType::boolean), "BOOL");
}

struct BrokenFile {
  const char* name;
  std::string file;
  std::string message;  // after "m.safetensors: "
};

class BrokenSafetensors : public testing::TestWithParam<BrokenFile> {};

TEST_P(BrokenSafetensors, IsRefused) {
  EXPECT_EQ(message_of([] { parse(GetParam().file); }), "m.safetensors: " + GetParam().message);
}

const std::string needs = "expected an element type of safetensors such as F32, got ";

INSTANTIATE_TEST_SUITE_P(
    Frame, BrokenSafetensors,
    testing::Values(
        BrokenFile{"empty", "", "0 bytes are too few for a safetensors file"},
        BrokenFile{"seven_bytes", "1234567", "7 bytes are too few for a safetensors file"},
        BrokenFile{"header_past_end", with_length(3), "the header should have 3 bytes, but the file ends after 2"},
        BrokenFile{"header_past_limit", with_length(100'000'001),
                   "a header of 100000001 bytes is longer than the 100000000 that safetensors allows; is it a "
                   "safetensors file?"},
        BrokenFile{
            "header_length_all_ones", with_length(~uint64_t{0}),
            "a header of 18446744073709551615 bytes is longer than the 100000000 that safetensors allows; is it a "
            "safetensors file?"},
        BrokenFile{"no_header", with_length(0), "the header does not start with '{'"},
        BrokenFile{"space_first", safetensors_bytes(" {}", 0), "the header does not start with '{'"},
        BrokenFile{"array", safetensors_bytes("[]", 0), "the header does not start with '{'"},
        BrokenFile{"duplicate_tensor",
                   safetensors_bytes(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{}})", 0),
                   "line 1, column 57: the key \"a\" stands twice in one object"},
        BrokenFile{"duplicate_field", with_fields(R"("dtype":"U8","dtype":"F32")"),
                   "line 1, column 27: the key \"dtype\" stands twice in one object"},
        BrokenFile{"too_deep", with_fields(R"("shape":[[1]])"), "line 1, column 17: more than 3 levels of nesting"}),
    [](const auto& instance) { return std::string(instance.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Entries, BrokenSafetensors,
    testing::Values(
        BrokenFile{"metadata_number", safetensors_bytes(R"({"__metadata__":{"step":3}})", 0),
                   "__metadata__.step: expected a string, got 3"},
        BrokenFile{"metadata_array", safetensors_bytes(R"({"__metadata__":[]})", 0),
                   "__metadata__: expected an object, got an array"},
        BrokenFile{"entry_no_object", safetensors_bytes(R"({"w":1})", 0), "w: expected an object, got 1"},
        BrokenFile{"no_dtype", with_fields(R"("shape":[8],"data_offsets":[0,8])"), "w: \"dtype\" is missing"},
        BrokenFile{"no_shape", with_fields(R"("dtype":"U8","data_offsets":[0,8])"), "w: \"shape\" is missing"},
        BrokenFile{"no_offsets", with_fields(R"("dtype":"U8","shape":[8])"), "w: \"data_offsets\" is missing"},
        BrokenFile{"unknown_field", with_fields(R"("dtype":"U8","shapes":[8],"data_offsets":[0,8])"),
                   "w: unknown key \"shapes\"; did you mean \"shape\"?"},
        BrokenFile{"unknown_dtype", with_fields(R"("dtype":"F31","shape":[8],"data_offsets":[0,8])"),
                   "w.dtype: " + needs + "\"F31\""},
        BrokenFile{"dtype_lower_case", with_fields(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])"),
                   "w.dtype: " + needs + "\"f32\""},
        BrokenFile{"dtype_number", with_fields(R"("dtype":32,"shape":[8],"data_offsets":[0,8])"),
                   "w.dtype: expected a string, got 32"},
        BrokenFile{"shape_number", with_fields(R"("dtype":"U8","shape":8,"data_offsets":[0,8])"),
                   "w.shape: expected an array, got 8"},
        BrokenFile{"shape_negative", with_fields(R"("dtype":"U8","shape":[-8],"data_offsets":[0,8])"),
                   "w.shape[0]: expected a whole number that is not negative, got -8"},
        BrokenFile{"shape_fraction", with_fields(R"("dtype":"U8","shape":[8.0],"data_offsets":[0,8])"),
                   "w.shape[0]: expected a whole number, got 8.0"},
        BrokenFile{"shape_64_bits", with_fields(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,8])"),
                   "w.shape[0]: expected a whole number within 64 bits, got 18446744073709551615"},
        BrokenFile{"shape_overflow",
                   with_fields(R"("dtype":"U8","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8])"),
                   "w: its size does not fit 64 bits"},
        BrokenFile{"shape_wraps_to_size",
                   with_fields(R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])"),
                   "w: its size does not fit 64 bits"},
        BrokenFile{"half_a_byte", with_fields(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])"),
                   "w: its size is no whole number of bytes"},
        BrokenFile{"size_too_small", with_fields(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"),
                   "w: F32 of its shape needs 4 bytes, data_offsets give 8"},
        BrokenFile{"size_too_large", with_fields(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
                   "w: F32 of its shape needs 12 bytes, data_offsets give 8"},
        BrokenFile{"offsets_three", with_fields(R"("dtype":"U8","shape":[8],"data_offsets":[0,8,8])"),
                   "w.data_offsets: expected [begin, end], got 3 numbers"},
        BrokenFile{"offsets_negative", with_fields(R"("dtype":"U8","shape":[8],"data_offsets":[-1,7])"),
                   "w.data_offsets[0]: expected a whole number that is not negative, got -1"},
        BrokenFile{"offsets_backwards", with_fields(R"("dtype":"U8","shape":[8],"data_offsets":[8,0])"),
                   "w.data_offsets: [8, 0) does not lie within the 8 bytes of numbers"},
        BrokenFile{"offsets_past_end", with_fields(R"("dtype":"U8","shape":[9],"data_offsets":[0,9])"),
                   "w.data_offsets: [0, 9) does not lie within the 8 bytes of numbers"}),
    [](const auto& instance) { return std::string(instance.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Layout, BrokenSafetensors,
    testing::Values(BrokenFile{"hole_first", with_two(1, 4, 4, 8),
                               "a: starts at byte 1 of the numbers, and those from 0 on belong to no tensor"},
                    BrokenFile{"hole_between", with_two(0, 3, 5, 8),
                               "b: starts at byte 5 of the numbers, and those from 3 on belong to no tensor"},
                    BrokenFile{"overlap", with_two(0, 5, 3, 8),
                               "b: starts at byte 3 of the numbers, inside the tensor that ends at 5"},
                    BrokenFile{"same_place", with_two(0, 8, 0, 8),
                               "b: starts at byte 0 of the numbers, inside the tensor that ends at 8"},
                    BrokenFile{"trailing_data", with_two(0, 3, 3, 6), "2 bytes at the end belong to no tensor"},
                    BrokenFile{"no_tensor_but_data", safetensors_bytes("{}", 4),
                               "4 bytes at the end belong to no tensor"}),
    [](const auto& instance) { return std::string(instance.param.name); });

std::string sample_file() {
  return safetensors_bytes(R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                           R"("b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}}  )",
                           19);
}

TEST(SafetensorsHeader, EveryTruncationIsRefused) {
  const std::string file = sample_file();
  EXPECT_NO_THROW(parse(file));
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_THROW(parse(std::string_view(file).substr(0, length)), FormatError) << length;
  }
  EXPECT_THROW(parse(file + "x"), FormatError);
}

// Whatever passes must still be consistent: every tensor inside the file, end to end.
TEST(SafetensorsHeader, RandomChangesNeverCrash) {
  const std::string original = sample_file();
  int accepted = 0;
  for (uint64_t round = 0; round < 20000; ++round) {
    const Rng rng = Rng{.seed = 9, .stream = 0}.split(round);
    std::string file = original;
    for (uint64_t change = 0; change <= rng.below(3, 0); ++change) {
      file[rng.below(file.size(), 3 * change + 1)] = static_cast<char>(rng.below(256, 3 * change + 2));
    }
    try {
      const SafetensorsHeader header = parse(file);
      uint64_t covered = header.data_offset;
      for (const SafetensorsEntry& entry : header.entries) {
        ASSERT_EQ(header.data_offset + entry.begin, covered);
        covered = header.data_offset + entry.end;
      }
      ASSERT_EQ(covered, file.size());
      ++accepted;
    } catch (const FormatError&) {
    }
  }
  EXPECT_GT(accepted, 0);  // changes of the numbers or of a name
}

}  // namespace
}  // namespace weft
