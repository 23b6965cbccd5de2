#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace weft {

enum class LogLevel { debug, info, warning, error, off };

// Messages go to standard error, one line each; standard output is for results.
void set_log_level(LogLevel level);
void log_message(LogLevel level, std::string_view message);

template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
