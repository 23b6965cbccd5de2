#include "weft/generate/attention_maps.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "weft/base/error.h"
#include "weft/base/files.h"
#include "weft/io/page.h"
#include "weft/text/utf8.h"

namespace weft::embedded {
extern const std::string_view attention_css, attention_html, attention_js;
}

namespace weft::generate {

namespace {

const std::vector<std::string>& tokens_of(const AttentionMaps& maps, const std::string& name) {
  const auto found = std::ranges::find(maps.sequences, name, &std::pair<std::string, std::vector<std::string>>::first);
  require(found != maps.sequences.end(), "attention maps: there is no sequence \"{}\"", name);
  return found->second;
}

void check(const AttentionMaps& maps) {
  require(!maps.maps.empty(), "attention maps: there are none; the model has no attention layer that keeps weights");
  for (const AttentionMap& map : maps.maps) {
    const auto q = static_cast<int64_t>(tokens_of(maps, map.queries).size());
    const auto k = static_cast<int64_t>(tokens_of(maps, map.keys).size());
    require(map.weights.defined() && map.weights.rank() == 3 && map.weights.dim(1) == q && map.weights.dim(2) == k,
            "attention maps: {} has weights {}, expected (heads, {}, {})", map.layer,
            map.weights.defined() ? map.weights.shape() : Shape{}, q, k);
  }
}

// What both forms say of a map, without its weights.
Json description(const AttentionMap& map) {
  return {{"layer", map.layer},
          {"kind", map.kind},
          {"queries", map.queries},
          {"keys", map.keys},
          {"heads", map.weights.dim(0)}};
}

Json heading(const AttentionMaps& maps) {
  Json json = {{"model", maps.model}, {"architecture", maps.architecture}, {"sequences", Json::object()}};
  for (const auto& [name, tokens] : maps.sequences) {
    Json list = Json::array();
    for (const std::string& token : tokens) list.push_back(text::repair_utf8(token));
    json["sequences"][name] = std::move(list);
  }
  return json;
}

// Both forms with the weights of each map written by `weights`: there may be millions, too many for a Json value each.
std::string document(const AttentionMaps& maps, const std::function<void(const AttentionMap&, std::string&)>& weights) {
  check(maps);
  std::string text = format_json(heading(maps), JsonStyle::compact);
  text.back() = ',';
  text += "\"maps\":[";
  for (const AttentionMap& map : maps.maps) {
    text += format_json(description(map), JsonStyle::compact);
    text.back() = ',';
    weights(map, text);
    text += "},";
  }
  text.back() = ']';
  return text + "}";
}

void append_numbers(const AttentionMap& map, std::string& out) {
  out += "\"weights\":[";
  const float* weight = map.weights.data<float>();
  for (int64_t head = 0; head < map.weights.dim(0); ++head) {
    out += '[';
    for (int64_t query = 0; query < map.weights.dim(1); ++query) {
      out += '[';
      for (int64_t key = 0; key < map.weights.dim(2); ++key)
        fmt::format_to(std::back_inserter(out), "{:.5g},", *weight++);
      out.back() = ']';
      out += ',';
    }
    out.back() = ']';
    out += ',';
  }
  out.back() = ']';
}

// RFC 4648.
void append_base64(std::span<const uint8_t> bytes, std::string& out) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t byte = 0; byte < 3; ++byte) group = (group << 8) | (byte < count ? bytes[i + byte] : 0u);
    for (size_t digit = 0; digit < 4; ++digit) out += digit <= count ? digits[(group >> (18 - 6 * digit)) & 63] : '=';
  }
}

void append_packed(const AttentionMap& map, std::string& out) {
  const bool causal = map.kind == "causal";
  const int64_t q = map.weights.dim(1), k = map.weights.dim(2);
  std::vector<uint8_t> bytes;
  for (int64_t row = 0; row < map.weights.dim(0) * q; ++row) {
    const int64_t keys = causal ? std::clamp<int64_t>(row % q + 1 + k - q, 0, k) : k;
    for (int64_t key = 0; key < keys; ++key) {
      const float weight = map.weights.data<float>()[row * k + key];
      const auto fraction = static_cast<uint32_t>(std::lround(std::clamp(weight, 0.0f, 1.0f) * 65535.0f));
      bytes.push_back(static_cast<uint8_t>(fraction & 0xff));
      bytes.push_back(static_cast<uint8_t>(fraction >> 8));
    }
  }
  out += fmt::format("\"causal\":{},\"packed\":\"", causal);
  append_base64(bytes, out);
  out += '"';
}

}  // namespace

void write_attention_json(const std::filesystem::path& path, const AttentionMaps& maps) {
  write_file_atomically(path, document(maps, append_numbers) + "\n");
}

void write_attention_page(const std::filesystem::path& path, const AttentionMaps& maps) {
  const std::string data = document(maps, append_packed);
  const std::string title = "Attention maps of " + maps.model;
  write_file_atomically(path, make_page({.title = title,
                                         .style = embedded::attention_css,
                                         .body = embedded::attention_html,
                                         .data = data,
                                         .script = embedded::attention_js}));
}

}  // namespace weft::generate
