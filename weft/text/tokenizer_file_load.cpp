#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/base/json.h"
#include "weft/text/pipeline_tokenizer.h"
#include "weft/text/special_names.h"
#include "weft/text/tokenizer_file.h"
#include "weft/text/tokenizer_layout.h"

namespace weft::text {

namespace {

namespace fs = std::filesystem;

Json parse_file(const fs::path& path) { return parse_json(read_file(path), path.string()); }

bool is_own(const fs::path& config) {
  std::error_code ignored;
  if (!fs::exists(config, ignored)) return false;
  const Json document = parse_file(config);
  return JsonView(document, config.string()).get_or<bool>(own_kind_key, false);
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  const TokenizerPaths paths = tokenizer_paths(path);
  Json document = parse_file(paths.tokenizer);
  const SpecialNames roles = read_special_names(paths.tokenizer.parent_path());
  if (is_own(paths.config)) return load_own_tokenizer(JsonView(document, paths.tokenizer.string()), roles);
  return std::make_unique<PipelineTokenizer>(std::move(document), paths.tokenizer.string(), roles);
}

}  // namespace weft::text
