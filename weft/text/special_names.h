#pragma once

#include <filesystem>

#include "weft/text/vocabulary.h"

namespace weft::text {

// Which tokens have a role, as `tokenizer_config.json` in the folder names them, and `special_tokens_map.json` for
// those that it does not. Either file may be missing. FormatError, with the place, for a name that is none.
SpecialNames read_special_names(const std::filesystem::path& folder);

}  // namespace weft::text
