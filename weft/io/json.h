#pragma once

#include <filesystem>

#include "weft/base/json.h"

namespace weft {

// Parses a JSON file. IoError if it cannot be read, FormatError as parse_json().
Json read_json(const std::filesystem::path& path, const JsonLimits& limits = {});

// Writes the document atomically: after a crash the file has either its old content or all of the new.
void write_json(const std::filesystem::path& path, const Json& value, JsonStyle style = JsonStyle::pretty);

}  // namespace weft
