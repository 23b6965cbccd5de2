#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/kernels/test_matrix.h"
#include "weft/kernels/matmul.h"
#include "weft/kernels/portable/matmul.h"

// What the tests of matrix products share: one case of a table, and its comparison with the oracle.
namespace weft::kernels {

enum class Residual { none, f32, bf16, in_c };
enum class Right { plain, packed };

struct MatmulCase {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  Transpose transpose_a = Transpose::no;
  Transpose transpose_b = Transpose::no;
  DType in = DType::f32;
  DType out = DType::f32;
  int64_t gap_a = 0;
  int64_t gap_b = 0;
  int64_t gap_c = 0;
  int64_t gap_residual = 0;
  bool bias = false;
  Activation activation = Activation::none;
  Residual residual = Residual::none;
  bool accumulate = false;
  Right right = Right::plain;
};

inline std::string to_string(const MatmulCase& t) {
  return fmt::format("m {} n {} k {} transposed {}{} {} -> {} gaps {} {} {} {} bias {} activation {} residual {} {} {}",
                     t.m, t.n, t.k, t.transpose_a == Transpose::yes, t.transpose_b == Transpose::yes, name_of(t.in),
                     name_of(t.out), t.gap_a, t.gap_b, t.gap_c, t.gap_residual, t.bias, static_cast<int>(t.activation),
                     static_cast<int>(t.residual), t.accumulate ? "accumulate" : "",
                     t.right == Right::packed ? "packed" : "plain");
}

// Relative to the larger of 1 and the result, for operands of standard deviation 1. The i-th partial sum is about √i
// and is rounded to 2⁻²⁴ of itself, which makes an error of about 2e-8·k (standard deviation) in a sum of k products:
// this allows six times that, and 2e-6 for the polynomials by which oneDNN computes activations.
inline double product_tolerance(int64_t k) { return 1.2e-7 * static_cast<double>(k) + 2e-6; }

// The matrices of one case and the product of the oracle.
struct MatmulTrial {
  explicit MatmulTrial(const MatmulCase& test)
      : t(test),
        a(operand(t.transpose_a, t.m, t.k, t.in, t.gap_a, 1)),
        b(operand(t.transpose_b, t.k, t.n, t.in, t.gap_b, 2)),
        c(operand(Transpose::no, t.m, t.n, t.out, t.gap_c, 3)),
        residual(operand(Transpose::no, t.m, t.n, t.residual == Residual::bf16 ? DType::bf16 : DType::f32,
                         t.gap_residual, 4)) {
    const std::vector<double> bias_values = TestMatrix::random(DType::f32, 1, t.n, 0, 5).dense();
    bias.assign(bias_values.begin(), bias_values.end());

    const std::vector<double> residual_values = t.residual == Residual::in_c ? c.dense() : residual.dense();
    expected = c.dense();
    portable::matmul<double>({t.m, t.n, t.k}, a.dense().data(), t.transpose_a, b.dense().data(), t.transpose_b,
                             expected.data(),
                             {.bias = t.bias ? bias_values.data() : nullptr,
                              .activation = t.activation,
                              .residual = t.residual == Residual::none ? nullptr : residual_values.data(),
                              .accumulate = t.accumulate});
  }

  void multiply() {
    MatmulEpilogue epilogue;
    epilogue.bias = t.bias ? bias.data() : nullptr;
    epilogue.activation = t.activation;
    epilogue.accumulate = t.accumulate;
    if (t.residual == Residual::in_c) epilogue.residual = c.view();
    if (t.residual == Residual::f32 || t.residual == Residual::bf16) epilogue.residual = residual.view();
    if (t.right == Right::packed) {
      PackedMatrix packed;
      packed.pack(b.view(), t.transpose_b, t.in);
      matmul(a.view(), packed, c.view(), epilogue);
    } else {
      matmul(a.view(), t.transpose_a, b.view(), t.transpose_b, c.view(), epilogue);
    }
  }

  void expect_right() const { c.expect_near(expected, product_tolerance(t.k)); }

  static TestMatrix operand(Transpose transpose, int64_t rows, int64_t cols, DType dtype, int64_t gap, uint64_t seed) {
    if (transpose == Transpose::yes) std::swap(rows, cols);
    return TestMatrix::random(dtype, rows, cols, gap, seed, 1.0f);
  }

  MatmulCase t;
  TestMatrix a, b, c, residual;
  std::vector<float> bias;
  std::vector<double> expected;
};

inline void check_matmul(const MatmulCase& t) {
  SCOPED_TRACE(to_string(t));
  MatmulTrial trial(t);
  trial.multiply();
  trial.expect_right();
}

inline constexpr DType types[] = {DType::f32, DType::bf16};
inline constexpr Transpose transposes[] = {Transpose::no, Transpose::yes};
inline constexpr Activation activations[] = {Activation::none,      Activation::relu, Activation::gelu,
                                             Activation::gelu_tanh, Activation::silu, Activation::tanh};

}  // namespace weft::kernels
