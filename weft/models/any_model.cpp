#include "weft/models/any_model.h"

namespace weft::models {

AnyModel::AnyModel(std::unique_ptr<ParameterSource> source, const TransformerConfig& config) {
  switch (config.architecture) {
    case Architecture::causal_lm:
      model_ = std::make_unique<WithParameters<CausalLM>>(std::move(source), config);
      break;
    case Architecture::encoder_decoder:
      model_ = std::make_unique<WithParameters<EncoderDecoder>>(std::move(source), config);
      break;
    case Architecture::bert:
      model_ = std::make_unique<WithParameters<Bert>>(std::move(source), config);
      break;
  }
}

ParameterStore& AnyModel::parameters() {
  return std::visit([](auto& held) -> ParameterStore& { return held->parameters; }, model_);
}

const ParameterStore& AnyModel::parameters() const {
  return std::visit([](const auto& held) -> const ParameterStore& { return held->parameters; }, model_);
}

const TransformerConfig& AnyModel::config() const {
  return visit([](const auto& model) -> const TransformerConfig& { return model.config(); });
}

AnyModel load_model(const std::filesystem::path& folder) {
  const TransformerConfig config = load_config(folder);
  return {load_parameters(folder), config};
}

}  // namespace weft::models
