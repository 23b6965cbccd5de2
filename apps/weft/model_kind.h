#pragma once

#include <filesystem>
#include <string_view>

#include "weft/models/transformer_config.h"

namespace weft::app {

// weft::Error if the model in the folder is not of the architecture that `command` works with; it names the command for
// what the folder holds.
void require_architecture(const std::filesystem::path& folder, models::Architecture wanted, std::string_view command);

}  // namespace weft::app
