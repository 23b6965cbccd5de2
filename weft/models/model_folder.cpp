#include "weft/models/model_folder.h"

#include <set>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/io/json.h"
#include "weft/io/model_weights.h"
#include "weft/io/safetensors.h"

namespace weft::models {

namespace {

constexpr size_t most_listed = 20;  // problems named one by one in a message

class FolderSource final : public ParameterSource {
 public:
  explicit FolderSource(const std::filesystem::path& folder) : folder_(folder), weights_(folder) {}

  Tensor provide(const std::string& name, const Shape& shape, const Initialiser&) override {
    asked_.insert(name);
    if (!weights_.contains(name)) {
      problems_.push_back(fmt::format("{} {} is missing", name, shape));
      return Tensor::zeros(shape);
    }
    const Tensor stored = weights_.tensor(name);
    const bool is_float = stored.dtype() == DType::f32 || stored.dtype() == DType::bf16 || stored.dtype() == DType::f16;
    if (stored.shape() != shape || !is_float) {
      problems_.push_back(fmt::format("{}: expected numbers {}, the file has {} {}", name, shape,
                                      name_of(stored.dtype()), stored.shape()));
      return Tensor::zeros(shape);
    }
    // A copy: the file may be replaced and removed while the model lives, and training writes into its parameters.
    return stored.dtype() == DType::f32 ? stored.clone() : stored.to(DType::f32);
  }

  void finish() override {
    for (const std::string& name : weights_.names()) {
      if (!asked_.contains(name)) problems_.push_back(fmt::format("{} is not part of this model", name));
    }
    const size_t count = problems_.size();
    if (count > most_listed) {
      problems_.resize(most_listed);
      problems_.push_back(fmt::format("and {} more", count - most_listed));
    }
    require<FormatError>(count == 0, "{}: {} of the weights do not fit its config.json:\n  {}", folder_.string(), count,
                         fmt::join(problems_, "\n  "));
  }

 private:
  std::filesystem::path folder_;
  ModelWeights weights_;
  std::set<std::string> asked_;
  std::vector<std::string> problems_;
};

void expect_value(const JsonView& json, std::string_view key, std::string_view value) {
  const auto got = json.get<std::string>(key);
  require<FormatError>(got == value, "{}: expected \"{}\", got \"{}\"", json.at(key).place(), value, got);
}

template <typename Model>
std::unique_ptr<WithParameters<Model>> load(const std::filesystem::path& folder, Architecture wanted) {
  const TransformerConfig config = load_config(folder);
  require<FormatError>(config.architecture == wanted, "{}: expected a model of architecture {}, this is {}",
                       folder.string(), name_of(wanted), name_of(config.architecture));
  return std::make_unique<WithParameters<Model>>(load_parameters(folder), config);
}

}  // namespace

TransformerConfig load_config(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "config.json";
  const Json document = read_json(path);
  const JsonView json(document, path.string());
  expect_value(json, "model_type", "weft");
  TransformerConfig config = TransformerConfig::from_json(json);
  try {
    config.resolve();
  } catch (const Error& error) {
    fail<FormatError>("{}: {}", path.string(), error.what());
  }
  return config;
}

void save_config(const std::filesystem::path& folder, const TransformerConfig& config) {
  Json json = config.to_json();
  json["model_type"] = "weft";
  write_json(folder / "config.json", json);
}

std::unique_ptr<ParameterSource> load_parameters(const std::filesystem::path& folder) {
  return std::make_unique<FolderSource>(folder);
}

void save_parameters(const std::filesystem::path& file, const ParameterStore& parameters) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parameters) tensors.push_back({parameter.name(), parameter.value()});
  write_safetensors(file, tensors, {{"format", "pt"}});
}

std::unique_ptr<WithParameters<CausalLM>> load_causal_lm(const std::filesystem::path& folder) {
  return load<CausalLM>(folder, Architecture::causal_lm);
}

std::unique_ptr<WithParameters<EncoderDecoder>> load_encoder_decoder(const std::filesystem::path& folder) {
  return load<EncoderDecoder>(folder, Architecture::encoder_decoder);
}

std::unique_ptr<WithParameters<Bert>> load_bert(const std::filesystem::path& folder) {
  return load<Bert>(folder, Architecture::bert);
}

}  // namespace weft::models
