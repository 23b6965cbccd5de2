#include "weft/base/threads.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "weft/base/error.h"

namespace weft {

namespace {

// Runs body(thread, threads) on each thread of a team; an exception must not leave a parallel region, so it is carried.
void run_team(int threads, FunctionRef<void(int thread, int threads)> body) {
  std::exception_ptr failure;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
#pragma omp parallel num_threads(threads)
  {
    try {
      body(omp_get_thread_num(), omp_get_num_threads());
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) {
  require(count >= 1 && count <= 1024, "threads: expected a count from 1 to 1024, got {}", count);
  omp_set_num_threads(count);
}

int thread_index() { return omp_get_thread_num(); }

void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (count <= 0) return;
  const int64_t pieces = std::min<int64_t>(thread_count(), (count + grain - 1) / std::max<int64_t>(grain, 1));
  if (pieces <= 1 || omp_in_parallel()) {
    body(0, count);
    return;
  }
  run_team(static_cast<int>(pieces), [&](int thread, int threads) {
    const int64_t begin = count * thread / threads;
    const int64_t end = count * (thread + 1) / threads;
    if (begin < end) body(begin, end);
  });
}

void parallel_tasks(int64_t count, FunctionRef<void(int64_t)> body) {
  if (count <= 0) return;
  const int64_t threads = std::min<int64_t>(thread_count(), count);
  if (threads <= 1 || omp_in_parallel()) {
    for (int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  std::atomic<int64_t> next{0};
  run_team(static_cast<int>(threads), [&](int, int) {
    for (int64_t i = next++; i < count; i = next++) body(i);
  });
}

}  // namespace weft
