#include "weft/ops/attention_problem.h"

#include <cmath>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft::ops {

using kernels::AttentionProblem;
using kernels::AttentionSegment;

int64_t rows_of(const Variable& x) { return x.dim(-1) == 0 ? 0 : x.value().numel() / x.dim(-1); }

int64_t covered_rows(const std::vector<AttentionSegment>& segments, bool keys) {
  int64_t total = 0;
  for (const AttentionSegment& segment : segments) total += keys ? segment.k_length : segment.q_length;
  return total;
}

namespace {

void check(const char* which, const HeadsSource& source, int64_t heads, int64_t head_dim) {
  require(source.source.defined() && source.source.value().rank() >= 2, "attention: {} is (…, tokens, width)", which);
  require(source.column >= 0 && source.column + heads * head_dim <= source.source.dim(-1),
          "attention: {} needs {} heads of {} from column {}, its rows have {}", which, heads, head_dim, source.column,
          source.source.dim(-1));
}

std::vector<AttentionSegment> segments_of(const Mask& mask, const Variable& query, const Variable& key) {
  if (!mask.segments.empty()) return mask.segments;
  const int64_t b = query.value().rank() >= 3 ? rows_of(query) / query.dim(-2) : 1;
  require(b == (key.value().rank() >= 3 ? rows_of(key) / key.dim(-2) : 1),
          "attention: as many key sequences as query sequences, got {} and {}", query.shape(), key.shape());
  std::vector<AttentionSegment> segments;
  for (int64_t i = 0; i < b; ++i) {
    segments.push_back({i * query.dim(-2), query.dim(-2), i * key.dim(-2), key.dim(-2)});
  }
  return segments;
}

void set_allowed(AttentionProblem& problem, const SavedAttention& saved) {
  const Tensor& allowed = saved.allowed;
  if (!allowed.defined()) return;
  require(allowed.dtype() == DType::boolean || allowed.dtype() == DType::u8,
          "attention: the mask is boolean (true = may attend), got {}", name_of(allowed.dtype()));
  const MaskStrides strides = mask_strides(allowed, saved);
  problem.allowed = reinterpret_cast<const uint8_t*>(allowed.raw());
  problem.allowed_segment_stride = strides.segment;
  problem.allowed_head_stride = strides.head;
  problem.allowed_query_stride = strides.query;
}

bool same_edge(const GradientEdge& a, const GradientEdge& b) { return a.slot == b.slot && a.parameter == b.parameter; }

SourceGradient make_gradient(BackwardPass& pass, const Variable& source) {
  SourceGradient gradient{source.edge(), {}};
  if (source.edge().wanted()) {
    GradientTarget target = pass.target(source.edge(), source.shape(), source.dtype());
    gradient.in_place = !target.accumulate;
    if (gradient.in_place) gradient.tensor = target.tensor;
  }
  if (!gradient.tensor.defined()) gradient.tensor = Tensor::empty(source.shape(), source.dtype());
  return gradient;
}

}  // namespace

MaskStrides mask_strides(const Tensor& mask, const SavedAttention& saved) {
  require(mask.is_contiguous() && (mask.rank() == 2 || mask.rank() == 4),
          "attention: the mask has shape (q, k) or (b or 1, h or 1, q, k), got {}", mask.shape());
  require(mask.dim(-2) >= saved.max_q && mask.dim(-1) >= saved.max_k,
          "attention: the mask {} is smaller than {} queries × {} keys", mask.shape(), saved.max_q, saved.max_k);
  if (mask.rank() == 2) return {.query = mask.stride(0)};
  const auto b = static_cast<int64_t>(saved.segments.size());
  require((mask.dim(0) == 1 || mask.dim(0) == b) && (mask.dim(1) == 1 || mask.dim(1) == saved.problem.heads),
          "attention: the mask {} fits neither {} sequences nor {} heads", mask.shape(), b, saved.problem.heads);
  return {.segment = mask.dim(0) == 1 ? 0 : mask.stride(0),
          .head = mask.dim(1) == 1 ? 0 : mask.stride(1),
          .query = mask.stride(2)};
}

