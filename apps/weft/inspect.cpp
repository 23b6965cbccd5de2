#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "apps/weft/commands.h"
#include "apps/weft/options.h"
#include "weft/base/json.h"
#include "weft/io/model_weights.h"
#include "weft/models/any_model.h"

namespace weft::app {

namespace {

struct InspectOptions {
  CommonOptions common;
  std::string run;
};

struct Row {
  std::string name;
  Shape shape;
  DType dtype;
  int64_t count;
};

// "blocks.0.attention.qkv.weight" belongs to "blocks.0.attention", "decoder.blocks.0.attention.qkv.weight" to
// "decoder.blocks.0.attention".
std::string module_of(const std::string& name) {
  const size_t weight = name.rfind('.');
  if (weight == std::string::npos) return name;
  const std::string layer = name.substr(0, weight);
  const size_t blocks = layer.find("blocks.");
  if (blocks == std::string::npos) return layer;
  const bool has_part = std::ranges::count(layer.substr(blocks), '.') > 2;
  return has_part ? layer.substr(0, layer.rfind('.')) : layer;
}

std::string mebibytes(int64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

std::vector<Row> read_rows(const std::string& folder) {
  // Loading checks that every tensor the configuration asks for is there, in its shape.
  const models::AnyModel model = models::load_model(folder);
  const ModelWeights weights(folder);
  std::vector<Row> rows;
  for (const Parameter& parameter : model.parameters()) {
    const Tensor tensor = weights.tensor(parameter.name());
    rows.push_back({parameter.name(), tensor.shape(), tensor.dtype(), tensor.numel()});
  }
  return rows;
}

// Bytes that the numbers of the model take: served (f32 or bf16), and trained (values, gradient, two moments of AdamW,
// in f32).
Json memory_of(int64_t parameters) {
  return {{"f32_bytes", 4 * parameters}, {"bf16_bytes", 2 * parameters}, {"training_bytes", 16 * parameters}};
}

void print_json(const std::vector<Row>& rows, int64_t total, const Json& config) {
  Json modules = Json::object();
  Json parameters = Json::array();
  for (const Row& row : rows) {
    parameters.push_back({{"name", row.name},
                          {"shape", std::vector<int64_t>(row.shape.begin(), row.shape.end())},
                          {"dtype", std::string(name_of(row.dtype))},
                          {"count", row.count}});
    Json& module = modules[module_of(row.name)];
    module = (module.is_null() ? int64_t{0} : module.get<int64_t>()) + row.count;
  }
  const Json result = {{"config", config},
                       {"parameters", parameters},
                       {"modules", modules},
                       {"total", total},
                       {"memory", memory_of(total)}};
  fmt::print("{}\n", format_json(result, JsonStyle::compact));
}

void print_table(const std::vector<Row>& rows, int64_t total, const Json& config) {
  for (const auto& [key, value] : config.items()) fmt::print("{:<20} {}\n", key, value.dump());
  std::map<std::string, int64_t> module_counts;
  size_t width = 9;
  for (const Row& row : rows) {
    module_counts[module_of(row.name)] += row.count;
    width = std::max(width, row.name.size() + 2);
  }
  fmt::print("\n{:<{}} {:<16} {:<6} {:>12}\n", "parameter", width, "shape", "dtype", "count");
  std::set<std::string> printed;
  for (const Row& row : rows) {
    const std::string module = module_of(row.name);
    if (printed.insert(module).second) {
      fmt::print("{:<{}} {:<16} {:<6} {:>12}\n", module, width, "", "", module_counts[module]);
    }
    fmt::print("  {:<{}} {:<16} {:<6} {:>12}\n", row.name, width - 2, row.shape.to_string(), name_of(row.dtype),
               row.count);
  }
  const Json memory = memory_of(total);
  fmt::print("\n{} parameters · {} in f32 · {} in bf16 · {} with gradients and optimizer\n", total,
             mebibytes(memory["f32_bytes"]), mebibytes(memory["bf16_bytes"]), mebibytes(memory["training_bytes"]));
}

void run_inspect(const InspectOptions& options) {
  const std::vector<Row> rows = read_rows(options.run);
  int64_t total = 0;
  for (const Row& row : rows) total += row.count;
  const Json config = models::load_config(options.run).to_json();
  if (options.common.json) {
    print_json(rows, total, config);
  } else {
    print_table(rows, total, config);
  }
}

}  // namespace

void add_inspect(CLI::App& program) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* inspect = program.add_subcommand("inspect", "Show a model's settings and its parameters by module");
  inspect->add_option("run", options->run, "Run folder or model folder")->required();
  add_json(*inspect, options->common);
  inspect->callback([options] { run_inspect(*options); });
}

}  // namespace weft::app
