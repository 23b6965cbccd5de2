#include "apps/weft/line_batches.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "weft/base/error.h"

namespace weft::app {

namespace {

constexpr size_t batch_bytes = size_t{4} << 20;
constexpr size_t read_bytes = size_t{256} << 10;
constexpr size_t task_bytes = size_t{64} << 10;

bool is_waiting_for_input() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) == 0;
}

// Consecutive lines, with what they gave.
struct Task {
  size_t begin;
  size_t end;
  std::string output;
  std::optional<std::string> error;
};

std::vector<Task> share_out(const std::vector<std::string_view>& lines) {
  std::vector<Task> tasks;
  size_t bytes = task_bytes;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (bytes >= task_bytes) {
      tasks.push_back({i, i, {}, {}});
      bytes = 0;
    }
    tasks.back().end = i + 1;
    bytes += lines[i].size() + 1;
  }
  return tasks;
}

}  // namespace

bool LineBatches::read_more() {
  const size_t before = text_.size();
  text_.resize(before + read_bytes);
  ssize_t count;
  do {
    count = ::read(STDIN_FILENO, text_.data() + before, read_bytes);
  } while (count < 0 && errno == EINTR);
  require<IoError>(count >= 0, "cannot read standard input: {}", std::strerror(errno));
  text_.resize(before + static_cast<size_t>(count));
  return count > 0;
}

bool LineBatches::next() {
  text_.erase(0, used_);
  used_ = 0;
  first_number_ += static_cast<int64_t>(lines_.size());
  lines_.clear();
  size_t searched = 0;
  size_t last_end = std::string::npos;
  while (!ended_ && (last_end == std::string::npos || (text_.size() < batch_bytes && !is_waiting_for_input()))) {
    ended_ = !read_more();
    const size_t found = std::string_view(text_).substr(searched).rfind('\n');
    if (found != std::string_view::npos) last_end = searched + found;
    searched = text_.size();
  }
  used_ = ended_ ? text_.size() : last_end + 1;
  std::string_view rest = std::string_view(text_).substr(0, used_);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines_.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return !lines_.empty();
}

void answer_lines(FunctionRef<void(std::string_view line, int64_t number, std::string& output)> answer) {
  LineBatches batches;
  while (batches.next()) {
    std::vector<Task> tasks = share_out(batches.lines());
    parallel_tasks(static_cast<int64_t>(tasks.size()), [&](int64_t index) {
      Task& task = tasks[static_cast<size_t>(index)];
      for (size_t i = task.begin; i < task.end; ++i) {
        const int64_t number = batches.first_number() + static_cast<int64_t>(i);
        const size_t before = task.output.size();
        try {
          answer(batches.lines()[i], number, task.output);
        } catch (const Error& error) {
          task.output.resize(before);
          task.error = fmt::format("standard input, line {}: {}", number, error.what());
          return;
        }
      }
    });
    for (const Task& task : tasks) {
      print_all(task.output);
      if (task.error) fail("{}", *task.error);
    }
    std::fflush(stdout);
  }
}

void print_all(std::string_view text) {
  require<IoError>(std::fwrite(text.data(), 1, text.size(), stdout) == text.size(), "cannot write the output: {}",
                   std::strerror(errno));
}

}  // namespace weft::app
