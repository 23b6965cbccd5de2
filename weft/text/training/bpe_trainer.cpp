#include "weft/text/training/bpe_trainer.h"

#include <algorithm>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "weft/base/error.h"
#include "weft/text/training/pair_counts.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

// A pair to merge, how often it occurred when it was queued, and the words that it was seen in since the last time.
struct Candidate {
  uint64_t count;
  uint64_t pair;
  uint32_t words;  // index of the list of words
};

struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return a.count != b.count ? a.count < b.count : a.pair > b.pair;
  }
};

class BpeTraining {
 public:
  BpeTraining(std::span<const WordCount> words, const BpeTrainerConfig& config) : config_(config) {
    for (const std::string& token : config.special_tokens) add_token(token, to_code_points(token).size());
    add_alphabet(words);
    split_words(words);
    count_pairs();
  }

  TrainedBpe run() {
    while (tokens_.size() < static_cast<size_t>(config_.vocab_size) && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      const int64_t count = std::max<int64_t>(pairs_.count(pairs_.index(top.pair)), 0);
      if (top.count != static_cast<uint64_t>(count)) {  // the pair lost occurrences to other merges
        top.count = static_cast<uint64_t>(count);
        queue_.push(top);
        continue;
      }
      if (top.count < std::max<uint64_t>(config_.min_frequency, 1)) break;
      merge_everywhere(top);
    }
    return {std::move(tokens_), distinct_merges()};
  }

 private:
  struct Word {
    uint64_t begin;  // in symbols_
    uint32_t length;
    int64_t count;
  };

  uint32_t add_token(const std::string& token, size_t characters) {
    const auto [found, added] = ids_.try_emplace(token, static_cast<uint32_t>(tokens_.size()));
    if (added) {
      tokens_.push_back(token);
      characters_.push_back(static_cast<uint32_t>(characters));
    }
    return found->second;
  }

  void add_alphabet(std::span<const WordCount> words) {
    for (char32_t character : choose_alphabet(words, config_.alphabet)) {
      alphabet_.emplace(character, add_token(to_utf8(character), 1));
    }
  }

  std::string form(char32_t character, bool first, bool last) const {
    return (first ? "" : config_.continuing_subword_prefix) + to_utf8(character) +
           (last ? config_.end_of_word_suffix : "");
  }

  // Words become the ids of their characters; those outside the alphabet are left out.
  void split_words(std::span<const WordCount> words) {
    std::unordered_map<uint64_t, uint32_t> forms;
    const auto form_key = [](char32_t character, bool first, bool last) {
      return uint64_t{character} << 2 | uint64_t{first} << 1 | uint64_t{last};
    };
    std::vector<uint64_t> seen;
    const auto each = [&](const WordCount& entry, auto&& visit) {
      const std::vector<char32_t> characters = to_code_points(entry.word);
      for (size_t i = 0; i < characters.size(); ++i) {
        if (alphabet_.contains(characters[i])) visit(characters[i], i == 0, i + 1 == characters.size());
      }
    };
    if (!config_.continuing_subword_prefix.empty() || !config_.end_of_word_suffix.empty()) {
      for (const WordCount& entry : words) {
        each(entry, [&](char32_t character, bool first, bool last) {
          const uint64_t key = form_key(character, first, last);
          if (forms.try_emplace(key, 0).second) seen.push_back(key);
        });
      }
    } else {
      for (const auto& [character, id] : alphabet_) {
        for (const bool first : {false, true}) {
          for (const bool last : {false, true}) forms[form_key(character, first, last)] = id;
        }
      }
    }
    std::ranges::sort(seen);
    for (uint64_t key : seen) {
      forms[key] = add_token(form(static_cast<char32_t>(key >> 2), (key & 2) != 0, (key & 1) != 0), 1);
    }
    for (const WordCount& entry : words) {
      const uint64_t begin = symbols_.size();
      each(entry, [&](char32_t character, bool first, bool last) {
        symbols_.push_back(forms.at(form_key(character, first, last)));
      });
      words_.push_back({begin, static_cast<uint32_t>(symbols_.size() - begin), static_cast<int64_t>(entry.count)});
    }
  }

  void count_pairs() {
    for (uint32_t word = 0; word < words_.size(); ++word) {
      const uint32_t* symbols = symbols_.data() + words_[word].begin;
      for (uint32_t i = 0; i + 1 < words_[word].length; ++i) {
        change(PairCounts::key(symbols[i], symbols[i + 1]), word, words_[word].count);
      }
    }
    queue_new_pairs();
  }

  // Counts a pair up, remembering the word, or down.
  void change(uint64_t pair, uint32_t word, int64_t count) {
    const uint32_t index = pairs_.index(pair);
    pairs_.count(index) += count;
    if (count < 0) return;
    if (open_list_.size() <= index) open_list_.resize(std::max<size_t>(index + 1, open_list_.size() * 2), no_list);
    if (open_list_[index] == no_list) {
      open_list_[index] = new_list();
      open_pairs_.push_back(index);
    }
    std::vector<uint32_t>& list = lists_[open_list_[index]];
    if (list.empty() || list.back() != word) list.push_back(word);
  }

