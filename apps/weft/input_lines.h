#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace weft::app {

// Text from a flag, or else every line of standard input, in groups of up to `group` lines that are worked on together.
// `first_line`: the number of a group's first line, from 1. Groups come in order.
using OnLines = std::function<void(std::span<const std::string> lines, int64_t first_line)>;
void for_lines(const std::optional<std::string>& text, size_t group, const OnLines& on_lines);

}  // namespace weft::app
