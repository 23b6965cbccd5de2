#include "weft/text/forms/marian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/samples.h"
#include "weft/base/files.h"
#include "weft/text/tokenizer_file.h"

namespace weft::text {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::TemporaryFolder;

std::filesystem::path fixture() { return std::filesystem::path(WEFT_SOURCE_DIR) / "tests/fixtures/tokenizers/marian"; }

// Rows of scripts/marian_golden.py.
TEST(MarianTokenizer, AgreesWithTheSentencePieceLibraryAndMariansIds) {
  const MarianTokenizer tokenizer(fixture());
  int count = 0;
  for (const Json& row : read_rows(fixture() / "marian.jsonl")) {
    SCOPED_TRACE(row.dump(-1, ' ', true));
    const std::string text = row["text"];
    const std::vector<int32_t> ids = row["ids"];
    const std::vector<int32_t> ids_special = row["ids_special"];
    EXPECT_EQ(tokenizer.encode(text), ids);
    const Encoding encoding = tokenizer.encode({text}, {});
    EXPECT_EQ(encoding.ids, ids_special);
    const Encoding plain = tokenizer.encode({text}, {.special_tokens = AddSpecialTokens::no});
    EXPECT_EQ(Json(plain.tokens), row["tokens"]);
    EXPECT_EQ(tokenizer.decode(ids_special, SpecialTokens::skip), row["decoded"].get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids_special, SpecialTokens::keep), row["decoded_special"].get<std::string>());
    ++count;
  }
  EXPECT_GT(count, 30);
}

TEST(MarianTokenizer, IsWrittenAsTheFilesItCameFrom) {
  const auto tokenizer = load_tokenizer(fixture());
  EXPECT_EQ(tokenizer->special(), (SpecialIds{.bos = {}, .eos = 0, .pad = 2, .unk = 1}));
  const TemporaryFolder folder;
  save_tokenizer(*tokenizer, folder.path());
  const auto again = load_tokenizer(folder.path());
  EXPECT_EQ(again->encode(">>de<< First Citizen: \u00bd"), tokenizer->encode(">>de<< First Citizen: \u00bd"));
}

TEST(MarianTokenizer, RefusesBrokenFiles) {
  const TemporaryFolder folder;
  for (const char* name : {"source.spm", "target.spm", "vocab.json"}) {
    copy_file_atomically(fixture() / name, folder / name);
  }
  write_file_atomically(folder / "target.spm", "text");
  EXPECT_THAT(message_of([&] { load_tokenizer(folder.path()); }), HasSubstr("target.spm: not a SentencePiece model"));
  copy_file_atomically(fixture() / "target.spm", folder / "target.spm");
  write_file_atomically(folder / "vocab.json", R"({"a": 0})");
  EXPECT_THAT(message_of([&] { load_tokenizer(folder.path()); }), HasSubstr("the vocabulary lacks the end token"));
}

}  // namespace
}  // namespace weft::text
