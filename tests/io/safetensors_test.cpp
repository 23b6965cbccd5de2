#include "weft/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include "tests/io/safetensors_bytes.h"
#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing_support::message_of;
using testing_support::safetensors_bytes;
using testing_support::TemporaryFolder;
using testing_support::write_unsynced;

template <typename T>
Tensor counting(const Shape& shape) {
  Tensor tensor = Tensor::empty(shape, dtype_of<T>());
  T* values = tensor.data<T>();
  for (int64_t i = 0; i < shape.numel(); ++i) values[i] = static_cast<T>(static_cast<float>(i % 2 == 0 ? i : -i));
  return tensor;
}

Tensor booleans() {
  const std::array<bool, 3> values = {true, false, true};
  return Tensor::from<bool>(values, {3});
}

std::string bytes_of(const Tensor& tensor) {
  return {reinterpret_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.bytes())};
}

std::vector<NamedTensor> every_type() {
  return {{"bool", booleans()},
          {"u8", counting<uint8_t>({5})},
          {"bf16", counting<BFloat16>({3, 1})},
          {"i64", counting<int64_t>({2})},
          {"scalar", Tensor::scalar(2.5f)},
          {"f32", counting<float>({2, 3})},
          {"none", Tensor::empty({0, 4}, DType::i32)},
          {"i32", counting<int32_t>({1})}};
}

TEST(Safetensors, WrittenTensorsReadBack) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = every_type();
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"name", "\"ä\"\n"}};
  write_safetensors(folder / "m.safetensors", tensors, metadata);
  const SafetensorsFile file(folder / "m.safetensors");
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(file.names().size(), tensors.size());
  for (const NamedTensor& item : tensors) {
    const Tensor read = file.tensor(item.name);
    EXPECT_EQ(read.dtype(), item.tensor.dtype()) << item.name;
    EXPECT_EQ(read.shape(), item.tensor.shape()) << item.name;
    EXPECT_EQ(bytes_of(read), bytes_of(item.tensor)) << item.name;
  }
  EXPECT_EQ(folder.count(), 1u);
}

TEST(Safetensors, LayoutIsSortedAndAligned) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m.safetensors", every_type());
  const SafetensorsFile file(folder / "m.safetensors");
  EXPECT_THAT(file.names(), ElementsAre("i64", "f32", "i32", "none", "scalar", "bf16", "bool", "u8"));
  const std::string bytes = read_file(folder / "m.safetensors");
  const SafetensorsHeader header = parse_safetensors_header(bytes, bytes.size(), "m");
  EXPECT_EQ(header.data_offset % 64, 0u);
  EXPECT_EQ(bytes[8], '{');
  for (const SafetensorsEntry& entry : header.entries) EXPECT_EQ(entry.begin % size_of(*entry.dtype), 0u) << entry.name;
}

TEST(Safetensors, SameTensorsGiveTheSameFile) {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors = every_type();
  write_safetensors(folder / "a", tensors);
  std::reverse(tensors.begin(), tensors.end());
  write_safetensors(folder / "b", tensors);
  EXPECT_EQ(read_file(folder / "a"), read_file(folder / "b"));
}

TEST(Safetensors, ViewsAreWrittenDense) {
  const TemporaryFolder folder;
  const Tensor whole = counting<float>({3, 4});
  const std::vector<NamedTensor> tensors = {{"view", whole.slice(1, 1, 3)}};
  write_safetensors(folder / "m.safetensors", tensors);
  const Tensor read = SafetensorsFile(folder / "m.safetensors").tensor("view");
  EXPECT_THAT(read.span<float>(), ElementsAre(-1, 2, -5, 6, -9, 10));
}

TEST(Safetensors, TensorsOutliveTheReaderAndWritesStayPrivate) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"w", counting<float>({4})}};
  write_safetensors(folder / "m.safetensors", tensors);
  Tensor read = SafetensorsFile(folder / "m.safetensors").tensor("w");
  std::filesystem::remove(folder / "m.safetensors");
  read.data<float>()[0] = 7;
  EXPECT_THAT(std::as_const(read).span<float>(), ElementsAre(7, -1, 2, -3));
}

TEST(Safetensors, UnalignedNumbersAreCopied) {
  const TemporaryFolder folder;
  for (size_t padding = 0; padding < 8; ++padding) {
    const std::string header = R"({"w":{"dtype":"I64","shape":[2],"data_offsets":[1,17]},)"
                               R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})" +
                               std::string(padding, ' ');
    write_file_atomically(folder / "m", safetensors_bytes(header, 17));
    const Tensor read = SafetensorsFile(folder / "m").tensor("w");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(read.raw()) % 8, 0u);
    EXPECT_THAT(read.span<int64_t>(), ElementsAre(0x0807060504030201, 0x100f0e0d0c0b0a09));
  }
}

