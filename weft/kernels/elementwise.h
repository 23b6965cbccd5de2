#pragma once

#include <cstdint>

#include "weft/base/dtype.h"
#include "weft/kernels/dropout.h"
#include "weft/kernels/view.h"

namespace weft::kernels {

// Every matrix is f32 or bf16 independently unless said otherwise; arithmetic is in f32; rows run over the threads.

// y = x in the element type of y.
void convert(ConstMatrix x, MutableMatrix y);
// y += scale · x
void accumulate(ConstMatrix x, MutableMatrix y, float scale = 1.0f);
void scale(MutableMatrix x, float factor);  // x *= factor
void fill(MutableMatrix x, float value);

// sum = x + dropout(y), elements counted r · cols + c. sum may be x.
void add_dropout(ConstMatrix x, ConstMatrix y, const Dropout& dropout, MutableMatrix sum);
// y = dropout(x), for the forward pass and, on gradients, for the backward pass. y may be x.
void apply_dropout(ConstMatrix x, const Dropout& dropout, MutableMatrix y);

// out[c] (+)= Σ_r x(r, c), accumulated in f32; `out` has x.cols elements. With `converted` (optional, dtype bf16, same
// sizes as x) the same pass also writes x there: a bias gradient and the bf16 copy that the next product reads.
void column_sums(ConstMatrix x, float* out, bool accumulate, const MutableMatrix* converted = nullptr);

// Σ x², in double. Deterministic for any thread count.
double sum_of_squares(const float* x, int64_t count);
// Index of the first element that is NaN or infinite, or −1.
int64_t first_non_finite(const float* x, int64_t count);

}  // namespace weft::kernels
