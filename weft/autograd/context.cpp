#include "weft/autograd/context.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/kernels/elementwise.h"

namespace weft {

namespace {

void check_output(const Context& ctx, std::string_view name, const Tensor& output) {
  if (!ctx.check_finite || (output.dtype() != DType::f32 && output.dtype() != DType::bf16)) return;
  const Tensor dense = output.contiguous().to(DType::f32);
  const int64_t place = kernels::first_non_finite(dense.data<float>(), dense.numel());
  require(place < 0, "{}: its output {} holds a NaN or infinity, first at element {}", name, output.shape(), place);
}

}  // namespace

Precision parse_precision(std::string_view name) {
  if (name == "f32") return Precision::f32;
  if (name == "bf16") return Precision::bf16;
  fail<UsageError>("precision: expected f32 or bf16, got \"{}\"", name);
}

std::string_view name_of(Precision precision) { return precision == Precision::bf16 ? "bf16" : "f32"; }

bool is_recorded(const Context& ctx, std::initializer_list<const Variable*> inputs) {
  return ctx.tape != nullptr && std::ranges::any_of(inputs, [](const Variable* v) { return v->edge().wanted(); });
}

Variable record(Context& ctx, std::string_view name, std::initializer_list<const Variable*> inputs, Tensor output,
                SingleBackward backward) {
  check_output(ctx, name, output);
  if (!is_recorded(ctx, inputs)) return Variable(std::move(output));
  const int slot = ctx.tape->record(name, {inputs.begin(), inputs.size()}, 1,
                                    [backward = std::move(backward)](BackwardPass& pass, OutputGradients gradients) {
                                      backward(pass, gradients[0]);
                                    });
  return {std::move(output), slot};
}

std::vector<Variable> record(Context& ctx, std::string_view name, std::initializer_list<const Variable*> inputs,
                             std::vector<Tensor> outputs, BackwardFunction backward) {
  for (const Tensor& output : outputs) check_output(ctx, name, output);
  int slot = -1;
  if (is_recorded(ctx, inputs)) {
    slot =
        ctx.tape->record(name, {inputs.begin(), inputs.size()}, static_cast<int>(outputs.size()), std::move(backward));
  }
  std::vector<Variable> variables;
  for (Tensor& output : outputs) variables.emplace_back(std::move(output), slot < 0 ? -1 : slot++);
  return variables;
}

Variable record_without_gradient(Context& ctx, std::string_view name, std::initializer_list<const Variable*> inputs,
                                 Tensor output) {
  require(!is_recorded(ctx, inputs), "{}: has no gradient, and one is wanted; detach its inputs or run without a tape",
          name);
  check_output(ctx, name, output);
  return Variable(std::move(output));
}

}  // namespace weft
