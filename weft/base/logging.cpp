#include "weft/base/logging.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace weft {

namespace {

spdlog::level::level_enum translate(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = spdlog::stderr_color_mt("weft");
    made->set_pattern("%^%l%$: %v");
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(translate(level)); }

void log_message(LogLevel level, std::string_view message) { logger().log(translate(level), message); }

}  // namespace weft
