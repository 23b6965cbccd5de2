#include "weft/text/training/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/text/training/unigram_seeds.h"
#include "weft/text/utf8.h"

namespace weft::text {

namespace {

// Words are shared out in this many parts, each added up on its own: sums do not depend on the number of threads.
constexpr int64_t parts = 8;

// The derivative of log Γ, for x ≥ 0.5: recurrence up to where the asymptotic series holds (Abramowitz and Stegun
// 6.3.5, 6.3.18).
double digamma(double x) {
  double result = 0.0;
  for (; x < 7.0; x += 1.0) result -= 1.0 / x;
  const double inverse_square = 1.0 / (x * x);
  return result + std::log(x) - 0.5 / x -
         inverse_square * (1.0 / 12 - inverse_square * (1.0 / 120 - inverse_square / 252));
}

bool is_one_character(std::string_view text) { return first_code_point(text).length == text.size(); }

class UnigramTraining {
 public:
  UnigramTraining(std::span<const WordCount> words, const UnigramTrainerConfig& config) : config_(config) {
    const std::vector<char32_t> alphabet = choose_alphabet(words, config.alphabet);
    keep_alphabet(words, alphabet);
    make_seeds(alphabet);
  }

  std::vector<UnigramPiece> run() {
    const size_t specials = config_.special_tokens.size();
    const size_t wanted = static_cast<size_t>(config_.vocab_size) - std::min<size_t>(specials, config_.vocab_size);
    // Pruning stops a little above the size that is wanted, the last pieces go by their score (as SentencePiece does).
    const size_t target = wanted + wanted / 10;
    while (true) {
      for (int round = 0; round < config_.rounds; ++round) maximise(expect());
      if (pieces_.size() <= target) break;
      const size_t before = pieces_.size();
      prune(std::max(target, static_cast<size_t>(config_.shrinking_factor * static_cast<double>(before))));
      if (pieces_.size() == before) break;
    }
    return finish(wanted);
  }

 private:
  void keep_alphabet(std::span<const WordCount> words, const std::vector<char32_t>& alphabet) {
    words_.assign(words.begin(), words.end());
    if (!config_.alphabet.limit) return;
    for (WordCount& entry : words_) {
      std::string kept;
      for (char32_t character : to_code_points(entry.word)) {
        if (std::ranges::binary_search(alphabet, character)) append_utf8(character, kept);
      }
      entry.word = std::move(kept);
    }
  }

  void make_seeds(const std::vector<char32_t>& alphabet) {
    std::unordered_map<char32_t, uint64_t> counts;
    for (const WordCount& entry : words_) {
      for (char32_t character : to_code_points(entry.word)) counts[character] += entry.count;
    }
    double total = 0.0;
    const auto add = [&](std::string text, uint64_t count) {
      const double size = static_cast<double>(std::max<uint64_t>(count, 1));
      pieces_.push_back({std::move(text), size});
      total += size;
    };
    for (char32_t character : alphabet) add(to_utf8(character), counts[character]);
    for (Substring& seed : frequent_substrings(words_, config_.max_piece_characters, config_.seed_size)) {
      const uint64_t characters = to_code_points(seed.text).size();
      add(std::move(seed.text), seed.count * characters);
    }
    for (UnigramPiece& piece : pieces_) piece.score = std::log(piece.score) - std::log(total);
    for (size_t i = 0; i < pieces_.size(); ++i) trie_.add(pieces_[i].text, static_cast<int32_t>(i));
  }

  // Runs body(lattice, word, sums) for each word with a vector of sums per part, and adds these up.
  template <typename Body>
  std::vector<double> sum_over_words(Body&& body) const {
    std::vector<std::vector<double>> sums(parts);
    parallel_tasks(parts, [&](int64_t part) {
      std::vector<double>& sum = sums[static_cast<size_t>(part)];
      sum.assign(pieces_.size(), 0.0);
      UnigramLattice lattice(trie_, pieces_);
      // Neighbours in sorted order are alike; taking every parts-th word gives the parts the same work.
      for (size_t i = static_cast<size_t>(part); i < words_.size(); i += parts) {
        lattice.set_word(words_[i].word);
        body(lattice, words_[i], sum);
      }
    });
    for (int64_t part = 1; part < parts; ++part) {
      for (size_t i = 0; i < pieces_.size(); ++i) sums[0][i] += sums[static_cast<size_t>(part)][i];
    }
    return std::move(sums[0]);
  }

  std::vector<double> expect() const {
    return sum_over_words([](UnigramLattice& lattice, const WordCount& word, std::vector<double>& expected) {
      lattice.add_expected(static_cast<double>(word.count), expected);
    });
  }

