#pragma once

#include <filesystem>
#include <memory>

#include "weft/autograd/parameter_store.h"
#include "weft/models/causal_lm.h"

namespace weft::models {

// A model folder: config.json (the keys of TransformerConfig, "model_type": "weft", "architecture": "causal_lm") and
// model.safetensors (or its shards), under the names of the parameters.

TransformerConfig load_config(const std::filesystem::path& folder);  // resolved; IoError, FormatError
void save_config(const std::filesystem::path& folder, const TransformerConfig& config);

// Parameters from the folder's weights: f32, bf16 and f16 are read, all become f32. finish() reports every missing,
// misshapen and unexpected tensor together (FormatError).
std::unique_ptr<ParameterSource> load_parameters(const std::filesystem::path& folder);
// Every parameter once, in f32, atomically.
void save_parameters(const std::filesystem::path& file, const ParameterStore& parameters);

// A model together with the parameters it points to.
struct CausalLMWithParameters {
  CausalLMWithParameters(std::unique_ptr<ParameterSource> source, const TransformerConfig& config)
      : parameters(std::move(source)), model(parameters.root(), config) {
    parameters.finish();
  }

  ParameterStore parameters;
  CausalLM model;
};

std::unique_ptr<CausalLMWithParameters> load_causal_lm(const std::filesystem::path& folder);

}  // namespace weft::models
