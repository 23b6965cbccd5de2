#include "weft/base/logging.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::string logged_at(LogLevel level) {
  set_log_level(level);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  log_info("step {}", 3);
  log_warning("slow {}", "disk");
  const std::string errors = testing::internal::GetCapturedStderr();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  set_log_level(LogLevel::info);
  return errors;
}

TEST(Logging, WritesLinesToStandardErrorOnly) {
  EXPECT_EQ(logged_at(LogLevel::info), "info: step 3\nwarning: slow disk\n");
}

TEST(Logging, LevelLeavesOutWhatIsBelow) {
  EXPECT_EQ(logged_at(LogLevel::warning), "warning: slow disk\n");
  EXPECT_EQ(logged_at(LogLevel::off), "");
}

}  // namespace
}  // namespace weft