  uint32_t new_list() {
    if (free_lists_.empty()) {
      lists_.emplace_back();
      return static_cast<uint32_t>(lists_.size() - 1);
    }
    const uint32_t list = free_lists_.back();
    free_lists_.pop_back();
    return list;
  }

  void free_list(uint32_t list) {
    lists_[list] = {};
    free_lists_.push_back(list);
  }

  void queue_new_pairs() {
    for (uint32_t index : open_pairs_) {
      const int64_t count = pairs_.count(index);
      if (count > 0) {
        queue_.push({static_cast<uint64_t>(count), pairs_.key_of(index), open_list_[index]});
      } else {
        free_list(open_list_[index]);
      }
      open_list_[index] = no_list;
    }
    open_pairs_.clear();
  }

  void merge_everywhere(const Candidate& top) {
    const uint32_t left = PairCounts::left(top.pair);
    const uint32_t right = PairCounts::right(top.pair);
    std::string_view rest = tokens_[right];
    const std::string& prefix = config_.continuing_subword_prefix;
    if (!prefix.empty() && rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
    const uint32_t merged = add_token(tokens_[left] + std::string(rest), characters_[left] + characters_[right]);
    merges_.push_back(top.pair);
    const std::vector<uint32_t> words = std::move(lists_[top.words]);
    free_list(top.words);
    for (uint32_t word : words) merge_in_word(word, top.pair, merged);
    queue_new_pairs();
  }

  // The changes are counted as they come, from the left: a neighbour that is merged itself a moment later takes its
  // count back then.
  void merge_in_word(uint32_t index, uint64_t pair, uint32_t merged) {
    Word& word = words_[index];
    uint32_t* symbols = symbols_.data() + word.begin;
    const uint32_t left = PairCounts::left(pair);
    const uint32_t right = PairCounts::right(pair);
    uint32_t written = 0;
    for (uint32_t i = 0; i < word.length; ++i) {
      if (symbols[i] != left || i + 1 == word.length || symbols[i + 1] != right) {
        symbols[written++] = symbols[i];
        continue;
      }
      if (written > 0) replace_pair(symbols[written - 1], left, index, -word.count);
      if (written > 0 && may_merge(symbols[written - 1], merged))
        replace_pair(symbols[written - 1], merged, index, word.count);
      symbols[written++] = merged;
      ++i;
      if (i + 1 == word.length) continue;
      replace_pair(right, symbols[i + 1], index, -word.count);
      if (may_merge(symbols[i + 1], merged)) replace_pair(merged, symbols[i + 1], index, word.count);
    }
    word.length = written;
  }

  void replace_pair(uint32_t left, uint32_t right, uint32_t word, int64_t count) {
    change(PairCounts::key(left, right), word, count);
  }

  bool may_merge(uint32_t a, uint32_t b) const {
    return !config_.max_token_length || size_t{characters_[a]} + characters_[b] < *config_.max_token_length;
  }

  // A pair that was merged twice (its token came about in two ways) counts where it was merged last.
  std::vector<std::pair<int32_t, int32_t>> distinct_merges() const {
    std::unordered_set<uint64_t> seen;
    std::vector<std::pair<int32_t, int32_t>> result;
    for (auto pair = merges_.rbegin(); pair != merges_.rend(); ++pair) {
      if (!seen.insert(*pair).second) continue;
      result.emplace_back(static_cast<int32_t>(PairCounts::left(*pair)),
                          static_cast<int32_t>(PairCounts::right(*pair)));
    }
    std::ranges::reverse(result);
    return result;
  }

  static constexpr uint32_t no_list = UINT32_MAX;

  const BpeTrainerConfig& config_;
  std::vector<std::string> tokens_;
  std::vector<uint32_t> characters_;  // by token, without prefix and suffix
  std::unordered_map<std::string, uint32_t> ids_;
  std::unordered_map<char32_t, uint32_t> alphabet_;

  std::vector<uint32_t> symbols_;  // the words, end to end, as tokens
  std::vector<Word> words_;
  PairCounts pairs_;
  std::vector<std::vector<uint32_t>> lists_;  // words of a queued pair
  std::vector<uint32_t> free_lists_;
  std::vector<uint32_t> open_list_;   // by pair: its list of words while it is not queued yet
  std::vector<uint32_t> open_pairs_;  // pairs that have such a list
  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> queue_;
  std::vector<uint64_t> merges_;
};

}  // namespace

TrainedBpe train_bpe(std::span<const WordCount> words, const BpeTrainerConfig& config) {
  require(config.vocab_size >= 1, "bpe trainer: vocab_size must be at least 1, got {}", config.vocab_size);
  return BpeTraining(words, config).run();
}

}  // namespace weft::text
