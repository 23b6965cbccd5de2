#include "weft/io/model_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/temporary_folder.h"
#include "weft/io/json.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing_support::message_of;
using testing_support::TemporaryFolder;

class ModelWeightsTest : public testing::Test {
 protected:
  void write(const std::string& file, std::initializer_list<std::pair<const char*, float>> values) {
    std::vector<NamedTensor> tensors;
    for (const auto& [name, value] : values) tensors.push_back({name, Tensor::scalar(value)});
    write_safetensors(folder_ / file, tensors, {{"format", "pt"}});
  }
  void write_index(const Json& weight_map) {
    write_json(index_, {{"metadata", {{"total_size", 12}}}, {"weight_map", weight_map}});
  }
  std::string message() {
    return message_of([&] { ModelWeights weights(folder_.path()); });
  }

  TemporaryFolder folder_;
  std::string index_ = (folder_ / "model.safetensors.index.json").string();
  std::string first_ = (folder_ / "model-00001-of-00002.safetensors").string();
};

TEST_F(ModelWeightsTest, OneFile) {
  write("model.safetensors", {{"b", 2}, {"a", 1}});
  const ModelWeights weights(folder_.path());
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
  EXPECT_EQ(weights.tensor("b").item(), 2);
  EXPECT_EQ(weights.metadata().at("format"), "pt");
  EXPECT_TRUE(weights.contains("a"));
  EXPECT_EQ(message_of([&] { weights.tensor("c"); }), folder_.path().string() + ": has no tensor \"c\"");
}

TEST_F(ModelWeightsTest, Shards) {
  write("model-00001-of-00002.safetensors", {{"a", 1}, {"c", 3}});
  write("model-00002-of-00002.safetensors", {{"b", 2}});
  write_index({{"a", "model-00001-of-00002.safetensors"},
               {"b", "model-00002-of-00002.safetensors"},
               {"c", "model-00001-of-00002.safetensors"}});
  const ModelWeights weights(folder_.path());
  EXPECT_THAT(weights.names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(weights.tensor("a").item(), 1);
  EXPECT_EQ(weights.tensor("b").item(), 2);
  EXPECT_EQ(weights.tensor("c").item(), 3);
}

TEST_F(ModelWeightsTest, MissingFiles) {
  EXPECT_EQ(message(), folder_.path().string() + ": has neither model.safetensors nor model.safetensors.index.json");
  write_index({{"a", "model-00001-of-00002.safetensors"}});
  EXPECT_EQ(message(), "cannot open " + first_ + ": No such file or directory");
}

TEST_F(ModelWeightsTest, IndexAndShardsMustAgree) {
  write("model-00001-of-00002.safetensors", {{"a", 1}, {"c", 3}});
  write_index({{"a", "model-00001-of-00002.safetensors"}, {"b", "model-00001-of-00002.safetensors"}});
  EXPECT_EQ(message(), index_ + ": weight_map.b: the shard model-00001-of-00002.safetensors does not hold it");
  write_index({{"a", "model-00001-of-00002.safetensors"}});
  EXPECT_EQ(message(), first_ + ": holds the tensor \"c\", which " + index_ + " does not place there");
}

TEST_F(ModelWeightsTest, ATensorInTwoShardsIsRefused) {
  write("model-00001-of-00002.safetensors", {{"a", 1}, {"c", 3}});
  write("model-00002-of-00002.safetensors", {{"c", 4}});
  write_index({{"a", "model-00001-of-00002.safetensors"}, {"c", "model-00002-of-00002.safetensors"}});
  EXPECT_EQ(message(), first_ + ": holds the tensor \"c\", which " + index_ + " does not place there");
}

TEST_F(ModelWeightsTest, BrokenIndex) {
  write_json(index_, {{"weights", 1}});
  EXPECT_EQ(message(), index_ + ": \"weight_map\" is missing");
  write_index(Json::object());
  EXPECT_EQ(message(), index_ + ": weight_map: names no tensor");
  write_index({{"a", 1}});
  EXPECT_EQ(message(), index_ + ": weight_map.a: expected a string, got 1");
  for (const char* outside : {"../model.safetensors", "/etc/passwd", "..", ".", ""}) {
    write_index({{"a", outside}});
    EXPECT_EQ(message(),
              index_ + ": weight_map.a: expected the name of a file beside the index, got \"" + outside + "\"");
  }
}

}  // namespace
}  // namespace weft
