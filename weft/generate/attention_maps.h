#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/json.h"
#include "weft/tensor/tensor.h"

namespace weft::generate {

// The weights of one attention layer for one text.
struct AttentionMap {
  std::string layer;    // the layer's path in the model
  std::string kind;     // "causal", "bidirectional" or "cross"
  std::string queries;  // the name of the sequence whose tokens ask, and of the one that is attended to
  std::string keys;
  Tensor weights;  // (h, q, k) f32
};

// All attention maps of a model for one text (or a source and a target), and the tokens they speak of.
struct AttentionMaps {
  std::string model;
  std::string architecture{};
  std::vector<std::pair<std::string, std::vector<std::string>>> sequences{};  // name, tokens
  std::vector<AttentionMap> maps{};
};

// One JSON object:
//   {"model": "…", "architecture": "…",
//    "sequences": {"text": ["The", " cat"]},
//    "maps": [{"layer": "blocks.0.attention", "kind": "causal", "queries": "text", "keys": "text", "heads": 8,
//              "weights": [[[1, 0], [0.25, 0.75]], …]}, …]}
// weights[head][query][key], rounded to 5 digits. weft::Error if a map does not fit its sequences; IoError.
void write_attention_json(const std::filesystem::path& path, const AttentionMaps& maps);

// One self-contained HTML file for exploring the maps. Weights are kept as 16-bit fractions of 1, for causal maps only
// those that can differ from 0: about 1.3 MB for a layer of 8 heads over 256 tokens, half of it if causal.
void write_attention_page(const std::filesystem::path& path, const AttentionMaps& maps);

}  // namespace weft::generate
