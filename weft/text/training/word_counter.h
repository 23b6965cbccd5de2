#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/threads.h"
#include "weft/text/training/word_table.h"

namespace weft::text {

// Cuts a line into the words that a model is trained on, calling `emit` for each in order. Several threads call it at
// once. A word that is emitted need live only until emit returns.
using WordSplitter = std::function<void(std::string_view line, FunctionRef<void(std::string_view word)> emit)>;

struct WordCounterConfig {
  // Bytes of text that are read at once and make up one task; a longer line is cut, at the last white space before that
  // or, without any, between two characters.
  size_t block_bytes = size_t{1} << 20;
  // Longer words are cut here. It bounds the work that one hostile line can cause.
  size_t max_word_characters = 1024;
  // The counts take about this many bytes at most: above it, the rarest words are forgotten, those seen once first.
  uint64_t max_table_bytes = uint64_t{1} << 30;
};

// Counts words of texts of any size, with all threads, in bounded memory: besides the counts, 16 blocks of text and
// their words. The result depends on the texts and their order, not on the number of threads.
class WordCounter {
 public:
  explicit WordCounter(WordSplitter split, const WordCounterConfig& config = {});

  // The splitter gets each line with its line end (0x0A); the last one may have none.
  void add_text(std::string_view text);
  void add_file(const std::filesystem::path& path);  // IoError
  // The counts, by the bytes of the word. The counter is then empty.
  std::vector<WordCount> finish();

  uint64_t bytes_read() const { return bytes_read_; }
  // Words seen up to this often may have been forgotten; 0 if none was.
  uint64_t forgotten_up_to() const { return forgotten_up_to_; }

 private:
  // Both are fixed numbers, so that nothing depends on the number of threads.
  static constexpr size_t round_blocks = 16;
  static constexpr size_t shards = 16;

  void add_block(std::string_view text);
  void run_round();
  void count_block(std::string_view text, WordTable& table) const;
  void count_word(std::string_view word, WordTable& table) const;
  void keep_in_bounds();
  size_t cut_point(std::string_view text) const;

  WordSplitter split_;
  WordCounterConfig config_;
  std::vector<std::string> blocks_;  // read, not yet counted
  std::array<WordTable, round_blocks> block_tables_;
  std::array<WordTable, shards> tables_;
  uint64_t bytes_read_ = 0;
  uint64_t forgotten_up_to_ = 0;
};

}  // namespace weft::text
