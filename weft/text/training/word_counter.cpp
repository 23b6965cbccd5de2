#include "weft/text/training/word_counter.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "weft/base/error.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

size_t shard_of(uint64_t hash, size_t shards) { return (hash >> 56) % shards; }

}  // namespace

WordCounter::WordCounter(WordSplitter split, const WordCounterConfig& config)
    : split_(std::move(split)), config_(config) {
  require(config_.block_bytes >= 16, "word counter: block_bytes must be at least 16, got {}", config_.block_bytes);
  require(config_.max_word_characters >= 1, "word counter: max_word_characters must be at least 1");
}

void WordCounter::add_text(std::string_view text) {
  while (text.size() > config_.block_bytes) {
    const size_t cut = cut_point(text.substr(0, config_.block_bytes));
    add_block(text.substr(0, cut));
    text.remove_prefix(cut);
  }
  add_block(text);
}

void WordCounter::add_file(const std::filesystem::path& path) {
  std::error_code ignored;
  require<IoError>(!std::filesystem::is_directory(path, ignored), "cannot read {}: it is a folder", path.string());
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  require<IoError>(file.is_open(), "cannot open {}: {}", path.string(), std::strerror(errno));
  std::string pending;
  while (true) {
    const size_t before = pending.size();
    pending.resize(config_.block_bytes);
    file.read(pending.data() + before, static_cast<std::streamsize>(config_.block_bytes - before));
    pending.resize(before + static_cast<size_t>(file.gcount()));
    require<IoError>(!file.bad(), "cannot read {}: {}", path.string(), std::strerror(errno));
    if (pending.size() < config_.block_bytes) break;
    const size_t cut = cut_point(pending);
    add_block(std::string_view(pending).substr(0, cut));
    pending.erase(0, cut);
  }
  add_block(pending);
}

// Where a block that is full ends: after its last line, else before its last white space, else before a character.
size_t WordCounter::cut_point(std::string_view text) const {
  const size_t line_end = text.rfind('\n');
  if (line_end != std::string_view::npos) return line_end + 1;
  const size_t blank = text.find_last_of(" \t\r");
  if (blank != std::string_view::npos && blank > 0) return blank;
  size_t cut = text.size();
  for (int back = 0; back < 3 && continues_character(text[cut - 1]); ++back) --cut;
  if (static_cast<unsigned char>(text[cut - 1]) >= 0xc0) --cut;
  return cut;
}

void WordCounter::add_block(std::string_view text) {
  if (text.empty()) return;
  bytes_read_ += text.size();
  blocks_.emplace_back(text);
  if (blocks_.size() == round_blocks) run_round();
}

void WordCounter::run_round() {
  parallel_tasks(static_cast<int64_t>(blocks_.size()), [&](int64_t i) {
    const auto block = static_cast<size_t>(i);
    count_block(blocks_[block], block_tables_[block]);
  });
  parallel_tasks(shards, [&](int64_t shard) {
    for (size_t block = 0; block < blocks_.size(); ++block) {
      const WordTable& counted = block_tables_[block];
      for (const WordTable::Entry& entry : counted.entries()) {
        if (shard_of(entry.hash, shards) != static_cast<size_t>(shard)) continue;
        tables_[static_cast<size_t>(shard)].add(counted.word(entry), entry.hash, entry.count);
      }
    }
  });
  for (WordTable& table : block_tables_) table.clear();
  blocks_.clear();
  keep_in_bounds();
}

void WordCounter::count_block(std::string_view text, WordTable& table) const {
  const auto count = [&](std::string_view word) { count_word(word, table); };
  while (!text.empty()) {
    const size_t line_end = text.find('\n');
    const size_t length = line_end == std::string_view::npos ? text.size() : line_end + 1;
    split_(text.substr(0, length), count);
    text.remove_prefix(length);
  }
}

void WordCounter::count_word(std::string_view word, WordTable& table) const {
  while (word.size() > config_.max_word_characters) {
    size_t length = 0;
    for (size_t n = 0; n < config_.max_word_characters && length < word.size(); ++n) {
      length += first_code_point(word.substr(length)).length;
    }
    table.add(word.substr(0, length), 1);
    word.remove_prefix(length);
  }
  if (!word.empty()) table.add(word, 1);
}

void WordCounter::keep_in_bounds() {
  const auto total = [&] {
    uint64_t bytes = 0;
    for (const WordTable& table : tables_) bytes += table.bytes();
    return bytes;
  };
  // Down to three quarters, so that it is not done again after every round.
  if (total() <= config_.max_table_bytes) return;
  for (uint64_t limit = forgotten_up_to_ + 1; total() > config_.max_table_bytes / 4 * 3; ++limit) {
    for (WordTable& table : tables_) table.drop_up_to(limit);
    forgotten_up_to_ = limit;
  }
}

std::vector<WordCount> WordCounter::finish() {
  run_round();
  std::vector<WordCount> counts;
  for (WordTable& table : tables_) {
    for (const WordTable::Entry& entry : table.entries()) {
      counts.push_back({std::string(table.word(entry)), entry.count});
    }
    table = {};
  }
  std::ranges::sort(counts, {}, &WordCount::word);
  return counts;
}

}  // namespace weft::text
