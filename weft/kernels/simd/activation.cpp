#include "weft/kernels/activation.h"

#include <type_traits>

#include "weft/base/threads.h"
#include "weft/kernels/simd/matrix.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/activation.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/simd/lanes-inl.h"
#include "weft/kernels/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace {

// One row whose element type is known at run time only. The branch is the same for a whole matrix, hence predicted, and
// spares a copy of every loop for every combination of types.
class ConstRow {
 public:
  ConstRow(const ConstMatrix& x, int64_t row) : bf16_(x.dtype == DType::bf16) {
    const int64_t size = bf16_ ? sizeof(BFloat16) : sizeof(float);
    data_ = static_cast<const char*>(x.data) + row * x.stride * size;
  }
  template <typename Part>
  HWY_INLINE FloatVec load_at(int64_t i, Part part) const {
    return bf16_ ? load(static_cast<const BFloat16*>(data_) + i, part)
                 : load(static_cast<const float*>(data_) + i, part);
  }

 private:
  const void* data_;
  bool bf16_;
};

class MutableRow {
 public:
  MutableRow(const MutableMatrix& x, int64_t row) : bf16_(x.dtype == DType::bf16) {
    const int64_t size = bf16_ ? sizeof(BFloat16) : sizeof(float);
    data_ = static_cast<char*>(x.data) + row * x.stride * size;
  }
  template <typename Part>
  HWY_INLINE void store_at(FloatVec value, int64_t i, Part part) const {
    if (bf16_) {
      store(value, static_cast<BFloat16*>(data_) + i, part);
    } else {
      store(value, static_cast<float*>(data_) + i, part);
    }
  }

 private:
  void* data_;
  bool bf16_;
};

// activation(x) and activation'(x), which share most of their work; what a caller does not use is not computed.
struct Local {
  FloatVec value;
  FloatVec slope;
};

// The slope at 0 is 0, and NaN passes through.
HWY_INLINE Local relu(FloatVec x) {
  const Floats d;
  const FloatVec zero = hn::Zero(d);
  return {hn::IfThenZeroElse(hn::Lt(x, zero), x), hn::IfThenZeroElse(hn::Le(x, zero), hn::Set(d, 1.0f))};
}

HWY_INLINE Local gelu(FloatVec x) {
  const Normal<FloatVec> phi = normal(Floats(), x);
  return {hn::Mul(x, phi.cumulative), hn::MulAdd(x, phi.density, phi.cumulative)};
}

// x·sigmoid(u(x)) with slope s + x·s·(1 − s)·u'(x).
HWY_INLINE Local sigmoid_gate(FloatVec x, FloatVec u, FloatVec du) {
  const Floats d;
  const FloatVec s = sigmoid(d, u);
  const FloatVec value = hn::Mul(x, s);
  return {value, hn::MulAdd(hn::Mul(value, hn::Sub(hn::Set(d, 1.0f), s)), du, s)};
}

// (1 + tanh(a))/2 = sigmoid(2a), here with 2a = 2·√(2/π)·(x + 0.044715 x³).
HWY_INLINE Local gelu_tanh(FloatVec x) {
  const Floats d;
  const FloatVec one = hn::Set(d, 1.0f), factor = hn::Set(d, 1.5957691216f);
  const FloatVec square = hn::Mul(x, x);
  const FloatVec u = hn::Mul(hn::Mul(factor, x), hn::MulAdd(square, hn::Set(d, 0.044715f), one));
  return sigmoid_gate(x, u, hn::Mul(factor, hn::MulAdd(square, hn::Set(d, 3.0f * 0.044715f), one)));
}

template <Activation activation>
HWY_INLINE Local evaluate(FloatVec x) {
  const FloatVec one = hn::Set(Floats(), 1.0f);
  if constexpr (activation == Activation::relu) return relu(x);
  if constexpr (activation == Activation::gelu) return gelu(x);
  if constexpr (activation == Activation::gelu_tanh) return gelu_tanh(x);
  if constexpr (activation == Activation::silu) return sigmoid_gate(x, x, one);
  if constexpr (activation == Activation::tanh) {
    const FloatVec t = tanh(Floats(), x);
    return {t, hn::NegMulAdd(t, t, one)};
  }
  return {x, one};
}

