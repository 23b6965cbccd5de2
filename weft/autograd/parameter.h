#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "weft/kernels/matmul.h"
#include "weft/tensor/tensor.h"

namespace weft {

// Which product a packed weight serves. A weight W of shape (out, in) appears as Wᵀ in y = x·Wᵀ and as W in dx = dy·W.
enum class WeightUse { forward, backward };

// A trained tensor: its float32 master values, under the path that names it in files, and the copies that products
// read.
class Parameter {
 public:
  Parameter(std::string name, int index, Tensor value, bool decays);

  const std::string& name() const { return name_; }
  int index() const { return index_; }     // its place in the store
  bool decays() const { return decays_; }  // whether weight decay applies by default: matrices yes, norms and biases no
  bool trains() const { return trains_; }  // false: frozen, no gradient is computed
  void set_trains(bool trains) { trains_ = trains; }

  const Tensor& value() const { return value_; }
  // The values for writing. Every packed copy is made anew before its next use.
  Tensor& mutable_value();

  // The matrix (out, in) in the layout and element type that matmul reads fastest; made at the first call after a
  // change. Thread-safe among readers.
  const kernels::PackedMatrix& packed(WeightUse use, DType dtype) const;

 private:
  struct Packed {
    kernels::PackedMatrix matrix;
    bool current = false;
  };

  std::string name_;
  int index_;
  Tensor value_;
  bool decays_;
  bool trains_ = true;
  mutable std::mutex mutex_;
  mutable Packed packs_[2][2];  // [use][bf16?]
};

}  // namespace weft
