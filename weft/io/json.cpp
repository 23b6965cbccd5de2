#include "weft/io/json.h"

#include "weft/base/files.h"

namespace weft {

Json read_json(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse_json(read_file(path, limits.max_bytes), path.string(), limits);
}

void write_json(const std::filesystem::path& path, const Json& value, JsonStyle style) {
  write_file_atomically(path, format_json(value, style));
}

}  // namespace weft
