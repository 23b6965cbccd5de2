#include "tests/golden/golden.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "weft/base/error.h"

namespace weft::golden {

namespace {

const std::filesystem::path kFolder = std::filesystem::path(WEFT_SOURCE_DIR) / "tests" / "goldens";

class GoldenSource final : public ParameterSource {
 public:
  explicit GoldenSource(const SafetensorsFile& file) : file_(&file) {
    for (const std::string& name : file.names()) {
      if (name.starts_with(kPrefix)) unused_.insert(name.substr(kPrefix.size()));
    }
  }

  Tensor provide(const std::string& name, const Shape& shape, const Initialiser&) override {
    const std::string key = std::string(kPrefix) + name;
    if (!file_->contains(key)) {
      problems_.push_back("missing " + name);
      return Tensor::zeros(shape);
    }
    unused_.erase(name);
    // Its own copy: training must not write into the mapped file.
    const Tensor value = file_->tensor(key).clone();
    if (value.shape() == shape) return value;
    problems_.push_back(fmt::format("{} is {}, weft wants {}", name, value.shape(), shape));
    return Tensor::zeros(shape);
  }
  void finish() override {
    for (const std::string& name : unused_) problems_.push_back("never asked for: " + name);
    require(problems_.empty(), "golden: {}", fmt::join(problems_, "; "));
  }

 private:
  static constexpr std::string_view kPrefix = "parameters.";
  const SafetensorsFile* file_;
  std::set<std::string> unused_;
  std::vector<std::string> problems_;
};

Json parse_config(const SafetensorsFile& file) {
  return parse_json(file.metadata().at("config"), file.path().filename().string());
}

}  // namespace

Golden::Golden(const std::string& name) : file_(kFolder / (name + ".safetensors")), config_(parse_config(file_)) {}

std::vector<std::string> Golden::names_after(std::string_view prefix) const {
  std::vector<std::string> result;
  for (const std::string& name : file_.names()) {
    if (name.starts_with(prefix)) result.push_back(name.substr(prefix.size()));
  }
  return result;
}

std::vector<int64_t> Golden::integers(std::string_view name) const {
  const Tensor values = tensor(name);
  const auto span = values.span<int32_t>();
  return {span.begin(), span.end()};
}

std::unique_ptr<ParameterSource> Golden::source() const { return std::make_unique<GoldenSource>(file_); }

std::vector<std::string> cases_of(std::string_view group) {
  std::vector<std::string> cases;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder / group)) {
    cases.push_back(std::string(group) + "/" + entry.path().stem().string());
  }
  std::ranges::sort(cases);
  return cases;
}

std::string case_name(const testing::TestParamInfo<std::string>& info) {
  return info.param.substr(info.param.find('/') + 1);
}

double relative_difference(const Tensor& actual, const Tensor& expected, const Tensor& counted) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!actual.defined() || actual.numel() != expected.numel()) return kInfinity;
  const Tensor a = actual.to(DType::f32).contiguous();
  const Tensor e = expected.contiguous();
  const auto width = static_cast<size_t>(e.rank() == 0 ? 1 : e.dim(-1));
  double largest = 0.0;
  double difference = 0.0;
  for (size_t i = 0; i < e.span<float>().size(); ++i) {
    if (counted.defined() && counted.span<uint8_t>()[i / width] == 0) continue;
    const double x = a.span<float>()[i];
    const double y = e.span<float>()[i];
    if (!std::isfinite(x)) return kInfinity;
    largest = std::max(largest, std::abs(y));
    difference = std::max(difference, std::abs(x - y));
  }
  if (difference == 0.0) return 0.0;
  return difference / largest;
}

void expect_close(std::string_view what, const Tensor& actual, const Tensor& expected, double tolerance,
                  const Tensor& counted) {
  if (!actual.defined()) {
    ADD_FAILURE() << what << ": there is none";
    return;
  }
  EXPECT_LE(relative_difference(actual, expected, counted), tolerance)
      << what << " " << actual.shape().to_string() << ", expected " << expected.shape().to_string();
}

void expect_parameter_gradients(const Golden& golden, const Gradients& gradients, ParameterStore& parameters,
                                double tolerance) {
  for (const Parameter& parameter : parameters) {
    const Tensor* gradient = gradients.find(parameter);
    expect_close("gradient of " + parameter.name(), gradient == nullptr ? Tensor() : *gradient,
                 golden.tensor("parameter_gradients." + parameter.name()), tolerance);
  }
}

Variable GoldenRun::input(const std::string& name) {
  watched_.push_back({name, tape_.watch(golden_->tensor("inputs." + name).clone())});
  return watched_.back().variable;
}

void GoldenRun::output(const std::string& name, const Variable& variable) {
  const Tensor counted = golden_->contains("inputs.counted") ? golden_->tensor("inputs.counted") : Tensor();
  expect_close(name, variable.value(), golden_->tensor("outputs." + name), tolerance(kForwardTolerance), counted);
  outputs_.push_back({variable, golden_->tensor("output_gradients." + name).reshape(variable.shape())});
}

void GoldenRun::compare_gradients(ParameterStore& parameters) {
  std::vector<const Variable*> inputs;
  for (const Output& output : outputs_) inputs.push_back(&output.variable);
  // A scalar whose gradient with respect to output i is output_gradients.i.
  const int slot = tape_.record("golden", inputs, 1, [outputs = outputs_](BackwardPass& pass, OutputGradients) {
    for (const Output& output : outputs) pass.add(output.variable.edge(), output.gradient);
  });
  const Gradients gradients = tape_.backward(Variable(Tensor::scalar(0.0f), slot));
  for (const Watched& watched : watched_) {
    expect_close("gradient of input " + watched.name, tape_.gradient(watched.variable),
                 golden_->tensor("input_gradients." + watched.name), tolerance(kGradientTolerance));
  }
  expect_parameter_gradients(*golden_, gradients, parameters, tolerance(kGradientTolerance));
}

}  // namespace weft::golden
