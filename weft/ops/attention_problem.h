#pragma once

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "weft/autograd/context.h"
#include "weft/kernels/attention.h"
#include "weft/ops/attention.h"

// What the attention operations share: their sources and masks as the kernels take them, and where gradients go.
namespace weft::ops {

// What backward needs. Sources are kept as variables: their tensors are read again, their edges receive the gradients.
struct SavedAttention {
  std::array<HeadsSource, 3> sources;  // query, key, value
  std::vector<kernels::AttentionSegment> segments;
  kernels::AttentionProblem problem;  // `segments` is set at each call, `allowed` points into the tensor below
  int64_t max_q = 0;                  // longest sequence of queries, of keys
  int64_t max_k = 0;
  Tensor allowed, output, log_sum_exp;
};

// Rows of x (…, c).
int64_t rows_of(const Variable& x);
// Rows that some segment owns; the others have to be zeroed.
int64_t covered_rows(const std::vector<kernels::AttentionSegment>& segments, bool keys);

// Checks sources, mask and options against each other and writes down the problem for the kernels.
SavedAttention describe_attention(Context& ctx, const std::array<HeadsSource, 3>& sources, const Mask& mask,
                                  const AttentionOptions& options);

// Where a mask (q, k) or (b or 1, h or 1, q, k) keeps the numbers of a problem: element (segment s, head h, query i,
// key j) at s · segment + h · head + i · query + j. weft::Error if the shape does not fit.
struct MaskStrides {
  int64_t segment = 0;
  int64_t head = 0;
  int64_t query = 0;
};
MaskStrides mask_strides(const Tensor& mask, const SavedAttention& saved);

template <typename View, typename T>
View heads_at(T& tensor, int64_t column, int64_t head_dim) {
  View view = heads_view(tensor, head_dim);
  using Byte = std::remove_reference_t<decltype(*tensor.raw())>;
  view.data = reinterpret_cast<Byte*>(tensor.raw()) + column * static_cast<int64_t>(size_of(tensor.dtype()));
  return view;
}

// The memory into which one source's gradient is written, and where it goes from there.
struct SourceGradient {
  GradientEdge edge;
  Tensor tensor;
  int64_t columns = 0;    // how many of its columns are queries, keys or values
  bool in_place = false;  // `tensor` is the target itself
};

// One gradient per different source; where[i] tells which one query, key and value belong to. Zeroed where no kernel
// writes.
std::vector<SourceGradient> make_gradients(BackwardPass& pass, const SavedAttention& saved,
                                           std::array<size_t, 3>& where);
// Hands over those that are not written in place.
void finish_gradients(BackwardPass& pass, std::vector<SourceGradient>& gradients);

}  // namespace weft::ops
