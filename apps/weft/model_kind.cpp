#include "apps/weft/model_kind.h"

#include "weft/base/error.h"
#include "weft/models/model_folder.h"

namespace weft::app {

namespace {

std::string_view commands_for(const models::TransformerConfig& config) {
  switch (config.architecture) {
    case models::Architecture::causal_lm:
      return "weft generate";
    case models::Architecture::encoder_decoder:
      return "weft translate";
    case models::Architecture::bert:
      return config.classes > 0 ? "weft fill-mask or weft classify" : "weft fill-mask";
  }
  fail("architecture {} does not exist", static_cast<int>(config.architecture));
}

}  // namespace

void require_architecture(const std::filesystem::path& folder, models::Architecture wanted, std::string_view command) {
  const models::TransformerConfig config = models::load_config(folder);
  require(config.architecture == wanted, "{}: expected a model of architecture {}, {} has {}; use {}", command,
          models::name_of(wanted), folder.string(), models::name_of(config.architecture), commands_for(config));
}

}  // namespace weft::app
