#include "weft/train/report.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/io/page.h"

namespace weft::embedded {
extern const std::string_view report_css, report_html, report_js;
}

namespace weft::train {

namespace fs = std::filesystem;

namespace {

constexpr size_t most_points = 1000;     // of a series, about
constexpr size_t most_sample_sets = 20;  // the newest
constexpr std::array uncharted = {"tokens", "starts",
                                  "sequences"};  // figures of an evaluation that say how much was evaluated

using Points = std::vector<std::pair<int64_t, double>>;

std::string_view name_of(RunStatus status) {
  switch (status) {
    case RunStatus::running:
      return "running";
    case RunStatus::finished:
      return "finished";
    case RunStatus::stopped:
      return "stopped";
    case RunStatus::failed:
      return "failed";
  }
  fail("report: status {} does not exist", static_cast<int>(status));
}

// The lowest and the highest point of each stretch, in their order.
Points thinned(const Points& points) {
  if (points.size() <= most_points) return points;
  Points result;
  const size_t stretch = (2 * points.size() + most_points - 1) / most_points;
  for (size_t begin = 0; begin < points.size(); begin += stretch) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(std::min(points.size(), begin + stretch));
    auto [low, high] =
        std::minmax_element(first, last, [](const auto& a, const auto& b) { return a.second < b.second; });
    if (high < low) std::swap(low, high);
    result.push_back(*low);
    if (high != low) result.push_back(*high);
  }
  return result;
}

Json series(std::string_view name, const Points& points) {
  Json list = Json::array();
  for (const auto& [step, value] : thinned(points)) list.push_back({step, json_number(static_cast<float>(value))});
  return {{"name", name}, {"points", std::move(list)}};
}

std::string duration(double seconds) {
  const auto total = static_cast<int64_t>(seconds + 0.5);
  return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
}

// Everything that the lines of a metrics.jsonl say, by what it is said of.
class Curves {
 public:
  Curves(std::string_view text, std::string_view source) {
    size_t begin = 0;
    int64_t number = 1;
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin), ++number) {
      const std::string place = fmt::format("{}:{}", source, number);
      const Json line = parse_json(text.substr(begin, end - begin), place);
      add(JsonView(line, place));
      begin = end + 1;
    }
  }

  Json charts() const {
    Json charts = Json::array();
    Json loss = Json::array();
    if (!loss_.empty()) loss.push_back(series("training", loss_));
    if (evaluations_.contains("loss")) loss.push_back(series("validation", evaluations_.at("loss")));
    if (!loss.empty()) charts.push_back({{"title", "Loss"}, {"unit", "nats"}, {"series", loss}});
    add_chart(charts, "Learning rate", "", "learning rate", learning_rate_);
    add_chart(charts, "Gradient norm", "before clipping", "norm", norm_);
    add_chart(charts, "Throughput", "tokens per second", "throughput", throughput_);
    for (const auto& [name, points] : evaluations_) {
      if (name == "loss") continue;
      std::string words = name;
      std::ranges::replace(words, '_', ' ');
      add_chart(charts, "Validation: " + words, "", words, points);
    }
    return charts;
  }

  Json samples() const {
    const size_t skipped = samples_.size() - std::min(samples_.size(), most_sample_sets);
    return Json(std::vector<Json>(samples_.begin() + static_cast<std::ptrdiff_t>(skipped), samples_.end()));
  }

  Json summary(int64_t steps) const {
    Json summary = Json::array({{"Step", fmt::format("{} of {}", last_step_, steps)}});
    if (!loss_.empty()) summary.push_back({"Training loss", fmt::format("{:.4g}", loss_.back().second)});
    if (evaluations_.contains("loss")) {
      const Points& valid = evaluations_.at("loss");
      const auto best = std::ranges::min_element(valid, {}, &Points::value_type::second);
      summary.push_back({"Validation loss", fmt::format("{:.4g}", valid.back().second)});
      summary.push_back({"Best validation loss", fmt::format("{:.4g} at step {}", best->second, best->first)});
    }
    summary.push_back({"Tokens", fmt::format("{}", tokens_)});
    summary.push_back({"Training time", duration(seconds_)});
    if (last_step_ > 0 && last_step_ < steps) {
      const double left = seconds_ / static_cast<double>(last_step_) * static_cast<double>(steps - last_step_);
      summary.push_back({"Time left", duration(left)});
    }
    return summary;
  }

 private:
  void add(const JsonView& line) {
    const auto step = line.get<int64_t>("step");
    if (line.has("loss")) {
      last_step_ = step;
      loss_.emplace_back(step, line.get<double>("loss"));
      learning_rate_.emplace_back(step, line.get<double>("learning_rate"));
      norm_.emplace_back(step, line.get<double>("grad_norm"));
      const auto tokens = line.get<int64_t>("tokens");
      const auto seconds = line.get<double>("seconds");
      if (seconds > seconds_)
        throughput_.emplace_back(step, static_cast<double>(tokens - tokens_) / (seconds - seconds_));
      tokens_ = tokens;
      seconds_ = seconds;
    }
    if (line.has("valid")) {
      const JsonView figures = line.at("valid");
      for (const std::string& name : figures.keys()) {
        if (std::ranges::find(uncharted, name) == uncharted.end() && figures.at(name).value().is_number()) {
          evaluations_[name].emplace_back(step, figures.get<double>(name));
        }
      }
    }
    if (line.has("samples")) samples_.push_back({{"step", step}, {"samples", line.at("samples").value()}});
  }

  static void add_chart(Json& charts, std::string_view title, std::string_view unit, std::string_view name,
                        const Points& points) {
    if (!points.empty()) charts.push_back({{"title", title}, {"unit", unit}, {"series", {series(name, points)}}});
  }

  Points loss_, learning_rate_, norm_, throughput_;
  std::map<std::string, Points> evaluations_;
  std::vector<Json> samples_;
  int64_t last_step_ = 0;
  int64_t tokens_ = 0;
  double seconds_ = 0.0;
};

}  // namespace

Json report_data(std::string_view metrics, std::string_view source, int64_t steps) {
  const Curves curves(metrics, source);
  return {{"charts", curves.charts()}, {"samples", curves.samples()}, {"summary", curves.summary(steps)}};
}

RunReport::RunReport(fs::path run, std::string_view task, int64_t steps)
    : run_(std::move(run)), task_(task), steps_(steps) {}

void RunReport::write(RunStatus status, ReportWrite when) {
  const auto begin = std::chrono::steady_clock::now();
  if (when == ReportWrite::if_due && begin < next_) return;
  const fs::path metrics = run_ / "metrics.jsonl";
  const std::string name = fs::absolute(run_).lexically_normal().filename().string();
  Json data = report_data(read_file(metrics), metrics.string(), steps_);
  data["name"] = name;
  data["task"] = task_;
  data["status"] = name_of(status);
  data["updated"] = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::time(nullptr)));
  data["recipe"] = read_file(run_ / "recipe.toml");
  write_file_atomically(run_ / "report.html", make_page({.title = name + " · weft",
                                                         .style = embedded::report_css,
                                                         .body = embedded::report_html,
                                                         .data = format_json(data, JsonStyle::compact),
                                                         .script = embedded::report_js}));
  const auto end = std::chrono::steady_clock::now();
  next_ = end + std::max<std::chrono::steady_clock::duration>(std::chrono::seconds(5), 20 * (end - begin));
}

}  // namespace weft::train
