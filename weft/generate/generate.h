#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weft/generate/decoder.h"
#include "weft/generate/logits_processor.h"

namespace weft::generate {

enum class Decoding { greedy, sample };
enum class StopReason { end_token, length, caller };

struct GenerateOptions {
  int64_t max_new_tokens = 100;  // ≥ 1
  Decoding decoding = Decoding::greedy;
  SamplingOptions sampling{};  // for Decoding::sample
  uint64_t seed = 0;           // of the draws: token t of prompt i depends on (seed, i, t) and its logits alone
  std::optional<int32_t> end_id = std::nullopt;  // stops a sequence; it is the last id of the result then
};

struct Generated {
  std::vector<int32_t> ids;  // what was added to the prompt
  StopReason reason = StopReason::length;
};

// Called for every new token of every sequence (counted from 0), in order. False stops that sequence.
using OnToken = std::function<bool(int64_t sequence, int32_t id)>;

// Continues every prompt, all of them at once, token after token. Each prompt has at least one id. A sequence stops at
// max_new_tokens, or at the decoder's max_length() if that comes first. weft::Error for an empty prompt, ids outside
// the vocabulary and options outside their range.
std::vector<Generated> generate(Decoder& decoder, std::span<const std::vector<int32_t>> prompts,
                                const GenerateOptions& options, const OnToken& on_token = {});
Generated generate(Decoder& decoder, const std::vector<int32_t>& prompt, const GenerateOptions& options,
                   const OnToken& on_token = {});

}  // namespace weft::generate
