#include "weft/train/metrics.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "weft/base/error.h"
#include "weft/base/files.h"

namespace weft::train {

namespace {

// The lines of steps up to `last_step`.
std::string kept_lines(const std::string& text, const std::string& source, int64_t last_step) {
  std::string kept;
  size_t begin = 0;
  int64_t number = 1;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin), ++number) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::string place = fmt::format("{}:{}", source, number);
    const Json document = parse_json(line, place);
    if (JsonView(document, place).get<int64_t>("step") <= last_step) kept.append(line).append("\n");
    begin = end + 1;
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, int64_t last_step) : path_(path) {
  std::error_code ignored;
  const std::string before = std::filesystem::exists(path, ignored) ? read_file(path) : std::string();
  write_file_atomically(path, kept_lines(before, path.string(), last_step));
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  require<IoError>(descriptor_ >= 0, "cannot write {}: {}", path.string(), std::strerror(errno));
}

MetricsLog::~MetricsLog() { ::close(descriptor_); }

void MetricsLog::write(const Json& line) {
  const std::string text = format_json(line, JsonStyle::compact) + "\n";
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(descriptor_, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    require<IoError>(count >= 0, "cannot write {}: {}", path_.string(), std::strerror(errno));
    written += static_cast<size_t>(count);
  }
}

void MetricsLog::sync() {
  require<IoError>(::fsync(descriptor_) == 0, "cannot write {}: {}", path_.string(), std::strerror(errno));
}

}  // namespace weft::train
