#pragma once

#include <string>
#include <utility>

#include "weft/base/error.h"

namespace weft::testing_support {

// The message of the weft error that `action` throws; "(no error)" if it throws nothing. Other exceptions pass through.
template <typename F>
std::string message_of(F&& action) {
  try {
    std::forward<F>(action)();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace weft::testing_support
