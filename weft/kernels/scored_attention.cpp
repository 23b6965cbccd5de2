#include "weft/kernels/scored_attention.h"

#include "weft/base/threads.h"
#include "weft/kernels/portable/scored_attention.h"

namespace weft::kernels {

namespace {

using portable::AttentionHead;
using portable::ScoredHead;
using portable::TermGradients;

using Floats = std::vector<float>;

// Rows [begin, begin + count) of one head as dense f32.
void load(const ConstHeads& from, int64_t begin, int64_t count, int64_t head, int64_t e, Floats& into) {
  into.resize(static_cast<size_t>(count * e));
  for (int64_t t = 0; t < count; ++t) {
    const int64_t start = (begin + t) * from.token_stride + head * from.head_stride;
    for (int64_t c = 0; c < e; ++c) {
      into[static_cast<size_t>(t * e + c)] =
          from.dtype == DType::f32 ? static_cast<const float*>(from.data)[start + c]
                                   : static_cast<float>(static_cast<const BFloat16*>(from.data)[start + c]);
    }
  }
}

void store(const Floats& from, int64_t begin, int64_t count, int64_t head, int64_t e, const MutableHeads& into) {
  for (int64_t t = 0; t < count; ++t) {
    const int64_t start = (begin + t) * into.token_stride + head * into.head_stride;
    for (int64_t c = 0; c < e; ++c) {
      const float value = from[static_cast<size_t>(t * e + c)];
      if (into.dtype == DType::f32) {
        static_cast<float*>(into.data)[start + c] = value;
      } else {
        static_cast<BFloat16*>(into.data)[start + c] = BFloat16(value);
      }
    }
  }
}

// The arrays of one head of one segment; kept from head to head.
struct Scratch {
  Floats q, k, v, soft, weights, output, d_output, dq, dk, dv;
};

portable::Terms<float> terms_of(const DistanceTerms& terms) {
  return {terms.relative_keys, terms.relative_values, terms.bucket_bias, terms};
}

ScoredHead<float> begin_head(const ScoredAttention& call, const AttentionHead& head, Scratch& scratch) {
  const AttentionSegment& segment = head.segment();
  load(call.q, segment.q_begin, segment.q_length, head.head, call.problem.head_dim, scratch.q);
  const auto scores = static_cast<size_t>(segment.q_length * segment.k_length);
  scratch.soft.resize(scores);
  scratch.weights.resize(scores);
  const ScoredHead<float> result{
      head, call.rule, terms_of(call.terms), call.additive, scratch.q.data(), scratch.k.data(), scratch.v.data()};
  portable::scored_weights(result, scratch.soft.data(), scratch.weights.data());
  return result;
}

// Calls body(head, first of its group) for every query head that reads a key/value head, segment after segment.
template <typename Body>
void for_each_head(const ScoredAttention& call, int64_t kv_head, Scratch& scratch, const Body& body) {
  const AttentionProblem& problem = call.problem;
  const portable::LongestLengths longest = portable::longest_lengths(problem);
  const int64_t group = problem.heads / problem.kv_heads;
  for (size_t s = 0; s < problem.segments.size(); ++s) {
    const AttentionSegment& segment = problem.segments[s];
    load(call.k, segment.k_begin, segment.k_length, kv_head, problem.head_dim, scratch.k);
    load(call.v, segment.k_begin, segment.k_length, kv_head, portable::value_dim_of(problem), scratch.v);
    for (int64_t h = 0; h < group; ++h) {
      body(AttentionHead{problem, longest, static_cast<int64_t>(s), kv_head * group + h}, h);
    }
  }
}

void add(const Floats& from, float* into) {
  if (into == nullptr) return;
  for (size_t i = 0; i < from.size(); ++i) into[i] += from[i];
}

// One kv head's part of the tables' gradients: the heads are summed in their order, whoever computed them.
struct TablePart {
  Floats keys, values, bias;

