#include <algorithm>
#include <array>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/suggest.h"
#include "weft/text/encoding.h"
#include "weft/text/limits.h"

namespace weft::text {

namespace {

constexpr std::array<std::string_view, 3> strategy_names = {"LongestFirst", "OnlyFirst", "OnlySecond"};
constexpr std::array<std::string_view, 2> side_names = {"Left", "Right"};

template <size_t n>
size_t read_name(const JsonView& name, const std::array<std::string_view, n>& names) {
  const auto value = name.as<std::string>();
  const auto found = std::find(names.begin(), names.end(), value);
  if (found == names.end())
    fail<FormatError>("{}: unknown value \"{}\"{}", name.place(), value, suggestion(value, names));
  return static_cast<size_t>(found - names.begin());
}

Side read_side(const JsonView& description) {
  if (!description.has("direction")) return Side::right;
  return static_cast<Side>(read_name(description.at("direction"), side_names));
}

int64_t read_count(const JsonView& description, std::string_view key, int64_t fallback) {
  const auto count = description.get_or<int64_t>(key, fallback);
  if (count < 0 || count > (int64_t{1} << 31)) description.at(key).expected("a number of tokens");
  return count;
}

// Keeps `length` entries at one end and makes windows of the rest.
void cut(Encoding& encoding, size_t length, const Truncation& truncation) {
  const size_t size = encoding.size();
  if (length >= size) return;
  if (length == 0) {
    Encoding all = std::exchange(encoding, {});
    encoding.overflowing.push_back(std::move(all));
    return;
  }
  const auto stride = static_cast<size_t>(truncation.stride);
  require(stride < length, "truncation: expected a stride below the {} tokens that are left for text, got {}", length,
          stride);
  const size_t step = length - stride;
  const size_t windows_needed = (size - length + step - 1) / step + 1;
  const size_t copies = (length + step - 1) / step;  // of each token
  require_room_for_windows(windows_needed, copies * encoding.bytes(), encoding.bytes());
  std::vector<Encoding> windows;
  if (truncation.direction == Side::right) {
    for (size_t begin = 0;; begin += step) {
      const size_t end = std::min(begin + length, size);
      windows.push_back(encoding.slice(begin, end));
      if (end == size) break;
    }
  } else {
    for (size_t end = size;; end -= step) {
      const size_t begin = end > length ? end - length : 0;
      windows.push_back(encoding.slice(begin, end));
      if (begin == 0) break;
    }
  }
  encoding = std::move(windows.front());
  encoding.overflowing.assign(std::make_move_iterator(windows.begin() + 1), std::make_move_iterator(windows.end()));
}

// What both texts are cut to: the shorter stays whole if the longer can make room, else they share.
std::pair<size_t, size_t> shared_lengths(size_t first, size_t second, size_t max_length) {
  const bool swapped = first > second;
  size_t shorter = std::min(first, second);
  size_t longer = shorter > max_length ? shorter : std::max(shorter, max_length - shorter);
  if (shorter + longer > max_length) {
    shorter = max_length / 2;
    longer = shorter + max_length % 2;
  }
  return swapped ? std::pair(longer, shorter) : std::pair(shorter, longer);
}

}  // namespace

Truncation read_truncation(const JsonView& description) {
  description.allow_only({"direction", "max_length", "strategy", "stride"});
  Truncation truncation;
  truncation.max_length = read_count(description, "max_length", truncation.max_length);
  truncation.stride = read_count(description, "stride", 0);
  truncation.direction = read_side(description);
  if (description.has("strategy")) {
    truncation.strategy = static_cast<TruncationStrategy>(read_name(description.at("strategy"), strategy_names));
  }
  return truncation;
}

Padding read_padding(const JsonView& description) {
  description.allow_only({"strategy", "direction", "pad_to_multiple_of", "pad_id", "pad_type_id", "pad_token"});
  Padding padding;
  const JsonView strategy = description.at("strategy");
  if (strategy.value().is_object()) {
    strategy.allow_only({"Fixed"});
    padding.length = read_count(strategy, "Fixed", 0);
  } else if (strategy.as<std::string>() != "BatchLongest") {
    strategy.expected("\"BatchLongest\" or {\"Fixed\": length}");
  }
  padding.direction = read_side(description);
  padding.multiple_of = read_count(description, "pad_to_multiple_of", 0);
  padding.id = description.get_or<int>("pad_id", 0);
  padding.type_id = description.get_or<int>("pad_type_id", 0);
  padding.token = description.get_or<std::string>("pad_token", padding.token);
  if (padding.token.size() > longest_name) {
    description.at("pad_token").expected(fmt::format("at most {} bytes", longest_name));
  }
  return padding;
}

Json to_json(const Truncation& truncation) {
  return {{"direction", side_names[static_cast<size_t>(truncation.direction)]},
          {"max_length", truncation.max_length},
          {"strategy", strategy_names[static_cast<size_t>(truncation.strategy)]},
          {"stride", truncation.stride}};
}

Json to_json(const Padding& padding) {
  return {{"strategy", padding.length ? Json({{"Fixed", *padding.length}}) : Json("BatchLongest")},
          {"direction", side_names[static_cast<size_t>(padding.direction)]},
          {"pad_to_multiple_of", padding.multiple_of > 0 ? Json(padding.multiple_of) : Json(nullptr)},
          {"pad_id", padding.id},
          {"pad_type_id", padding.type_id},
          {"pad_token", padding.token}};
}

void truncate(Encoding& first, Encoding* second, const Truncation& truncation) {
  require(truncation.max_length >= 0 && truncation.stride >= 0,
          "truncation: expected a length and a stride from 0 on, got {} and {}", truncation.max_length,
          truncation.stride);
  const auto max_length = static_cast<size_t>(truncation.max_length);
  if (max_length == 0) {
    cut(first, 0, truncation);
    if (second != nullptr) cut(*second, 0, truncation);
    return;
  }
  const size_t total = first.size() + (second != nullptr ? second->size() : 0);
  if (total <= max_length) return;
  if (truncation.strategy == TruncationStrategy::longest_first) {
    if (second == nullptr) {
      cut(first, max_length, truncation);
      return;
    }
    const auto [first_length, second_length] = shared_lengths(first.size(), second->size(), max_length);
    cut(first, first_length, truncation);
    cut(*second, second_length, truncation);
    return;
  }
  Encoding* target = truncation.strategy == TruncationStrategy::only_first ? &first : second;
  require(target != nullptr, "truncation: only the second text may be cut, and there is none");
  const size_t surplus = total - max_length;
  require(target->size() > surplus,
          "truncation: {} tokens are too many for {}, and the text that may be cut has only {}", total, max_length,
          target->size());
  cut(*target, target->size() - surplus, truncation);
}

}  // namespace weft::text
