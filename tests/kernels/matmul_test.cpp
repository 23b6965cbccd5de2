#include "weft/kernels/matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/kernels/matmul_cases.h"
#include "weft/base/threads.h"
#include "weft/kernels/onednn/lru_cache.h"
#include "weft/kernels/onednn/problem.h"

namespace weft::kernels {
namespace {

using testing::HasSubstr;

std::vector<MatmulCase> shapes() {
  std::vector<MatmulCase> cases;
  for (const auto& [m, n, k] : std::vector<portable::MatmulSizes>{
           {1, 1, 1}, {7, 5, 3}, {1, 96, 64}, {33, 1, 20}, {2, 40, 1}, {100, 65, 33}, {66, 130, 300}, {48, 40, 3000}}) {
    MatmulCase t;
    t.m = m;
    t.n = n;
    t.k = k;
    cases.push_back(t);
  }
  return cases;
}

TEST(Matmul, ShapesTransposesAndTypes) {
  for (MatmulCase t : shapes()) {
    for (const Transpose ta : transposes) {
      for (const Transpose tb : transposes) {
        for (const DType in : types) {
          for (const DType out : types) {
            t.transpose_a = ta;
            t.transpose_b = tb;
            t.in = in;
            t.out = out;
            check_matmul(t);
          }
        }
      }
    }
  }
}

TEST(Matmul, PackedShapesAndTypes) {
  for (MatmulCase t : shapes()) {
    t.right = Right::packed;
    for (const Transpose tb : transposes) {
      for (const DType in : types) {
        for (const DType out : types) {
          t.transpose_b = tb;
          t.in = in;
          t.out = out;
          check_matmul(t);
        }
      }
    }
  }
}

TEST(Matmul, Epilogues) {
  MatmulCase t{.m = 37, .n = 70, .k = 48};
  for (const Right right : {Right::plain, Right::packed}) {
    for (const DType in : types) {
      for (const DType out : types) {
        for (const Activation activation : activations) {
          for (const Residual residual : {Residual::none, Residual::f32, Residual::bf16, Residual::in_c}) {
            for (const bool bias : {false, true}) {
              t.right = right;
              t.in = in;
              t.out = out;
              t.activation = activation;
              t.residual = residual;
              t.bias = bias;
              check_matmul(t);
            }
          }
        }
      }
    }
  }
}

// So many products that oneDNN keeps sums in c on the way, where the residual lies.
TEST(Matmul, ActivationBeforeAResidualInC) {
  for (const Right right : {Right::plain, Right::packed}) {
    for (const DType in : types) {
      MatmulCase t{.m = 20, .n = 66, .k = 9000};
      t.right = right;
      t.in = in;
      t.activation = Activation::relu;
      t.residual = Residual::in_c;
      check_matmul(t);
    }
  }
}

TEST(Matmul, Accumulates) {
  MatmulCase t{.m = 37, .n = 70, .k = 48};
  t.accumulate = true;
  for (const Right right : {Right::plain, Right::packed}) {
    for (const DType in : types) {
      for (const DType out : types) {
        for (const bool bias : {false, true}) {
          t.right = right;
          t.in = in;
          t.out = out;
          t.bias = bias;
          check_matmul(t);
        }
      }
    }
  }
}

// The product of a weight gradient: many rows summed, both operands as they lie, added to what is there.
TEST(Matmul, WeightGradients) {
  for (const DType in : types) {
    for (const auto& [m, n, k] : std::vector<portable::MatmulSizes>{{96, 64, 2500}, {64, 96, 2048}, {70, 33, 1111}}) {
      MatmulCase t{.m = m, .n = n, .k = k};
      t.transpose_a = Transpose::yes;
      t.in = in;
      check_matmul(t);
      t.accumulate = true;
      check_matmul(t);
      t.gap_a = 3;
      t.gap_b = 5;
      t.gap_c = 2;
      check_matmul(t);
    }
  }
}

TEST(Matmul, GapsBetweenRows) {
  for (const Right right : {Right::plain, Right::packed}) {
    for (const DType in : types) {
      for (const DType out : types) {
        for (int mask = 1; mask < 16; ++mask) {
          for (const Transpose ta : transposes) {
            if (right == Right::packed && ta == Transpose::yes) continue;
            MatmulCase t{.m = 40, .n = 24, .k = 32};
            t.transpose_a = ta;
            t.right = right;
            t.in = in;
            t.out = out;
            t.gap_a = mask & 1 ? 3 : 0;
            t.gap_b = mask & 2 ? 16 : 0;
            t.gap_c = mask & 4 ? 5 : 0;
            t.gap_residual = mask & 8 ? 9 : 0;
            check_matmul(t);
            t.accumulate = true;
            check_matmul(t);
            t.accumulate = false;
            t.residual = Residual::bf16;
            t.bias = true;
            t.activation = Activation::gelu;
            check_matmul(t);
          }
        }
      }
    }
  }
}

// More rows than one piece of the second pass holds.
TEST(Matmul, TwoPassesOverManyRows) {
  MatmulCase t{.m = 130, .n = 5000, .k = 3};
  t.out = DType::bf16;
  t.residual = Residual::f32;
  t.gap_c = 1;
  check_matmul(t);
  t.in = DType::bf16;
  t.right = Right::packed;
  check_matmul(t);
}

TEST(Matmul, EmptySizes) {
  for (const Right right : {Right::plain, Right::packed}) {
    for (const auto& [m, n, k] : std::vector<portable::MatmulSizes>{{0, 4, 5}, {4, 0, 5}, {0, 0, 0}, {4, 5, 0}}) {
      for (const DType out : types) {
        MatmulCase t{.m = m, .n = n, .k = k};
        t.right = right;
        t.out = out;
        t.gap_c = 2;
        check_matmul(t);
        t.bias = true;
        t.accumulate = true;
        check_matmul(t);
        t.accumulate = false;
        t.residual = Residual::f32;
        t.activation = Activation::silu;
        check_matmul(t);
      }
    }
  }
}

// What processors without bf16 instructions do, which solve() can be told to do anywhere.
TEST(Matmul, WidenedBf16) {
  for (const Transpose ta : transposes) {
    for (const Transpose tb : transposes) {
      for (const DType out : types) {
        MatmulCase t{.m = 40, .n = 24, .k = 33};
        t.transpose_a = ta;
        t.transpose_b = tb;
        t.in = DType::bf16;
        t.out = out;
        t.gap_a = 3;
        t.gap_b = 1;
        t.gap_c = 2;
        SCOPED_TRACE(to_string(t));
        MatmulTrial trial(t);
        const auto layout = [](const ConstMatrix& m, Transpose transpose) {
          if (transpose == Transpose::yes) return onednn::OperandLayout{m.dtype, 0, 1, m.stride};
          return onednn::OperandLayout{m.dtype, 0, m.stride, 1};
        };
        onednn::Problem problem;
        problem.shape.m = t.m;
        problem.shape.n = t.n;
        problem.shape.k = t.k;
        problem.shape.a = layout(trial.a.view(), ta);
        problem.shape.b = layout(trial.b.view(), tb);
        problem.shape.c = layout(trial.c.view(), Transpose::no);
        problem.data.a = trial.a.view().data;
        problem.data.b = trial.b.view().data;
        problem.data.c = trial.c.view().data;
        onednn::solve(problem, onednn::Bf16Products::widened);
        trial.expect_right();
      }
    }
  }
}

// Products inside a parallel loop run on their own thread, with code made for any number of threads.
TEST(Matmul, InsideParallelLoops) {
  for (const DType in : types) {
    MatmulCase t{.m = 64, .n = 48, .k = 2000};
    t.in = in;
    check_matmul(t);
    std::vector<MatmulTrial> trials(8, MatmulTrial(t));
    parallel_tasks(8, [&](int64_t i) { trials[i].multiply(); });
    for (const MatmulTrial& trial : trials) trial.expect_right();
  }
}

TEST(Matmul, FromSeveralThreads) {
  MatmulCase t{.m = 30, .n = 48, .k = 64};
  std::vector<MatmulTrial> trials(4, MatmulTrial(t));
  std::vector<std::thread> threads;
  for (MatmulTrial& trial : trials) {
    threads.emplace_back([&trial] {
      for (int i = 0; i < 50; ++i) trial.multiply();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const MatmulTrial& trial : trials) trial.expect_right();
}

TEST(Matmul, AnyThreadCount) {
  const int before = thread_count();
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    check_matmul({.m = 100, .n = 65, .k = 333});
  }
  set_thread_count(before);
}

TEST(Matmul, CacheGrowsWithShapesOnly) {
  MatmulCase t{.m = 3, .n = 11, .k = 13};
  check_matmul(t);
  const int64_t before = matmul_cache_size();
  EXPECT_GT(before, 0);
  for (int i = 0; i < 5; ++i) check_matmul(t);
  EXPECT_EQ(matmul_cache_size(), before);
  t.n = 12;
  check_matmul(t);
  EXPECT_EQ(matmul_cache_size(), std::min(before + 1, onednn::product_cache_capacity));
}

TEST(LruCache, KeepsTheLatest) {
  struct Value {
    explicit Value(int key) : key(key) {}
    int key;
  };
  onednn::LruCache<int, Value, std::hash<int>> cache(2);
  const auto first = cache.get(1);
  const auto second = cache.get(2);
  EXPECT_EQ(cache.get(1), first);
  cache.get(3);
  EXPECT_EQ(cache.size(), 2);
  EXPECT_EQ(cache.get(1), first);
  EXPECT_NE(cache.get(2), second);
  EXPECT_EQ(second->key, 2);
}

TEST(Matmul, SaysWhatDoesNotFit) {
  std::vector<float> memory(100);
  const auto f32 = [&](int64_t rows, int64_t cols) {
    return MutableMatrix{memory.data(), DType::f32, rows, cols, cols};
  };
  const auto plain = [&](ConstMatrix a, ConstMatrix b, MutableMatrix c, const MatmulEpilogue& epilogue = {}) {
    return message_of([&] { matmul(a, Transpose::no, b, Transpose::no, c, epilogue); });
  };
  EXPECT_THAT(plain(f32(2, 3), f32(4, 5), f32(2, 5)),
              HasSubstr("matmul: the inner sizes differ: op(a) is (2, 3), op(b) is (4, 5)"));
  EXPECT_THAT(plain(f32(2, 3), f32(3, 5), f32(5, 2)), HasSubstr("matmul: c must be (2, 5), got (5, 2)"));

  ConstMatrix half = f32(3, 5);
  half.dtype = DType::bf16;
  EXPECT_THAT(plain(f32(2, 3), half, f32(2, 5)), HasSubstr("matmul: a is f32 and b is bf16; convert one of them"));
  half.dtype = DType::f16;
  EXPECT_THAT(plain(f32(2, 3), half, f32(2, 5)), HasSubstr("matmul: b must be f32 or bf16, got f16"));
  ConstMatrix narrow = f32(3, 5);
  narrow.stride = 4;
  EXPECT_THAT(plain(f32(2, 3), narrow, f32(2, 5)), HasSubstr("matmul: b has stride 4, less than its 5 columns"));
  EXPECT_THAT(plain({}, narrow, {}), HasSubstr("stride 4"));

  MatmulEpilogue epilogue;
  epilogue.residual = f32(2, 4);
  EXPECT_THAT(plain(f32(2, 3), f32(3, 5), f32(2, 5), epilogue),
              HasSubstr("matmul: residual must be (2, 5), got (2, 4)"));
  epilogue.residual = f32(2, 5);
  epilogue.accumulate = true;
  EXPECT_THAT(plain(f32(2, 3), f32(3, 5), f32(2, 5), epilogue),
              HasSubstr("matmul: accumulate goes with neither an activation nor a residual"));
  epilogue.residual = {};
  epilogue.activation = Activation::relu;
  EXPECT_THAT(plain(f32(2, 3), f32(3, 5), f32(2, 5), epilogue), HasSubstr("accumulate goes with neither"));
}

// oneDNN has other implementations, and other gaps, for processors with fewer instructions. It reads the limit once, so
// this program runs itself again, on one thread for the time's sake.
TEST(OtherProcessors, PassTheSameTests) {
  if (std::getenv("DNNL_MAX_CPU_ISA") != nullptr) GTEST_SKIP() << "already limited";
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  for (const std::string isa : {"SSE41", "AVX2", "AVX512_CORE"}) {
    SCOPED_TRACE(isa);
    const std::string command = "OMP_NUM_THREADS=1 DNNL_MAX_CPU_ISA=" + isa + " " + program +
                                " --gtest_brief=1 "
                                "--gtest_filter='Matmul.*:PackedMatrix.*:BatchedMatmul.*' 1>&2";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
}

}  // namespace
}  // namespace weft::kernels
