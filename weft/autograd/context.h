#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/autograd/tape.h"
#include "weft/base/rng.h"

namespace weft {

// Element type of matrix products and of what flows between them. Master weights, softmax, norms, losses and every sum
// are f32 in both.
enum class Precision { f32, bf16 };

Precision parse_precision(std::string_view name);  // "f32" or "bf16"; weft::UsageError otherwise
std::string_view name_of(Precision precision);

// Attention maps collected during a forward pass, in the order of the layers.
struct AttentionTrace {
  struct Entry {
    std::string layer;  // the layer's path, such as "blocks.0.attention"
    Tensor weights;     // (b, h, q, k), f32
  };
  std::vector<Entry> entries;
};

// What every forward call takes first. There is no global mode: inference is the same call without a tape.
struct Context {
  Tape* tape = nullptr;   // null: nothing is recorded
  bool training = false;  // dropout on
  Precision precision = Precision::f32;
  Rng rng{};                        // of this step; split() per site
  AttentionTrace* trace = nullptr;  // null: no maps are kept
  // Looks at every operation's output and throws at the first NaN or infinity, naming the operation: slow, for finding
  // out where a run broke.
  bool check_finite = false;
  uint64_t sites = 0;  // how many sites have taken their stream so far

  DType compute_dtype() const { return precision == Precision::bf16 ? DType::bf16 : DType::f32; }
  // A random stream of its own for the next site of this forward pass (the order of calls is fixed by the model).
  Rng next_site() { return rng.split(sites++); }
};

// One output of an operation: the variable that carries `output`, recorded if there is a tape and some input wants a
// gradient. Backward gets the gradient of the output, of the same shape and element type.
using SingleBackward = std::function<void(BackwardPass&, const Tensor& output_gradient)>;
Variable record(Context& ctx, std::string_view name, std::initializer_list<const Variable*> inputs, Tensor output,
                SingleBackward backward);
// The same for several outputs.
std::vector<Variable> record(Context& ctx, std::string_view name, std::initializer_list<const Variable*> inputs,
                             std::vector<Tensor> outputs, BackwardFunction backward);
// For an operation without a gradient: throws if it would have to be recorded, so that no gradient vanishes silently.
Variable record_without_gradient(Context& ctx, std::string_view name, std::initializer_list<const Variable*> inputs,
                                 Tensor output);
// Whether record() would record: what an operation needs to know before it saves anything for backward.
bool is_recorded(const Context& ctx, std::initializer_list<const Variable*> inputs);

}  // namespace weft