std::vector<SourceGradient> make_gradients(BackwardPass& pass, const SavedAttention& saved,
                                           std::array<size_t, 3>& where) {
  std::vector<SourceGradient> gradients;
  for (size_t i = 0; i < 3; ++i) {
    const Variable& source = saved.sources[i].source;
    const auto known = std::ranges::find_if(
        gradients, [&](const SourceGradient& g) { return g.edge.wanted() && same_edge(g.edge, source.edge()); });
    where[i] = static_cast<size_t>(known - gradients.begin());
    if (known == gradients.end()) gradients.push_back(make_gradient(pass, source));
    gradients[where[i]].columns += saved.problem.head_dim * (i == 0 ? saved.problem.heads : saved.problem.kv_heads);
  }
  // Padding rows, and columns that are no query, key or value, have gradient zero.
  for (SourceGradient& gradient : gradients) {
    const int64_t rows = gradient.tensor.numel() / gradient.tensor.dim(-1);
    const bool all_rows = covered_rows(saved.segments, false) == rows && covered_rows(saved.segments, true) == rows;
    if (gradient.columns != gradient.tensor.dim(-1) || !all_rows) gradient.tensor.fill_zero();
  }
  return gradients;
}

void finish_gradients(BackwardPass& pass, std::vector<SourceGradient>& gradients) {
  for (SourceGradient& gradient : gradients) {
    if (!gradient.in_place) pass.add(gradient.edge, std::move(gradient.tensor));
  }
}

SavedAttention describe_attention(Context& ctx, const std::array<HeadsSource, 3>& sources, const Mask& mask,
                                  const AttentionOptions& options) {
  const int64_t kv_heads = options.kv_heads == 0 ? options.heads : options.kv_heads;
  require(options.heads > 0 && options.head_dim > 0 && kv_heads > 0 && options.heads % kv_heads == 0,
          "attention: heads {} is not a multiple of kv_heads {} (head_dim {})", options.heads, kv_heads,
          options.head_dim);
  check("query", sources[0], options.heads, options.head_dim);
  check("key", sources[1], kv_heads, options.head_dim);
  check("value", sources[2], kv_heads, options.head_dim);
  const int64_t q_rows = rows_of(sources[0].source);
  const int64_t k_rows = rows_of(sources[1].source);
  require(k_rows == rows_of(sources[2].source), "attention: one value per key, got {} and {}",
          sources[1].source.shape(), sources[2].source.shape());

  SavedAttention saved;
  saved.sources = sources;
  saved.segments = segments_of(mask, sources[0].source, sources[1].source);
  saved.allowed = mask.allowed;
  for (const AttentionSegment& segment : saved.segments) {
    require(segment.q_begin >= 0 && segment.q_length >= 0 && segment.q_begin + segment.q_length <= q_rows &&
                segment.k_begin >= 0 && segment.k_length >= 0 && segment.k_begin + segment.k_length <= k_rows,
            "attention: a sequence of the mask lies outside the {} query and {} key rows", q_rows, k_rows);
    saved.max_q = std::max(saved.max_q, segment.q_length);
    saved.max_k = std::max(saved.max_k, segment.k_length);
  }
  AttentionProblem& problem = saved.problem;
  problem.heads = options.heads;
  problem.kv_heads = kv_heads;
  problem.head_dim = options.head_dim;
  problem.scale = options.scale != 0.0f ? options.scale : 1.0f / std::sqrt(static_cast<float>(options.head_dim));
  problem.causal = mask.causal;
  set_allowed(problem, saved);
  if (ctx.training && options.dropout > 0.0) {
    problem.dropout = {static_cast<float>(options.dropout), ctx.next_site()};
  }
  return saved;
}

}  // namespace weft::ops
