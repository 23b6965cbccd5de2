#include <fmt/format.h>

#include <memory>

#include "apps/weft/options.h"
#include "apps/weft/tokenizer.h"
#include "weft/base/json.h"
#include "weft/text/pipeline_tokenizer.h"

namespace weft::app {

namespace {

constexpr const char* stages[] = {"normalizer", "pre_tokenizer", "model", "post_processor", "decoder"};

struct InspectOptions {
  bool json = false;
  std::string tokenizer;
};

// An element as its types: `ByteLevel`, or `Sequence[NFC, Lowercase]`; "none" for null.
std::string outline(const Json& element) {
  if (!element.is_object()) return "none";
  const std::string type = element.value("type", std::string("?"));
  for (const char* members : {"normalizers", "pretokenizers", "processors", "decoders"}) {
    if (!element.contains(members)) continue;
    std::vector<std::string> parts;
    for (const Json& part : element[members]) parts.push_back(outline(part));
    return fmt::format("{}[{}]", type, fmt::join(parts, ", "));
  }
  return type;
}

// The stages of a pipeline, and its added tokens; the other forms have none that can be named.
void describe_pipeline(const text::PipelineTokenizer& tokenizer, Json& result) {
  const Json document = tokenizer.document();
  Json added = Json::array();
  for (const text::AddedToken& token : tokenizer.added_tokens().tokens()) {
    added.push_back({{"id", token.id}, {"content", token.content}, {"special", token.special}});
  }
  result["added_tokens"] = std::move(added);
  for (const char* stage : stages) result[stage] = outline(document.value(stage, Json(nullptr)));
  if (document["model"].contains("merges")) result["merges"] = document["model"]["merges"].size();
}

Json describe(const text::EncodingTokenizer& tokenizer) {
  Json special = Json::object();
  const auto role = [&](const char* name, const std::optional<int32_t>& id) {
    if (id) special[name] = {{"id", *id}, {"token", tokenizer.token(*id)}};
  };
  role("bos", tokenizer.special().bos);
  role("eos", tokenizer.special().eos);
  role("pad", tokenizer.special().pad);
  role("unk", tokenizer.special().unk);
  Json result = {{"vocab_size", tokenizer.vocab_size()}, {"special", special}};
  if (const auto* pipeline = dynamic_cast<const text::PipelineTokenizer*>(&tokenizer)) {
    describe_pipeline(*pipeline, result);
  } else {
    result["model"] = "SentencePiece";
  }
  return result;
}

void run_inspect(const InspectOptions& options) {
  const Json description = describe(*load_encoding_tokenizer(options.tokenizer));
  if (options.json) {
    fmt::print("{}\n", format_json(description, JsonStyle::compact));
    return;
  }
  fmt::print("vocabulary      {} tokens\n", description["vocab_size"].get<int64_t>());
  if (description.contains("merges")) fmt::print("merges          {}\n", description["merges"].get<int64_t>());
  for (const char* stage : stages) {
    if (description.contains(stage)) fmt::print("{:<15} {}\n", stage, description[stage].get<std::string>());
  }
  for (const auto& [name, token] : description["special"].items()) {
    fmt::print("{:<15} {} {}\n", name, token["id"].get<int32_t>(), token["token"].get<std::string>());
  }
  for (const Json& token : description.value("added_tokens", Json::array())) {
    fmt::print("added token     {} {}{}\n", token["id"].get<int32_t>(), token["content"].get<std::string>(),
               token["special"].get<bool>() ? " (special)" : "");
  }
}

}  // namespace

void add_tokenizer_inspect(CLI::App& tokenizer) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = tokenizer.add_subcommand("inspect", "Show what a tokenizer is made of");
  add_tokenizer_path(*command, options->tokenizer);
  command->add_flag("--json", options->json, "Print one JSON object");
  command->callback([options] { run_inspect(*options); });
}

}  // namespace weft::app
