#include "weft/kernels/onednn/transposed_left.h"

#include <gtest/gtest.h>

#include "tests/kernels/matmul_cases.h"
#include "weft/base/threads.h"

namespace weft::kernels {
namespace {

onednn::Problem problem_of(MatmulTrial& trial) {
  onednn::Problem problem;
  problem.shape.m = trial.t.m;
  problem.shape.n = trial.t.n;
  problem.shape.k = trial.t.k;
  problem.shape.a = {trial.t.in, 0, 1, trial.a.view().stride};
  problem.shape.b = {trial.t.in, 0, trial.b.view().stride, 1};
  problem.shape.c = {DType::f32, 0, trial.t.n, 1};
  problem.shape.accumulate = trial.t.accumulate;
  problem.shape.threads = thread_count();
  problem.data.a = trial.a.view().data;
  problem.data.b = trial.b.view().data;
  problem.data.c = trial.c.view().data;
  return problem;
}

// One piece and several, of k and of m, with and without remainders.
TEST(TransposedLeft, GivesTheProduct) {
  for (const auto& [m, n, k] :
       std::vector<portable::MatmulSizes>{{64, 64, 256}, {70, 65, 333}, {65, 9, 4100}, {1000, 3, 5000}}) {
    for (const DType in : types) {
      for (const bool accumulate : {false, true}) {
        for (const int64_t gap : {0, 3}) {
          MatmulCase t{.m = m, .n = n, .k = k};
          t.transpose_a = Transpose::yes;
          t.in = in;
          t.accumulate = accumulate;
          t.gap_a = t.gap_b = gap;
          SCOPED_TRACE(to_string(t));
          MatmulTrial trial(t);
          onednn::solve_transposed_left(problem_of(trial));
          trial.expect_right();
        }
      }
    }
  }
}

// matmul() takes this way for large weight gradients.
TEST(TransposedLeft, IsPreferredForLargeOnes) {
  MatmulCase t{.m = 256, .n = 512, .k = 256};
  t.transpose_a = Transpose::yes;
  t.in = DType::bf16;
  t.accumulate = true;
  MatmulTrial trial(t);
  EXPECT_TRUE(onednn::prefers_transposed_left(problem_of(trial).shape));
  check_matmul(t);

  for (const auto& change : std::vector<void (*)(onednn::ProductShape&)>{
           [](auto& s) { s.a.dtype = s.b.dtype = DType::f32; }, [](auto& s) { s.m = 100; },
           [](auto& s) {
             s.a = {DType::bf16, 0, s.k, 1};
           },
           [](auto& s) { s.c.row += 1; }, [](auto& s) { s.c.dtype = DType::bf16; },
           [](auto& s) { s.has_bias = true; }}) {
    onednn::ProductShape shape = problem_of(trial).shape;
    change(shape);
    EXPECT_FALSE(onednn::prefers_transposed_left(shape));
  }
}

}  // namespace
}  // namespace weft::kernels
