#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::generate {

// Changes the logits (v) of a sequence's next token before it is chosen; −∞ rules a token out.
class LogitsProcessor {
 public:
  virtual ~LogitsProcessor() = default;
  // `ids`: the sequence so far. At least one logit must stay finite. Thread-safe.
  virtual void process(std::span<const int32_t> ids, std::span<float> logits) const = 0;
};

using LogitsProcessors = std::vector<std::unique_ptr<LogitsProcessor>>;

struct SamplingOptions {
  double temperature = 1.0;  // > 0; below 1 sharper, above 1 flatter
  int64_t top_k = 0;         // only the k most probable tokens (and their equals); 0: all
  double top_p = 1.0;        // in (0, 1]: only the most probable tokens that together reach p (Holtzman et al. 2020)
};

// The processors of these options, in the order temperature, top_k, top_p; those that would change nothing are left
// out. weft::Error for values outside their range.
LogitsProcessors make_processors(const SamplingOptions& options);

}  // namespace weft::generate
