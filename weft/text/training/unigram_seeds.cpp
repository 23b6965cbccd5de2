#include "weft/text/training/unigram_seeds.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

// All words as characters, each followed by 0. Characters are numbered from 1 by code point.
struct Corpus {
  std::vector<char32_t> alphabet;  // character number − 1 to code point
  std::vector<uint32_t> characters;
  std::vector<uint32_t> word_of;  // by position
};

Corpus make_corpus(std::span<const WordCount> words) {
  Corpus corpus;
  for (uint32_t index = 0; index < words.size(); ++index) {
    for (char32_t character : to_code_points(words[index].word)) {
      corpus.characters.push_back(character);
      corpus.word_of.push_back(index);
    }
    corpus.characters.push_back(UINT32_MAX);
    corpus.word_of.push_back(index);
  }
  require(corpus.characters.size() < UINT32_MAX, "unigram trainer: more than 2^32 characters of different words");
  corpus.alphabet.assign(corpus.characters.begin(), corpus.characters.end());
  std::ranges::sort(corpus.alphabet);
  corpus.alphabet.erase(std::unique(corpus.alphabet.begin(), corpus.alphabet.end()), corpus.alphabet.end());
  if (!corpus.alphabet.empty()) corpus.alphabet.pop_back();  // the mark of a word's end
  for (uint32_t& character : corpus.characters) {
    const auto found = std::ranges::lower_bound(corpus.alphabet, character);
    const bool end = found == corpus.alphabet.end();
    character = end ? 0 : static_cast<uint32_t>(found - corpus.alphabet.begin()) + 1;
  }
  return corpus;
}

class SubstringSearch {
 public:
  SubstringSearch(std::span<const WordCount> words, size_t max_length)
      : words_(words), corpus_(make_corpus(words)), max_length_(max_length) {
    sort_suffixes();
  }

  struct Found {
    uint32_t position;
    uint32_t length;
    uint64_t count;
  };

  // Walks the sorted suffixes with a stack of open intervals: suffixes that share their first `length` characters.
  std::vector<Found> find() const {
    std::vector<Found> found;
    std::vector<Found> open;  // position: of the first suffix
    for (size_t i = 0; i < suffixes_.size(); ++i) {
      const uint32_t shared = i == 0 ? 0 : common_length(suffixes_[i - 1], suffixes_[i]);
      uint64_t count = 0;
      uint32_t position = suffixes_[i];
      while (!open.empty() && open.back().length > shared) {
        open.back().count += count;
        count = open.back().count;
        position = open.back().position;
        keep(open.back(), found);
        open.pop_back();
      }
      if (shared > 0 && (open.empty() || open.back().length < shared)) {
        open.push_back({position, shared, count});
      } else if (!open.empty()) {
        open.back().count += count;
      }
      open_leaf(i, open);
    }
    uint64_t count = 0;
    for (; !open.empty(); open.pop_back()) {
      open.back().count += count;
      count = open.back().count;
      keep(open.back(), found);
    }
    return found;
  }

  std::string text(const Found& found) const {
    std::string text;
    for (uint32_t i = 0; i < found.length; ++i) {
      append_utf8(corpus_.alphabet[corpus_.characters[found.position + i] - 1], text);
    }
    return text;
  }

 private:
  void sort_suffixes() {
    std::vector<uint32_t> begins(corpus_.alphabet.size() + 2, 0);
    for (uint32_t character : corpus_.characters) {
      if (character > 0) ++begins[character + 1];
    }
    for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    suffixes_.resize(begins.back());
    std::vector<uint32_t> next = begins;
    for (uint32_t position = 0; position < corpus_.characters.size(); ++position) {
      const uint32_t character = corpus_.characters[position];
      if (character > 0) suffixes_[next[character]++] = position;
    }
    parallel_tasks(static_cast<int64_t>(corpus_.alphabet.size()), [&](int64_t i) {
      const auto bucket = static_cast<size_t>(i) + 1;
      std::sort(suffixes_.begin() + begins[bucket], suffixes_.begin() + begins[bucket + 1],
                [&](uint32_t a, uint32_t b) { return comes_before(a, b); });
    });
  }

  bool comes_before(uint32_t a, uint32_t b) const {
    for (size_t i = 1; i < max_length_; ++i) {
      const uint32_t left = corpus_.characters[a + i];
      const uint32_t right = corpus_.characters[b + i];
      if (left != right) return left < right;
      if (left == 0) break;
    }
    return a < b;
  }

  uint32_t common_length(uint32_t a, uint32_t b) const {
    uint32_t length = 0;
    while (length < max_length_ && corpus_.characters[a + length] != 0 &&
           corpus_.characters[a + length] == corpus_.characters[b + length]) {
      ++length;
    }
    return length;
  }

  // A suffix is an interval of its own as far as its word goes: the word may have been seen several times.
  void open_leaf(size_t i, std::vector<Found>& open) const {
    const uint32_t position = suffixes_[i];
    const uint64_t count = words_[corpus_.word_of[position]].count;
    const uint32_t length = common_length(position, position);
    if (open.empty() || open.back().length < length) {
      open.push_back({position, length, count});
    } else {
      open.back().count += count;
    }
  }

  static void keep(const Found& interval, std::vector<Found>& found) {
    if (interval.length >= 2 && interval.count >= 2) found.push_back(interval);
  }

  std::span<const WordCount> words_;
  Corpus corpus_;
  size_t max_length_;
  std::vector<uint32_t> suffixes_;
};

}  // namespace

std::vector<Substring> frequent_substrings(std::span<const WordCount> words, size_t max_piece_characters,
                                           size_t count) {
  require(max_piece_characters >= 1, "unigram trainer: pieces must have at least one character");
  const SubstringSearch search(words, max_piece_characters);
  std::vector<SubstringSearch::Found> found = search.find();
  std::ranges::stable_sort(found, [](const auto& a, const auto& b) { return a.count * a.length > b.count * b.length; });
  if (found.size() > count) found.resize(count);
  std::vector<Substring> substrings;
  substrings.reserve(found.size());
  for (const auto& each : found) substrings.push_back({search.text(each), each.count});
  return substrings;
}

}  // namespace weft::text
