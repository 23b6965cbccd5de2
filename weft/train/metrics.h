#pragma once

#include <cstdint>
#include <filesystem>

#include "weft/base/json.h"

namespace weft::train {

// metrics.jsonl of a run: one JSON object a line, each with its "step".
class MetricsLog {
 public:
  // Opens the file for more lines, after taking away those of later steps than `last_step` (they will be written again)
  // and an unfinished last line. IoError; FormatError for a line that is no such object.
  MetricsLog(const std::filesystem::path& path, int64_t last_step);
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;
  ~MetricsLog();

  void write(const Json& line);  // handed to the system at once: it survives the end of this process
  void sync();                   // on the disk: it survives the end of the machine

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace weft::train
