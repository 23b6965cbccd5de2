#pragma once

#include <chrono>
#include <filesystem>
#include <string_view>

#include "weft/base/json.h"

namespace weft::train {

enum class RunStatus { running, finished, stopped, failed };

enum class ReportWrite {
  now,
  if_due,  // not if the page was written a short while ago
};

// report.html in a run folder: the curves of metrics.jsonl, the samples in it, the recipe. One self-contained file,
// written atomically, so that a browser can load it again and again while the run goes on.
class RunReport {
 public:
  // `run`: its folder, which has recipe.toml and metrics.jsonl. `steps`: of the whole run.
  RunReport(std::filesystem::path run, std::string_view task, int64_t steps);

  // Reads the two files and writes the page. With `if_due` at most every 5 seconds and a twentieth of the time.
  // IoError; FormatError for metrics that are none.
  void write(RunStatus status, ReportWrite when);

 private:
  std::filesystem::path run_;
  std::string task_;
  int64_t steps_;
  std::chrono::steady_clock::time_point next_{};
};

// The page's data from the lines of a metrics.jsonl: {"charts": [{"title", "unit", "series": [{"name", "points":
// [[step, value], …]}]}], "samples": [{"step", "samples": […]}], "summary": [[name, value], …]}. A long series is
// thinned to the lowest and the highest value of each of some hundred stretches, so that no outlier is lost.
Json report_data(std::string_view metrics, std::string_view source, int64_t steps);

}  // namespace weft::train
