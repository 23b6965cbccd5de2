#pragma once

#include <filesystem>
#include <memory>

#include "weft/autograd/parameter_store.h"
#include "weft/models/bert.h"
#include "weft/models/causal_lm.h"
#include "weft/models/encoder_decoder.h"

namespace weft::models {

// A model folder: config.json (the keys of TransformerConfig and "model_type": "weft") and model.safetensors (or its
// shards), under the names of the parameters.

TransformerConfig load_config(const std::filesystem::path& folder);  // resolved; IoError, FormatError
void save_config(const std::filesystem::path& folder, const TransformerConfig& config);

// Parameters from the folder's weights: f32, bf16 and f16 are read, all become f32. finish() reports every missing,
// misshapen and unexpected tensor together (FormatError).
std::unique_ptr<ParameterSource> load_parameters(const std::filesystem::path& folder);
// Every parameter once, in f32, atomically.
void save_parameters(const std::filesystem::path& file, const ParameterStore& parameters);

// A model together with the parameters it points to.
template <typename Model>
struct WithParameters {
  WithParameters(std::unique_ptr<ParameterSource> source, const TransformerConfig& config)
      : parameters(std::move(source)), model(parameters.root(), config) {
    parameters.finish();
  }

  ParameterStore parameters;
  Model model;
};

// The model of a folder. FormatError that names the folder's architecture if it is another one.
std::unique_ptr<WithParameters<CausalLM>> load_causal_lm(const std::filesystem::path& folder);
std::unique_ptr<WithParameters<EncoderDecoder>> load_encoder_decoder(const std::filesystem::path& folder);
std::unique_ptr<WithParameters<Bert>> load_bert(const std::filesystem::path& folder);

}  // namespace weft::models