  // Scores by the expected counts, in the Bayesian form with a sparse prior (Liang and Klein 2007); pieces that are
  // hardly expected go.
  void maximise(const std::vector<double>& expected) {
    constexpr double least = 0.5;
    std::vector<bool> kept(pieces_.size());
    double total = 0.0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      kept[i] = expected[i] >= least || is_one_character(pieces_[i].text);
      if (kept[i]) total += std::max(expected[i], least);
    }
    const double log_total = digamma(total);
    for (size_t i = 0; i < pieces_.size(); ++i) pieces_[i].score = digamma(std::max(expected[i], least)) - log_total;
    keep_only(kept);
  }

  void prune(size_t size) {
    const std::vector<double> counts =
        sum_over_words([](UnigramLattice& lattice, const WordCount& word, std::vector<double>& sums) {
          for (int32_t piece : lattice.best()) sums[static_cast<size_t>(piece)] += static_cast<double>(word.count);
        });
    const double total = std::accumulate(counts.begin(), counts.end(), 0.0);
    std::vector<double> loss(pieces_.size());
    parallel_for(static_cast<int64_t>(pieces_.size()), 1024, [&](int64_t begin, int64_t end) {
      UnigramLattice lattice(trie_, pieces_);
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        loss[i] = loss_without(i, counts, total, lattice);
      }
    });
    std::vector<uint32_t> order(pieces_.size());
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, [&](uint32_t a, uint32_t b) { return loss[a] > loss[b]; });
    std::vector<bool> kept(pieces_.size(), false);
    for (size_t i = 0; i < order.size(); ++i) {
      kept[order[i]] = loss[order[i]] != never && (i < size || loss[order[i]] == always);
    }
    keep_only(kept);
  }

  // How much log-likelihood per piece of text goes if piece i does: its occurrences are cut in the next best way then.
  double loss_without(size_t i, const std::vector<double>& counts, double total, UnigramLattice& lattice) const {
    if (is_one_character(pieces_[i].text)) return always;
    if (counts[i] == 0.0) return never;
    lattice.set_word(pieces_[i].text);
    const std::vector<int32_t>& instead = lattice.best(static_cast<int32_t>(i));
    double score = 0.0;
    for (int32_t piece : instead) score += pieces_[static_cast<size_t>(piece)].score;
    if (score >= pieces_[i].score) return never;  // the piece is not the best way to cut itself
    const double log_total = std::log(total + counts[i] * static_cast<double>(instead.size() - 1));
    double instead_score = 0.0;
    for (int32_t piece : instead) instead_score += std::log(counts[static_cast<size_t>(piece)] + counts[i]) - log_total;
    return counts[i] / total * (std::log(counts[i]) - std::log(total) - instead_score);
  }

  void keep_only(const std::vector<bool>& kept) {
    size_t written = 0;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      trie_.add(pieces_[i].text, kept[i] ? static_cast<int32_t>(written) : ByteTrie::none);
      if (!kept[i]) continue;
      if (written != i) pieces_[written] = std::move(pieces_[i]);
      ++written;
    }
    pieces_.resize(written, UnigramPiece{});
  }

  std::vector<UnigramPiece> finish(size_t wanted) {
    std::ranges::sort(pieces_, [](const UnigramPiece& a, const UnigramPiece& b) {
      return a.score != b.score ? a.score > b.score : a.text < b.text;
    });
    const std::unordered_set<std::string> specials(config_.special_tokens.begin(), config_.special_tokens.end());
    size_t characters = 0;
    for (const UnigramPiece& piece : pieces_) characters += is_one_character(piece.text) ? 1 : 0;
    size_t others = wanted - std::min(wanted, characters);
    std::vector<UnigramPiece> result;
    for (const std::string& token : config_.special_tokens) result.push_back({token, 0.0});
    for (UnigramPiece& piece : pieces_) {
      if (specials.contains(piece.text)) continue;
      if (!is_one_character(piece.text)) {
        if (others == 0) continue;
        --others;
      }
      result.push_back(std::move(piece));
    }
    return result;
  }

  static constexpr double always = 1e300;
  static constexpr double never = -1e300;

  const UnigramTrainerConfig& config_;
  std::vector<WordCount> words_;
  std::vector<UnigramPiece> pieces_;
  ByteTrie trie_;  // text to index of pieces_
};

}  // namespace

std::vector<UnigramPiece> train_unigram(std::span<const WordCount> words, const UnigramTrainerConfig& config) {
  require(config.vocab_size >= 1, "unigram trainer: vocab_size must be at least 1, got {}", config.vocab_size);
  require(config.shrinking_factor > 0.0 && config.shrinking_factor < 1.0,
          "unigram trainer: shrinking_factor must lie between 0 and 1, got {}", config.shrinking_factor);
  require(config.rounds >= 1, "unigram trainer: rounds must be at least 1, got {}", config.rounds);
  return UnigramTraining(words, config).run();
}

}  // namespace weft::text
