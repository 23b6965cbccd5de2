#include "weft/io/json.h"

#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/base/error.h"
#include "weft/base/files.h"

namespace weft {
namespace {

using testing_support::message_of;
using testing_support::TemporaryFolder;

TEST(JsonFile, WrittenDocumentsReadBack) {
  const TemporaryFolder folder;
  const Json document = {{"d_model", 256}, {"names", {"ä", "b"}}, {"rate", 1e-4}};
  write_json(folder / "a.json", document);
  EXPECT_EQ(read_json(folder / "a.json"), document);
  write_json(folder / "a.json", document, JsonStyle::compact);
  EXPECT_EQ(read_file(folder / "a.json"), R"({"d_model":256,"names":["ä","b"],"rate":0.0001})");
  EXPECT_EQ(folder.count(), 1u);
}

TEST(JsonFile, MessagesNameTheFile) {
  const TemporaryFolder folder;
  const std::string path = (folder / "a.json").string();
  EXPECT_EQ(message_of([&] { read_json(path); }), "cannot open " + path + ": No such file or directory");
  write_file_atomically(path, "{\"a\": 1,\n\"a\": 2}");
  EXPECT_EQ(message_of([&] { read_json(path); }),
            path + ": line 2, column 4: the key \"a\" stands twice in one object");
  EXPECT_EQ(message_of([&] { read_json(path, {.max_bytes = 3, .max_depth = 9}); }),
            "cannot read " + path + ": 16 bytes are more than the 3 allowed here");
}

TEST(JsonFile, EveryTruncationIsRefused) {
  const std::string text = R"({"a": [1, 2.5e3, "x\u00e9", null, true], "b": {"c": {}}})";
  EXPECT_NO_THROW(parse_json(text, "x"));
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THROW(parse_json(std::string_view(text).substr(0, length), "x"), FormatError) << length;
  }
}

}  // namespace
}  // namespace weft
