#pragma once

#include "weft/autograd/parameter.h"
#include "weft/tensor/tensor.h"

namespace weft {

// Where the gradient of a value goes: to the output of a recorded operation, to a parameter, or nowhere.
struct GradientEdge {
  int slot = -1;  // of the tape
  const Parameter* parameter = nullptr;

  bool wanted() const { return slot >= 0 || parameter != nullptr; }
};

// A value in a computation: a tensor, and where its gradient goes.
class Variable {
 public:
  Variable() = default;
  Variable(Tensor value) : value_(std::move(value)) {}  // a constant
  Variable(const Parameter& parameter) : value_(parameter.value()), parameter_(&parameter) {
    if (parameter.trains()) edge_.parameter = &parameter;
  }
  Variable(Tensor value, int slot) : value_(std::move(value)), edge_{slot, nullptr} {}

  bool defined() const { return value_.defined(); }
  const Tensor& value() const { return value_; }
  const GradientEdge& edge() const { return edge_; }
  const Parameter* parameter() const { return parameter_; }  // null unless it is one
  const Shape& shape() const { return value_.shape(); }
  DType dtype() const { return value_.dtype(); }
  int64_t dim(int dimension) const { return value_.dim(dimension); }
  // The same numbers under another shape, or as a constant.
  Variable reshape(const Shape& shape) const;
  Variable detach() const { return Variable(value_); }

 private:
  Tensor value_;
  GradientEdge edge_;
  const Parameter* parameter_ = nullptr;
};

inline Variable Variable::reshape(const Shape& shape) const {
  Variable result = *this;
  result.value_ = value_.reshape(shape);
  return result;
}

}  // namespace weft
