#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft {

// A callable seen through two pointers: what std::function is without owning or allocating.
template <typename Signature>
class FunctionRef;

template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>)
      FunctionRef(F&& callable)  // implicit on purpose: the argument lives until the call returns
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> Result {
          return (*static_cast<std::remove_reference_t<F>*>(object))(args...);
        }) {}
  Result operator()(Args... args) const { return call_(object_, args...); }

 private:
  void* object_;
  Result (*call_)(void*, Args...);
};

int thread_count();                // threads that parallel_for may use
void set_thread_count(int count);  // ≥ 1
int thread_index();                // of the calling thread inside parallel_for, 0 outside

// Splits [0, count) into one contiguous piece per thread, none shorter than `grain` elements but the last, and runs
// body(begin, end) for each. Runs on the calling thread alone if there is too little to share or if it is already
// inside a parallel loop. The first exception thrown by a body is rethrown here.
void parallel_for(int64_t count, int64_t grain, FunctionRef<void(int64_t begin, int64_t end)> body);

// Runs body(i) for every i in [0, count); threads take the next index as they become free, for tasks of uneven size.
void parallel_tasks(int64_t count, FunctionRef<void(int64_t index)> body);

}  // namespace weft
