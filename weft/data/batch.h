#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft::data {

// The target of a token whose prediction counts nothing: ops::CrossEntropyOptions' usual ignore_id.
constexpr int32_t ignored_target = -100;

// How sequences of different lengths lie in a batch: end to end, or each in as many rows as the longest has, the rest
// padding.
enum class Packing { packed, padded };

// b sequences of tokens. Sequence i owns the rows offsets[i] … offsets[i + 1] − 1, of which the first lengths[i] are
// tokens and the others padding.
struct TokenRows {
  Tensor ids{};                    // i32 (rows)
  Tensor position_ids{};           // i32 (rows): from 0 in every sequence
  std::vector<int64_t> offsets{};  // b + 1 of them, from 0 to the number of rows
  std::vector<int64_t> lengths{};  // b

  int64_t tokens() const;  // without padding
  // The ids of sequence i, without padding.
  std::vector<int32_t> sequence(int64_t i) const;
  int64_t sequences() const { return static_cast<int64_t>(lengths.size()); }
};

struct Batch {
  TokenRows input{};    // what the model reads; of an encoder–decoder model, what the decoder reads
  Tensor targets{};     // i32 (input rows): the token to predict there, or ignored_target
  int64_t counted = 0;  // targets that are not ignored
  TokenRows source{};   // encoder–decoder models: what the encoder reads; no sequences otherwise
  Tensor classes{};     // i32 (b), models with a class head: the class of each sequence; undefined otherwise

  int64_t tokens() const { return input.tokens() + source.tokens(); }
  int64_t sequences() const { return input.sequences(); }
};

// One sequence of a batch, with the parts that its task has.
struct Sample {
  std::span<const int32_t> ids{};
  std::span<const int32_t> targets{};  // as many as ids
  std::span<const int32_t> source{};
  std::optional<int32_t> class_id{};
};

// Makes a batch of samples, in the order in which they are added.
class BatchBuilder {
 public:
  explicit BatchBuilder(Packing packing = Packing::packed, int32_t pad_id = 0) : packing_(packing), pad_id_(pad_id) {}

  // weft::Error for a sample without ids or with another number of targets, and if it has not the parts (source,
  // class) that the samples before have.
  void add(const Sample& sample);
  // weft::Error if nothing was added. The builder is empty afterwards.
  Batch finish();

 private:
  using Sequences = std::vector<std::vector<int32_t>>;
  TokenRows rows_of(const Sequences& sequences) const;
  Tensor laid_out(const Sequences& sequences, const TokenRows& rows, int32_t filling) const;

  Packing packing_;
  int32_t pad_id_;
  Sequences ids_, targets_, sources_;
  std::vector<int32_t> classes_;
};

}  // namespace weft::data
