#include "weft/text/training/unigram_lattice.h"

#include <cmath>
#include <limits>

namespace weft::text {

namespace {

constexpr double impossible = -std::numeric_limits<double>::infinity();

// log(exp(a) + exp(b))
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  constexpr double negligible = 40.0;  // exp(−40) is below the rounding of a double
  return b < a - negligible || b == impossible ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace

void UnigramLattice::set_word(std::string_view word) {
  length_ = word.size();
  edges_.clear();
  for (uint32_t begin = 0; begin < word.size(); ++begin) {
    if ((static_cast<unsigned char>(word[begin]) & 0xc0) == 0x80) continue;
    uint32_t node = ByteTrie::root;
    for (uint32_t end = begin; end < word.size();) {
      node = trie_.step(node, static_cast<unsigned char>(word[end++]));
      if (node == 0) break;
      if (trie_.value(node) != ByteTrie::none) edges_.push_back({begin, end, trie_.value(node)});
    }
  }
}

double UnigramLattice::add_expected(double weight, std::span<double> expected) {
  forward_.assign(length_ + 1, impossible);
  backward_.assign(length_ + 1, impossible);
  forward_.front() = 0.0;
  backward_.back() = 0.0;
  const auto score = [&](const Edge& edge) { return pieces_[static_cast<size_t>(edge.piece)].score; };
  for (const Edge& edge : edges_) {
    if (forward_[edge.begin] == impossible) continue;
    forward_[edge.end] = log_add(forward_[edge.end], forward_[edge.begin] + score(edge));
  }
  for (auto edge = edges_.rbegin(); edge != edges_.rend(); ++edge) {
    if (backward_[edge->end] == impossible) continue;
    backward_[edge->begin] = log_add(backward_[edge->begin], backward_[edge->end] + score(*edge));
  }
  const double total = forward_.back();
  if (total == impossible) return 0.0;
  for (const Edge& edge : edges_) {
    const double share = forward_[edge.begin] + score(edge) + backward_[edge.end] - total;
    if (share > impossible) expected[static_cast<size_t>(edge.piece)] += weight * std::exp(share);
  }
  return total;
}

const std::vector<int32_t>& UnigramLattice::best(int32_t except) {
  forward_.assign(length_ + 1, impossible);
  last_edge_.assign(length_ + 1, -1);
  forward_.front() = 0.0;
  for (size_t i = 0; i < edges_.size(); ++i) {
    const Edge& edge = edges_[i];
    if (edge.piece == except && edge.end - edge.begin == length_) continue;
    const double value = forward_[edge.begin] + pieces_[static_cast<size_t>(edge.piece)].score;
    if (value > forward_[edge.end]) {
      forward_[edge.end] = value;
      last_edge_[edge.end] = static_cast<int32_t>(i);
    }
  }
  path_.clear();
  if (last_edge_.back() < 0) return path_;
  for (size_t position = length_; position > 0;) {
    const Edge& edge = edges_[static_cast<size_t>(last_edge_[position])];
    path_.push_back(edge.piece);
    position = edge.begin;
  }
  return path_;
}

}  // namespace weft::text
