#include "weft/text/special_names.h"

#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

namespace fs = std::filesystem;

// A token is a string, or an object with its content.
void read_role(const JsonView& file, std::string_view role, std::optional<std::string>& name) {
  if (name || !file.has(role)) return;
  const JsonView value = file.at(role);
  name = value.value().is_object() ? value.get<std::string>("content") : value.as<std::string>();
}

}  // namespace

SpecialNames read_special_names(const fs::path& folder) {
  SpecialNames names;
  for (const char* file : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const fs::path path = folder / file;
    std::error_code ignored;
    if (!fs::exists(path, ignored)) continue;
    const Json document = parse_json(read_file(path, longest_file), path.string());
    const JsonView view(document, path.string());
    read_role(view, "bos_token", names.bos);
    read_role(view, "eos_token", names.eos);
    read_role(view, "pad_token", names.pad);
    read_role(view, "unk_token", names.unk);
  }
  return names;
}

}  // namespace weft::text