template <Activation activation>
struct Rows {
  static void forward(const ConstMatrix& x, const MutableMatrix& y, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const ConstRow in(x, r);
      const MutableRow out(y, r);
      for_lanes(y.cols, [&](int64_t i, auto part)
                            HWY_ATTR { out.store_at(evaluate<activation>(in.load_at(i, part)).value, i, part); });
    }
  }

  static void backward(const ConstMatrix& x, const ConstMatrix& dy, const MutableMatrix& dx, int64_t begin,
                       int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const ConstRow in(x, r), d_out(dy, r);
      const MutableRow d_in(dx, r);
      for_lanes(x.cols, [&](int64_t i, auto part) HWY_ATTR {
        const FloatVec slope = evaluate<activation>(in.load_at(i, part)).slope;
        d_in.store_at(hn::Mul(d_out.load_at(i, part), slope), i, part);
      });
    }
  }

  static void gated_forward(const ConstMatrix& x, const MutableMatrix& y, int64_t begin, int64_t end) {
    const int64_t cols = y.cols;
    for (int64_t r = begin; r < end; ++r) {
      const ConstRow in(x, r);
      const MutableRow out(y, r);
      for_lanes(cols, [&](int64_t i, auto part) HWY_ATTR {
        const FloatVec value = evaluate<activation>(in.load_at(i, part)).value;
        out.store_at(hn::Mul(value, in.load_at(cols + i, part)), i, part);
      });
    }
  }

  static void gated_backward(const ConstMatrix& x, const ConstMatrix& dy, const MutableMatrix& dx, int64_t begin,
                             int64_t end) {
    const int64_t cols = dy.cols;
    for (int64_t r = begin; r < end; ++r) {
      const ConstRow in(x, r), d_out(dy, r);
      const MutableRow d_in(dx, r);
      for_lanes(cols, [&](int64_t i, auto part) HWY_ATTR {
        const FloatVec d = d_out.load_at(i, part), up = in.load_at(cols + i, part);
        const Local gate = evaluate<activation>(in.load_at(i, part));
        d_in.store_at(hn::Mul(hn::Mul(d, up), gate.slope), i, part);
        d_in.store_at(hn::Mul(d, gate.value), cols + i, part);
      });
    }
  }
};

template <typename Body>
void with_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::none:
      return body(Rows<Activation::none>());
    case Activation::relu:
      return body(Rows<Activation::relu>());
    case Activation::gelu:
      return body(Rows<Activation::gelu>());
    case Activation::gelu_tanh:
      return body(Rows<Activation::gelu_tanh>());
    case Activation::silu:
      return body(Rows<Activation::silu>());
    case Activation::tanh:
      return body(Rows<Activation::tanh>());
  }
}

void forward(Activation activation, const ConstMatrix& x, const MutableMatrix& y, int64_t begin, int64_t end) {
  with_activation(activation, [&](auto rows) { rows.forward(x, y, begin, end); });
}

void backward(Activation activation, const ConstMatrix& x, const ConstMatrix& dy, const MutableMatrix& dx,
              int64_t begin, int64_t end) {
  with_activation(activation, [&](auto rows) { rows.backward(x, dy, dx, begin, end); });
}

void gated_forward_rows(Activation activation, const ConstMatrix& x, const MutableMatrix& y, int64_t begin,
                        int64_t end) {
  with_activation(activation, [&](auto rows) { rows.gated_forward(x, y, begin, end); });
}

void gated_backward_rows(Activation activation, const ConstMatrix& x, const ConstMatrix& dy, const MutableMatrix& dx,
                         int64_t begin, int64_t end) {
  with_activation(activation, [&](auto rows) { rows.gated_backward(x, dy, dx, begin, end); });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(forward);
HWY_EXPORT(backward);
HWY_EXPORT(gated_forward_rows);
HWY_EXPORT(gated_backward_rows);

namespace {

// Elements for which a thread is worth starting.
constexpr int64_t grain_elements = 16384;

ConstMatrix twice_as_wide(ConstMatrix x) {
  x.cols *= 2;
  return x;
}

}  // namespace

void activation_forward(Activation activation, ConstMatrix x, MutableMatrix y) {
  check_matrix("activation_forward", "x", x);
  check_matrix("activation_forward", "y", y, x);
  parallel_for(x.rows, row_grain(grain_elements, x.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(forward)(activation, x, y, begin, end);
  });
}

void activation_backward(Activation activation, ConstMatrix x, ConstMatrix dy, MutableMatrix dx) {
  check_matrix("activation_backward", "x", x);
  check_matrix("activation_backward", "dy", dy, x);
  check_matrix("activation_backward", "dx", dx, x);
  parallel_for(x.rows, row_grain(grain_elements, x.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(backward)(activation, x, dy, dx, begin, end);
  });
}

void gated_forward(Activation activation, ConstMatrix x, MutableMatrix y) {
  check_matrix("gated_forward", "y", y);
  check_matrix("gated_forward", "x = [gate | up]", x, twice_as_wide(y));
  parallel_for(y.rows, row_grain(grain_elements, 2 * y.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gated_forward_rows)(activation, x, y, begin, end);
  });
}

void gated_backward(Activation activation, ConstMatrix x, ConstMatrix dy, MutableMatrix dx) {
  check_matrix("gated_backward", "dy", dy);
  check_matrix("gated_backward", "x = [gate | up]", x, twice_as_wide(dy));
  check_matrix("gated_backward", "dx = [gate | up]", dx, twice_as_wide(dy));
  parallel_for(dy.rows, row_grain(grain_elements, 2 * dy.cols), [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(gated_backward_rows)(activation, x, dy, dx, begin, end);
  });
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
