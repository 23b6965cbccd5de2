#include <gtest/gtest.h>

#include "tests/golden/golden.h"
#include "tests/golden/settings.h"
#include "weft/models/causal_lm.h"
#include "weft/optim/adamw.h"
#include "weft/optim/clipping.h"

namespace weft::golden {
namespace {

struct Curve {
  Tensor losses;
  Tensor gradient_norms;
};

// Batch `step` of a (steps, b, s) tensor.
Tensor batch_of(const Tensor& all, int64_t step) {
  return all.slice(0, step, step + 1).contiguous().reshape({all.dim(1), all.dim(2)});
}

Curve train(const Golden& golden, Precision precision) {
  ParameterStore store(golden.source());
  const models::CausalLM model(store.root(), model_config_of(golden));
  store.finish();
  optim::AdamW optimizer(store, {.beta1 = golden.get<double>("beta1"),
                                 .beta2 = golden.get<double>("beta2"),
                                 .epsilon = golden.get<double>("epsilon"),
                                 .weight_decay = golden.get<double>("weight_decay")});
  const auto steps = golden.get<int64_t>("steps");
  Curve curve{Tensor::empty({steps}), Tensor::empty({steps})};
  for (int64_t step = 0; step < steps; ++step) {
    Tape tape;
    Context ctx;
    ctx.tape = &tape;
    ctx.training = true;
    ctx.precision = precision;
    models::TokenInput input;
    input.ids = batch_of(golden.tensor("inputs.ids"), step);
    const Variable loss = model.loss(ctx, input, batch_of(golden.tensor("inputs.targets"), step));
    const Gradients gradients = tape.backward(loss);
    const double norm = gradients.global_norm();
    optimizer.step(store, gradients,
                   {.learning_rate = golden.get<double>("learning_rate"),
                    .gradient_scale = optim::clip_scale(norm, golden.get<double>("clip_norm"))});
    curve.losses.span<float>()[static_cast<size_t>(step)] = loss.value().item();
    curve.gradient_norms.span<float>()[static_cast<size_t>(step)] = static_cast<float>(norm);
  }
  return curve;
}

class CurveGolden : public testing::TestWithParam<std::string> {};

// Each loss relative to itself. PyTorch's own float32 run is within 5e-7 of a run in double.
TEST_P(CurveGolden, TwentyStepsMatchPyTorch) {
  const Golden golden(GetParam());
  const Curve curve = train(golden, Precision::f32);
  const Tensor losses = golden.tensor("outputs.losses");
  const Tensor norms = golden.tensor("outputs.gradient_norms");
  for (size_t step = 0; step < losses.span<float>().size(); ++step) {
    EXPECT_NEAR(curve.losses.span<float>()[step] / losses.span<float>()[step], 1.0, 1e-5) << "loss, step " << step;
    // The norm is a gradient: the design's 1e-4.
    EXPECT_NEAR(curve.gradient_norms.span<float>()[step] / norms.span<float>()[step], 1.0, 1e-4)
        << "gradient norm, step " << step;
  }
}

// Products round to 8 bits: each loss of the bf16 run stays within the 1 % that the design allows.
TEST_P(CurveGolden, Bf16StaysWithinOnePercent) {
  const Golden golden(GetParam());
  const Curve curve = train(golden, Precision::bf16);
  const Tensor losses = golden.tensor("outputs.losses");
  for (size_t step = 0; step < losses.span<float>().size(); ++step) {
    EXPECT_NEAR(curve.losses.span<float>()[step] / losses.span<float>()[step], 1.0, 1e-2) << "loss, step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, CurveGolden, testing::ValuesIn(cases_of("curve")), case_name);

}  // namespace
}  // namespace weft::golden
