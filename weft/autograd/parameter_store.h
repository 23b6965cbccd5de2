#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weft/autograd/initialiser.h"
#include "weft/autograd/parameter.h"

namespace weft {

// Where the first values of parameters come from: drawn anew, or read from a file.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  // The f32 values of one parameter. A source that lacks it remembers the problem for finish() and gives any values.
  virtual Tensor provide(const std::string& name, const Shape& shape, const Initialiser& initialiser) = 0;
  // Reports every problem together: what was missing, misshapen, or never asked for.
  virtual void finish() = 0;
};

// Draws every parameter from its own random stream, keyed by its name: adding one layer does not change the others.
std::unique_ptr<ParameterSource> initialise(uint64_t seed);

class Scope;

// All parameters of a model, in the order in which its layers asked for them, each under its path.
class ParameterStore {
 public:
  explicit ParameterStore(std::unique_ptr<ParameterSource> source);
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  Scope root();
  // The new parameter `name`. weft::Error if the name is taken.
  Parameter& add(const std::string& name, const Shape& shape, const Initialiser& initialiser, bool decays);
  // A second name for a parameter that exists (weight tying).
  void tie(const std::string& name, Parameter& parameter);
  // To be called once the model stands: the source's complaints, all together, as one weft::Error.
  void finish();

  int size() const { return static_cast<int>(parameters_.size()); }
  Parameter& operator[](int index) { return parameters_[static_cast<size_t>(index)]; }
  const Parameter& operator[](int index) const { return parameters_[static_cast<size_t>(index)]; }
  Parameter* find(std::string_view name);  // by any of its names; null if there is none
  auto begin() { return parameters_.begin(); }
  auto end() { return parameters_.end(); }
  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  int64_t numel() const;  // numbers in all parameters, ties counted once

 private:
  std::unique_ptr<ParameterSource> source_;
  std::deque<Parameter> parameters_;  // a deque: layers keep pointers to its elements
  std::map<std::string, Parameter*, std::less<>> names_;
};

// A place in the tree of names: scope / "attention" / "qkv" asks for "attention.qkv.…".
class Scope {
 public:
  Scope(ParameterStore& store, std::string path) : store_(&store), path_(std::move(path)) {}

  Scope operator/(std::string_view name) const;
  Scope operator/(int64_t index) const { return *this / std::string_view(std::to_string(index)); }
  Parameter& parameter(std::string_view name, const Shape& shape, const Initialiser& initialiser) const;
  void tie(std::string_view name, Parameter& parameter) const { store_->tie(child(name), parameter); }
  const std::string& path() const { return path_; }

 private:
  std::string child(std::string_view name) const;

  ParameterStore* store_;
  std::string path_;
};

}  // namespace weft
