#include "weft/autograd/parameter_store.h"

#include "weft/base/error.h"

namespace weft {

namespace {

// FNV-1a (Fowler, Noll and Vo): a name's random stream is the same on every machine.
uint64_t stream_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

class InitialisingSource final : public ParameterSource {
 public:
  explicit InitialisingSource(uint64_t seed) : rng_{seed, 0} {}

  Tensor provide(const std::string& name, const Shape& shape, const Initialiser& initialiser) override {
    Tensor tensor = Tensor::empty(shape);
    initialiser.fill(tensor, rng_.split(stream_of(name)));
    return tensor;
  }
  void finish() override {}

 private:
  Rng rng_;
};

}  // namespace

std::unique_ptr<ParameterSource> initialise(uint64_t seed) { return std::make_unique<InitialisingSource>(seed); }

ParameterStore::ParameterStore(std::unique_ptr<ParameterSource> source) : source_(std::move(source)) {
  require(source_ != nullptr, "parameters: a store needs a source, such as initialise(seed)");
}

Scope ParameterStore::root() { return {*this, ""}; }

Parameter& ParameterStore::add(const std::string& name, const Shape& shape, const Initialiser& initialiser,
                               bool decays) {
  require(!names_.contains(name), "parameters: the name {} is taken", name);
  Tensor value = source_->provide(name, shape, initialiser);
  require(value.shape() == shape, "parameters: {} is {}, expected {}", name, value.shape(), shape);
  Parameter& parameter = parameters_.emplace_back(name, size(), std::move(value), decays);
  names_.emplace(name, &parameter);
  return parameter;
}

void ParameterStore::tie(const std::string& name, Parameter& parameter) {
  require(names_.emplace(name, &parameter).second, "parameters: the name {} is taken", name);
}

void ParameterStore::finish() { source_->finish(); }

Parameter* ParameterStore::find(std::string_view name) {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

int64_t ParameterStore::numel() const {
  int64_t total = 0;
  for (const Parameter& parameter : parameters_) total += parameter.value().numel();
  return total;
}

std::string Scope::child(std::string_view name) const {
  return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
}

Scope Scope::operator/(std::string_view name) const { return {*store_, child(name)}; }

Parameter& Scope::parameter(std::string_view name, const Shape& shape, const Initialiser& initialiser) const {
  // Norm weights and biases are vectors: by default they do not decay.
  return store_->add(child(name), shape, initialiser, shape.rank() >= 2);
}

}  // namespace weft
