#include "weft/train/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/train/run_fixture.h"

namespace weft::train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kMetrics =
    R"({"step":2,"loss":3.0,"learning_rate":0.001,"grad_norm":1.5,"tokens":200,"seconds":2.0}
{"step":4,"loss":2.0,"learning_rate":0.002,"grad_norm":0.5,"tokens":500,"seconds":3.0}
{"step":4,"valid":{"loss":2.5,"perplexity":12.2,"tokens":70,"exact":3},"samples":[{"input":"a","output":"b"}]}
)";

const Json& chart(const Json& data, const std::string& title) {
  for (const Json& candidate : data.at("charts")) {
    if (candidate.at("title") == title) return candidate;
  }
  throw std::runtime_error("there is no chart " + title);
}

TEST(ReportData, HasTheCurvesOfTheMetrics) {
  const Json data = report_data(kMetrics, "metrics.jsonl", 10);
  const Json& loss = chart(data, "Loss").at("series");
  ASSERT_EQ(loss.size(), 2u);
  EXPECT_EQ(loss.at(0).at("points"), (Json{{2, 3.0}, {4, 2.0}}));
  EXPECT_EQ(loss.at(1).at("name"), "validation");
  EXPECT_EQ(loss.at(1).at("points"), (Json::array({Json{4, 2.5}})));
  EXPECT_EQ(chart(data, "Learning rate").at("series").at(0).at("points"), (Json{{2, 0.001}, {4, 0.002}}));
  EXPECT_EQ(chart(data, "Gradient norm").at("series").at(0).at("points"), (Json{{2, 1.5}, {4, 0.5}}));
  EXPECT_EQ(chart(data, "Throughput").at("series").at(0).at("points"), (Json{{2, 100.0}, {4, 300.0}}));
  EXPECT_EQ(chart(data, "Validation: exact").at("series").at(0).at("points"), (Json::array({Json{4, 3.0}})));
  EXPECT_THROW(chart(data, "Validation: tokens"), std::runtime_error);
  EXPECT_EQ(data.at("samples"), (Json::array({{{"step", 4}, {"samples", {{{"input", "a"}, {"output", "b"}}}}}})));
  EXPECT_EQ(data.at("summary").at(0), (Json{"Step", "4 of 10"}));
  EXPECT_THAT(data.at("summary").dump(), HasSubstr(R"(["Time left","0:00:05"])"));
}

TEST(ReportData, ThinsLongSeriesWithoutLosingTheirOutliers) {
  std::string metrics;
  for (int step = 1; step <= 20000; ++step) {
    metrics += fmt::format(
        "{{\"step\":{},\"loss\":{},\"learning_rate\":0.1,\"grad_norm\":1.0,\"tokens\":{},\"seconds\":{}.5}}\n", step,
        step == 12345 ? 99.0 : 1.0, step, step);
  }
  const Json points = chart(report_data(metrics, "metrics.jsonl", 20000), "Loss").at("series").at(0).at("points");
  EXPECT_LE(points.size(), 1000u);
  EXPECT_GE(points.size(), 450u);
  EXPECT_THAT(points.dump(), HasSubstr("[12345,99.0]"));
}

TEST(ReportData, AnEmptyLogHasNoCurves) {
  const Json data = report_data("", "metrics.jsonl", 10);
  EXPECT_TRUE(data.at("charts").empty());
  EXPECT_EQ(data.at("summary").at(0), (Json{"Step", "0 of 10"}));
}

class ReportTest : public RunFixture {};

TEST_F(ReportTest, ARunHasItsPageAsItGoesOnAndAtItsEnd) {
  std::string first;
  train(new_run("a"), {.on_start = {},
                       .on_step = {},
                       .on_evaluation = {},
                       .on_checkpoint =
                           [&](const std::filesystem::path&) {
                             if (first.empty()) first = content("a/report.html");
                           },
                       .stop_requested = {}});
  EXPECT_THAT(first, HasSubstr("\"status\":\"running\""));
  const std::string page = content("a/report.html");
  EXPECT_THAT(page, HasSubstr("\"status\":\"finished\""));
  EXPECT_THAT(page, HasSubstr("Step\",\"12 of 12\""));
  EXPECT_THAT(page, HasSubstr("warmup_steps = 3"));
  EXPECT_THAT(page, HasSubstr("\"samples\":[{\"samples\":[{\"input\":"));
  for (const char* request : {"src=", "href=", "url("}) EXPECT_THAT(page, Not(HasSubstr(request)));
}

TEST_F(ReportTest, AStoppedRunSaysSo) {
  int steps = 0;
  train(new_run("a"), {.on_start = {}, .on_step = {}, .on_evaluation = {}, .on_checkpoint = {}, .stop_requested = [&] {
                         return ++steps == 3;
                       }});
  EXPECT_THAT(content("a/report.html"), HasSubstr("\"status\":\"stopped\""));
}

}  // namespace
}  // namespace weft::train
