#include "weft/base/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/support/message_of.h"

namespace weft {
namespace {

using Piece = std::pair<int64_t, int64_t>;

std::vector<Piece> pieces_of(int64_t count, int64_t grain) {
  std::mutex mutex;
  std::vector<Piece> pieces;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(begin, end);
  });
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

class Threads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
};

TEST_P(Threads, PiecesCoverTheRangeOnceAndAreNotTooSmall) {
  EXPECT_EQ(thread_count(), GetParam());
  for (int64_t count : {1, 2, 7, 64, 1000}) {
    for (int64_t grain : {1, 3, 100}) {
      const std::vector<Piece> pieces = pieces_of(count, grain);
      ASSERT_LE(pieces.size(), static_cast<size_t>(GetParam()));
      int64_t next = 0;
      for (const Piece& piece : pieces) {
        EXPECT_EQ(piece.first, next);
        EXPECT_GT(piece.second, piece.first);
        next = piece.second;
      }
      EXPECT_EQ(next, count);
      if (count <= grain) {
        EXPECT_EQ(pieces.size(), 1u);
      }
    }
  }
}

TEST_P(Threads, NothingToDoCallsNothing) {
  EXPECT_TRUE(pieces_of(0, 1).empty());
  EXPECT_TRUE(pieces_of(-5, 1).empty());
  parallel_tasks(0, [](int64_t) { FAIL(); });
}

TEST_P(Threads, EveryTaskRunsOnce) {
  std::vector<std::atomic<int>> runs(500);
  parallel_tasks(500, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; });
  for (const auto& run : runs) EXPECT_EQ(run.load(), 1);
}

TEST_P(Threads, ExceptionsComeBackToTheCaller) {
  EXPECT_THROW(parallel_for(1000, 1, [](int64_t, int64_t) { throw std::out_of_range("x"); }), std::out_of_range);
  EXPECT_THROW(parallel_tasks(1000,
                              [](int64_t i) {
                                if (i == 700) throw std::out_of_range("x");
                              }),
               std::out_of_range);
  EXPECT_EQ(pieces_of(10, 10).size(), 1u);  // still usable
}

TEST_P(Threads, NestedLoopsRunOnTheCallingThread) {
  std::atomic<int64_t> total{0};
  parallel_for(8, 1, [&](int64_t begin, int64_t end) {
    const int outer = thread_index();
    for (int64_t i = begin; i < end; ++i) {
      parallel_for(100, 1, [&](int64_t inner_begin, int64_t inner_end) {
        EXPECT_EQ(thread_index(), outer);
        total += inner_end - inner_begin;
      });
      parallel_tasks(10, [&](int64_t) { ++total; });
    }
  });
  EXPECT_EQ(total.load(), 8 * 110);
}

TEST_P(Threads, IndexIsBelowTheCount) {
  EXPECT_EQ(thread_index(), 0);
  parallel_tasks(100, [](int64_t) {
    EXPECT_GE(thread_index(), 0);
    EXPECT_LT(thread_index(), thread_count());
  });
}

INSTANTIATE_TEST_SUITE_P(Counts, Threads, testing::Values(1, 2, 3, 8));

TEST(ThreadCount, RefusesNonsense) {
  using testing_support::message_of;
  EXPECT_EQ(message_of([] { set_thread_count(0); }), "threads: expected a count from 1 to 1024, got 0");
  EXPECT_EQ(message_of([] { set_thread_count(5000); }), "threads: expected a count from 1 to 1024, got 5000");
}

}  // namespace
}  // namespace weft