  TermGradients<float> gradients() {
    const auto pointer = [](Floats& part) { return part.empty() ? nullptr : part.data(); };
    return {pointer(keys), pointer(values), pointer(bias)};
  }
};

}  // namespace

void scored_attention_forward(const ScoredAttention& call, const MutableHeads& output, float* weights) {
  const int64_t value_dim = portable::value_dim_of(call.problem);
  parallel_tasks(call.problem.kv_heads, [&](int64_t kv_head) {
    Scratch scratch;
    for_each_head(call, kv_head, scratch, [&](const AttentionHead& head, int64_t) {
      const ScoredHead<float> scored = begin_head(call, head, scratch);
      const AttentionSegment& segment = head.segment();
      if (weights != nullptr) {
        for (int64_t i = 0; i < head.longest.q; ++i) {
          float* row = weights + head.element(i, 0);
          std::fill_n(row, head.longest.k, 0.0f);
          if (i < segment.q_length)
            std::copy_n(&scratch.weights[static_cast<size_t>(i * segment.k_length)], segment.k_length, row);
        }
      }
      scratch.output.resize(static_cast<size_t>(segment.q_length * value_dim));
      portable::scored_output(scored, scratch.weights.data(), scratch.output.data());
      store(scratch.output, segment.q_begin, segment.q_length, head.head, value_dim, output);
    });
  });
}

void scored_attention_backward(const ScoredAttention& call, const ConstHeads& d_output,
                               const ScoredAttentionGradients& gradients) {
  const AttentionProblem& problem = call.problem;
  const int64_t e = problem.head_dim, value_dim = portable::value_dim_of(problem);
  const int64_t group = problem.heads / problem.kv_heads;
  const auto relative_rows = static_cast<size_t>(2 * call.terms.max_distance + 1);
  const int64_t buckets = call.terms.bucket_of.empty()
                              ? 0
                              : 1 + *std::max_element(call.terms.bucket_of.begin(), call.terms.bucket_of.end());
  std::vector<TablePart> parts(static_cast<size_t>(problem.kv_heads));
  parallel_tasks(problem.kv_heads, [&](int64_t kv_head) {
    TablePart& part = parts[static_cast<size_t>(kv_head)];
    if (gradients.relative_keys != nullptr) part.keys.assign(relative_rows * static_cast<size_t>(e), 0.0f);
    if (gradients.relative_values != nullptr) part.values.assign(relative_rows * static_cast<size_t>(value_dim), 0.0f);
    if (gradients.bucket_bias != nullptr) part.bias.assign(static_cast<size_t>(buckets * problem.heads), 0.0f);
    Scratch scratch;
    for_each_head(call, kv_head, scratch, [&](const AttentionHead& head, int64_t number) {
      const AttentionSegment& segment = head.segment();
      const ScoredHead<float> scored = begin_head(call, head, scratch);
      load(d_output, segment.q_begin, segment.q_length, head.head, value_dim, scratch.d_output);
      scratch.dq.assign(scratch.q.size(), 0.0f);
      if (number == 0) {
        scratch.dk.assign(scratch.k.size(), 0.0f);
        scratch.dv.assign(scratch.v.size(), 0.0f);
      }
      portable::scored_head_backward(scored, scratch.soft.data(), scratch.weights.data(), scratch.d_output.data(),
                                     scratch.dq.data(), scratch.dk.data(), scratch.dv.data(), part.gradients());
      store(scratch.dq, segment.q_begin, segment.q_length, head.head, e, gradients.dq);
      if (number + 1 < group) return;
      store(scratch.dk, segment.k_begin, segment.k_length, kv_head, e, gradients.dk);
      store(scratch.dv, segment.k_begin, segment.k_length, kv_head, value_dim, gradients.dv);
    });
  });
  for (const TablePart& part : parts) {
    add(part.keys, gradients.relative_keys);
    add(part.values, gradients.relative_values);
    add(part.bias, gradients.bucket_bias);
  }
}

}  // namespace weft::kernels
