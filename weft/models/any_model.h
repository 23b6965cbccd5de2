#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "weft/base/error.h"
#include "weft/models/model_folder.h"

namespace weft::models {

// A model of whatever architecture its config says, with its parameters: for what works on all of them (training,
// inspecting).
class AnyModel {
 public:
  AnyModel(std::unique_ptr<ParameterSource> source, const TransformerConfig& config);

  ParameterStore& parameters();
  const ParameterStore& parameters() const;
  const TransformerConfig& config() const;

  // weft::Error if it is a model of another architecture.
  template <typename Model>
  const Model& as() const {
    const auto* held = std::get_if<std::unique_ptr<WithParameters<Model>>>(&model_);
    require(held != nullptr, "model: its architecture is {}, another one was asked for",
            name_of(config().architecture));
    return (*held)->model;
  }

  // Calls visit(model) with the CausalLM, EncoderDecoder or Bert.
  template <typename Visit>
  decltype(auto) visit(Visit&& visit) const {
    return std::visit([&](const auto& held) -> decltype(auto) { return visit(std::as_const(held->model)); }, model_);
  }

 private:
  std::variant<std::unique_ptr<WithParameters<CausalLM>>, std::unique_ptr<WithParameters<EncoderDecoder>>,
               std::unique_ptr<WithParameters<Bert>>>
      model_;
};

AnyModel load_model(const std::filesystem::path& folder);

}  // namespace weft::models
