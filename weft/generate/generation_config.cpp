#include "weft/generate/generation_config.h"

#include "weft/base/error.h"
#include "weft/io/json.h"

namespace weft::generate {

namespace {

constexpr std::string_view file_name = "generation_config.json";

template <typename T>
std::optional<T> read_count(const JsonView& json, std::string_view key, T least) {
  if (!json.has(key)) return std::nullopt;
  const auto value = json.get<T>(key);
  if (value < least) json.at(key).expected(fmt::format("a whole number of {} or more", least));
  return value;
}

}  // namespace

GenerationConfig load_generation_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / file_name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const Json document = read_json(path);
  const JsonView json(document, path.string());
  return {.bos_id = read_count<int32_t>(json, "bos_token_id", 0),
          .eos_id = read_count<int32_t>(json, "eos_token_id", 0),
          .max_new_tokens = read_count<int64_t>(json, "max_new_tokens", 1)};
}

void save_generation_config(const std::filesystem::path& folder, const GenerationConfig& config) {
  Json json = Json::object();
  if (config.bos_id) json["bos_token_id"] = *config.bos_id;
  if (config.eos_id) json["eos_token_id"] = *config.eos_id;
  if (config.max_new_tokens) json["max_new_tokens"] = *config.max_new_tokens;
  write_json(folder / file_name, json);
}

std::vector<int32_t> encode_prompt(const text::Tokenizer& tokenizer, const GenerationConfig& config,
                                   std::string_view text) {
  std::vector<int32_t> ids = tokenizer.encode(text);
  if (config.bos_id) ids.insert(ids.begin(), *config.bos_id);
  return ids;
}

}  // namespace weft::generate
