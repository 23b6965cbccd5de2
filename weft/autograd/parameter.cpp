#include "weft/autograd/parameter.h"

#include "weft/base/error.h"

namespace weft {

Parameter::Parameter(std::string name, int index, Tensor value, bool decays)
    : name_(std::move(name)), index_(index), value_(std::move(value)), decays_(decays) {
  require(value_.dtype() == DType::f32, "parameter {}: master values are f32, not {}", name_, name_of(value_.dtype()));
}

Tensor& Parameter::mutable_value() {
  std::lock_guard lock(mutex_);
  for (auto& by_dtype : packs_) {
    for (Packed& pack : by_dtype) pack.current = false;
  }
  return value_;
}

const kernels::PackedMatrix& Parameter::packed(WeightUse use, DType dtype) const {
  require(value_.rank() == 2, "parameter {}: only matrices are packed, this is {}", name_, value_.shape());
  std::lock_guard lock(mutex_);
  Packed& pack = packs_[use == WeightUse::backward][dtype == DType::bf16];
  if (!pack.current) {
    const auto transpose = use == WeightUse::forward ? kernels::Transpose::yes : kernels::Transpose::no;
    pack.matrix.pack(matrix_view(value_), transpose, dtype);
    pack.current = true;
  }
  return pack.matrix;
}

}  // namespace weft