TEST(Safetensors, HalfFloatsAreRead) {
  const TemporaryFolder folder;
  std::string file = safetensors_bytes(R"({"w":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 0);
  file += std::string("\x00\x3e\x00\xc0", 4);
  write_file_atomically(folder / "m", file);
  const Tensor read = SafetensorsFile(folder / "m").tensor("w");
  EXPECT_EQ(read.dtype(), DType::f16);
  EXPECT_THAT(read.to(DType::f32).span<float>(), ElementsAre(1.5f, -2.0f));
}

// The file opens, so that its other tensors can be used.
TEST(Safetensors, UnusableTensorsAreRefusedByName) {
  const TemporaryFolder folder;
  const std::string path = (folder / "m").string();
  write_file_atomically(path, safetensors_bytes(R"({"d":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                                                R"("t":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},)"
                                                R"("s":{"dtype":"U8","shape":[1,1,1,1,1,1,1],"data_offsets":[11,12]},)"
                                                R"("u":{"dtype":"U8","shape":[1],"data_offsets":[12,13]}})",
                                                13));
  const SafetensorsFile file(path);
  EXPECT_TRUE(file.contains("d"));
  EXPECT_FALSE(file.contains("x"));
  EXPECT_EQ(file.tensor("u").dtype(), DType::u8);
  EXPECT_EQ(message_of([&] { file.tensor("x"); }), path + ": has no tensor \"x\"");
  EXPECT_EQ(message_of([&] { file.tensor("d"); }),
            path + ": d: weft holds no F64; convert it to F32, BF16, F16, I32, I64, U8 or BOOL");
  EXPECT_EQ(message_of([&] { file.tensor("t"); }), path + ": t: a BOOL is neither 0 nor 1");
  EXPECT_EQ(message_of([&] { file.tensor("s"); }), path + ": s: 7 dimensions are more than the 6 that weft handles");
}

TEST(Safetensors, FilesThatCannotBeReadSayWhy) {
  const TemporaryFolder folder;
  const std::string missing = (folder / "missing").string();
  EXPECT_EQ(message_of([&] { SafetensorsFile file(missing); }),
            "cannot open " + missing + ": No such file or directory");
  write_file_atomically(folder / "empty", "");
  EXPECT_EQ(message_of([&] { SafetensorsFile file(folder / "empty"); }),
            (folder / "empty").string() + ": 0 bytes are too few for a safetensors file");
}

TEST(Safetensors, WriterRefusesWhatTheFormatCannotHold) {
  const TemporaryFolder folder;
  const Tensor one = Tensor::scalar(1);
  const auto message = [&](const std::vector<NamedTensor>& tensors) {
    return message_of([&] { write_safetensors(folder / "m", tensors); });
  };
  EXPECT_EQ(message({{"a", one}, {"a", one}}), "write safetensors: two tensors have the name \"a\"");
  EXPECT_EQ(message({{"__metadata__", one}}), "write safetensors: a tensor cannot have the name __metadata__");
  EXPECT_EQ(message({{"a", Tensor()}}), "write safetensors: \"a\" is an empty tensor");
  EXPECT_EQ(message({{"\xff", one}}), "json: cannot write text that is not UTF-8");
  EXPECT_EQ(folder.count(), 0u);
  const std::vector<NamedTensor> good = {{"a", one}};
  EXPECT_EQ(message_of([&] { write_safetensors(folder / "no/m", good); }),
            "cannot write " + (folder / "no/m").string() + ": No such file or directory");
}

TEST(Safetensors, AFailedWriteKeepsTheOldFile) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> good = {{"a", Tensor::scalar(1)}};
  const std::vector<NamedTensor> bad = {{"a", Tensor::scalar(2)}, {"b", Tensor()}};
  write_safetensors(folder / "m", good);
  EXPECT_THROW(write_safetensors(folder / "m", bad), Error);
  EXPECT_EQ(SafetensorsFile(folder / "m").tensor("a").item(), 1.0f);
}

TEST(Safetensors, RandomChangesOfAFileNeverCrash) {
  const TemporaryFolder folder;
  write_safetensors(folder / "m", every_type());
  const std::string original = read_file(folder / "m");
  for (uint64_t round = 0; round < 300; ++round) {
    const Rng rng = Rng{.seed = 11, .stream = 0}.split(round);
    std::string changed = original;
    changed[rng.below(changed.size(), 0)] ^= static_cast<char>(1u << rng.below(8, 1));
    write_unsynced(folder / "changed", changed);
    try {
      const SafetensorsFile file(folder / "changed");
      for (const std::string& name : file.names()) bytes_of(file.tensor(name));
    } catch (const FormatError&) {
    }
  }
}

}  // namespace
}  // namespace weft
