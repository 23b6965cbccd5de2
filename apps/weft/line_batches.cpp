#include "apps/weft/line_batches.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <mutex>

#include "weft/base/error.h"

namespace weft::app {

namespace {

constexpr size_t block_bytes = size_t{128} << 10;
constexpr size_t most_output_kept = size_t{16} << 20;  // of a block whose turn it is not
constexpr int poll_milliseconds = 100;

// Some lines of the input, each with its line end, if it has one.
struct Block {
  std::string text;
  int64_t first_line = 0;
  int64_t number = 0;  // among the blocks
};

// Standard input in blocks: as much as is there, up to a block's size, or one longer line.
class BlockReader {
 public:
  // False at the end of the input, or when `stopped` becomes true. IoError. For one thread at a time.
  bool next(Block& block, const std::atomic<bool>& stopped) {
    block.text.swap(rest_);
    rest_.clear();
    block.first_line = next_line_;
    block.number = next_block_++;
    size_t searched = 0;
    size_t end = std::string::npos;  // of the last whole line
    while (!ended_ && end == std::string::npos) {
      if (!wait(stopped)) return false;
      ended_ = !read_more(block.text);
      const size_t found = std::string_view(block.text).substr(searched).rfind('\n');
      if (found != std::string_view::npos) end = searched + found + 1;
      searched = block.text.size();
    }
    if (!ended_) {
      rest_.assign(block.text, end);
      block.text.resize(end);
    }
    next_line_ += std::count(block.text.begin(), block.text.end(), '\n');
    return !block.text.empty();
  }

 private:
  bool wait(const std::atomic<bool>& stopped) {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (!stopped) {
      if (::poll(&input, 1, poll_milliseconds) != 0) return true;  // what is wrong, reading says
    }
    return false;
  }

  bool read_more(std::string& text) {  // false at the end of the input
    const size_t before = text.size();
    text.resize(before + block_bytes);
    ssize_t count;
    do {
      count = ::read(STDIN_FILENO, text.data() + before, block_bytes);
    } while (count < 0 && errno == EINTR);
    const int error = errno;
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    require<IoError>(count >= 0, "cannot read standard input: {}", std::strerror(error));
    return count > 0;
  }

  std::string rest_;  // of the input read so far, behind the last whole line
  int64_t next_line_ = 1;
  int64_t next_block_ = 0;
  bool ended_ = false;
};

// What the threads that answer lines share.
class LineAnswers {
 public:
  using Answer = FunctionRef<void(std::string_view line, int64_t number, std::string& output)>;

  explicit LineAnswers(Answer answer) : answer_(answer) {}

  // The work of one thread.
  void run() {
    Block block;
    std::string output;
    for (bool more = true; more && !stopped_;) {
      output.clear();
      std::exception_ptr error;
      try {
        more = take(block);
        if (more) answer_block(block, output);
      } catch (...) {
        error = std::current_exception();
      }
      if (more) print_in_turn(block.number, output, error);
    }
  }

 private:
  bool take(Block& block) {
    const std::lock_guard lock(input_mutex_);
    return input_.next(block, stopped_);
  }

  void answer_block(const Block& block, std::string& output) {
    std::string_view rest = block.text;
    for (int64_t number = block.first_line; !rest.empty(); ++number) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      const size_t before = output.size();
      try {
        answer_(rest.substr(0, end), number, output);
      } catch (const Error& error) {
        output.resize(before);
        fail("standard input, line {}: {}", number, error.what());
      }
      if (output.size() > most_output_kept) print_begun(block.number, output);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }

  // True when all blocks before are printed, false when a thread has failed.
  bool await_turn(std::unique_lock<std::mutex>& lock, int64_t number) {
    turn_changed_.wait(lock, [&] { return turn_ == number || stopped_; });
    return !stopped_;
  }

  // Padding makes large answers of short lines.
  void print_begun(int64_t number, std::string& output) {
    std::unique_lock lock(output_mutex_);
    if (await_turn(lock, number)) print_all(output);
    output.clear();
  }

  void print_in_turn(int64_t number, const std::string& output, std::exception_ptr error) {
    std::unique_lock lock(output_mutex_);
    if (!await_turn(lock, number)) return;
    try {
      print_all(output);
      std::fflush(stdout);
      if (error) std::rethrow_exception(error);
    } catch (...) {
      stopped_ = true;
      turn_changed_.notify_all();
      throw;
    }
    ++turn_;
    turn_changed_.notify_all();
  }

  Answer answer_;
  std::mutex input_mutex_;
  BlockReader input_;
  std::mutex output_mutex_;
  std::condition_variable turn_changed_;
  int64_t turn_ = 0;  // the block that is to be printed next
  std::atomic<bool> stopped_ = false;
};

}  // namespace

void answer_lines(FunctionRef<void(std::string_view line, int64_t number, std::string& output)> answer) {
  LineAnswers answers(answer);
  parallel_tasks(thread_count(), [&](int64_t) { answers.run(); });
}

void print_all(std::string_view text) {
  require<IoError>(std::fwrite(text.data(), 1, text.size(), stdout) == text.size(), "cannot write the output: {}",
                   std::strerror(errno));
}

}  // namespace weft::app
