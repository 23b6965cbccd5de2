#include "apps/weft/input_lines.h"

#include <iostream>
#include <vector>

namespace weft::app {

void for_lines(const std::optional<std::string>& text, size_t group, const OnLines& on_lines) {
  if (text) {
    on_lines(std::span(&*text, 1), 1);
    return;
  }
  std::vector<std::string> lines;
  int64_t first = 1;
  const auto flush = [&] {
    if (!lines.empty()) on_lines(lines, first);
    first += static_cast<int64_t>(lines.size());
    lines.clear();
  };
  for (std::string line; std::getline(std::cin, line);) {
    lines.push_back(std::move(line));
    if (lines.size() == group) flush();
  }
  flush();
}

}  // namespace weft::app
