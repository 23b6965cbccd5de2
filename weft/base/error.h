#pragma once

#include <fmt/format.h>

#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace weft {

// What went wrong, in the words of the user: the operation, what was expected, what came, and the way out where one is
// known. `where()` is the line of weft that noticed.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, std::source_location where) : std::runtime_error(message), where_(where) {}
  const std::source_location& where() const { return where_; }

 private:
  std::source_location where_;
};

// The command line or a recipe asks for something that does not exist (the program exits 2 for the command line).
class UsageError : public Error {
 public:
  using Error::Error;
};

// A file's content breaks its format.
class FormatError : public Error {
 public:
  using Error::Error;
};

// The operating system refused: a missing file, no space, no permission.
class IoError : public Error {
 public:
  using Error::Error;
};

// A format string together with the place of the call, so that fail() and require() can take further arguments.
template <typename... Args>
struct LocatedFormat {
  template <typename Text>
  consteval LocatedFormat(const Text& text, std::source_location where = std::source_location::current())
      : format(text), where(where) {}
  fmt::format_string<Args...> format;
  std::source_location where;
};

// Throws `E` with the formatted message.
template <typename E = Error, typename... Args>
[[noreturn]] void fail(LocatedFormat<std::type_identity_t<Args>...> message, Args&&... args) {
  throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

// Throws `E` with the formatted message unless `condition` holds. Checks of public functions are always on.
template <typename E = Error, typename... Args>
void require(bool condition, LocatedFormat<std::type_identity_t<Args>...> message, Args&&... args) {
  if (!condition) [[unlikely]]
    throw E(fmt::format(message.format, std::forward<Args>(args)...), message.where);
}

}  // namespace weft
