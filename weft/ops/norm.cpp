#include "weft/ops/norm.h"

#include "weft/base/error.h"

namespace weft::ops {

namespace {

void check(std::string_view name, const Variable& x, const Variable& gamma, const Variable& beta) {
  require(x.defined() && x.value().rank() >= 1, "{}: expected an input (…, d)", name);
  require(gamma.defined() && gamma.shape() == Shape{x.dim(-1)}, "{}: gamma has shape ({}) for an input {}, got {}",
          name, x.dim(-1), x.shape(), gamma.defined() ? gamma.shape() : Shape{});
  require(!beta.defined() || beta.shape() == gamma.shape(), "{}: beta has shape {} as gamma, got {}", name,
          gamma.shape(), beta.defined() ? beta.shape() : Shape{});
}

kernels::Dropout dropout_at(Context& ctx, double probability) {
  if (!ctx.training || probability <= 0.0) return {};
  return {static_cast<float>(probability), ctx.next_site()};
}

// Everything backward needs, for the fused form and the plain one (residual unwanted, no dropout).
struct Saved {
  kernels::NormKind kind;
  Tensor s, mean, rstd;
  Variable gamma;
  GradientEdge beta, x, residual;
  DType residual_dtype = DType::f32;
  kernels::Dropout dropout;
};

void norm_backward(BackwardPass& pass, const Saved& saved, const Tensor& dsum, const Tensor& dy) {
  kernels::NormBackward call;
  call.kind = saved.kind;
  call.s = matrix_view(saved.s);
  call.dy = matrix_view(dy);
  if (dsum.defined()) call.dsum = matrix_view(dsum);
  if (saved.mean.defined()) call.mean = saved.mean.data<float>();
  call.rstd = saved.rstd.data<float>();
  call.gamma = saved.gamma.value().data<float>();
  call.dropout = saved.dropout;

  GradientTarget gamma, beta, x;
  if (saved.gamma.edge().wanted()) {
    gamma = pass.target(saved.gamma.edge(), saved.gamma.shape(), DType::f32);
    call.dgamma = gamma.tensor.data<float>();
    call.accumulate_parameters = gamma.accumulate;
  }
  if (saved.beta.wanted()) {
    beta = pass.target(saved.beta, saved.gamma.shape(), DType::f32);
    call.dbeta = beta.tensor.data<float>();
    call.accumulate_parameters = beta.accumulate;
  }
  require(!call.dgamma || !call.dbeta || gamma.accumulate == beta.accumulate,
          "norm: gamma and beta belong together; one was used elsewhere");
  Tensor residual;
  if (saved.residual.wanted()) {
    residual = Tensor::empty(saved.s.shape(), saved.residual_dtype);
    call.dresidual = matrix_view(residual);
  }
  if (saved.x.wanted()) {
    x = pass.target(saved.x, saved.s.shape(), saved.s.dtype());
    call.dx = matrix_view(x.tensor);
    call.accumulate_dx = x.accumulate;
  }
  kernels::norm_backward(call);
  if (residual.defined()) pass.add(saved.residual, residual);
}

}  // namespace

Variable norm(Context& ctx, const Variable& x, const Variable& gamma, const Variable& beta,
              const NormOptions& options) {
  check("norm", x, gamma, beta);
  Tensor y = Tensor::empty(x.shape(), options.output);
  kernels::NormForward call{.kind = options.kind, .epsilon = options.epsilon, .x = matrix_view(x.value())};
  call.gamma = gamma.value().data<float>();
  if (beta.defined()) call.beta = beta.value().data<float>();
  call.y = matrix_view(y);

  Saved saved{options.kind, x.value(), {}, {}, gamma, beta.edge(), x.edge(), {}, DType::f32, {}};
  if (is_recorded(ctx, {&x, &gamma, &beta})) {
    const int64_t rows = call.x.rows;
    saved.rstd = Tensor::empty({rows});
    call.rstd = saved.rstd.data<float>();
    if (options.kind == kernels::NormKind::layer_norm) {
      saved.mean = Tensor::empty({rows});
      call.mean = saved.mean.data<float>();
    }
  }
  kernels::norm_forward(call);
  return record(
      ctx, "norm", {&x, &gamma, &beta}, std::move(y),
      [saved = std::move(saved)](BackwardPass& pass, const Tensor& dy) { norm_backward(pass, saved, {}, dy); });
}

AddNormResult add_norm(Context& ctx, const Variable& x, const Variable& residual, const Variable& gamma,
                       const Variable& beta, const NormOptions& options) {
  check("add_norm", x, gamma, beta);
  require(residual.defined() && residual.shape() == x.shape(), "add_norm: the residual has the shape {} of x, got {}",
          x.shape(), residual.defined() ? residual.shape() : Shape{});
  Tensor sum = Tensor::empty(x.shape(), x.dtype());
  Tensor y = Tensor::empty(x.shape(), options.output);
  kernels::NormForward call{.kind = options.kind, .epsilon = options.epsilon, .x = matrix_view(x.value())};
  call.residual = matrix_view(residual.value());
  call.dropout = dropout_at(ctx, options.dropout);
  call.gamma = gamma.value().data<float>();
  if (beta.defined()) call.beta = beta.value().data<float>();
  call.sum = matrix_view(sum);
  call.y = matrix_view(y);

  Saved saved{options.kind, sum, {}, {}, gamma, beta.edge(), x.edge(), residual.edge(), residual.dtype(), call.dropout};
  if (is_recorded(ctx, {&x, &residual, &gamma, &beta})) {
    const int64_t rows = call.x.rows;
    saved.rstd = Tensor::empty({rows});
    call.rstd = saved.rstd.data<float>();
    if (options.kind == kernels::NormKind::layer_norm) {
      saved.mean = Tensor::empty({rows});
      call.mean = saved.mean.data<float>();
    }
  }
  kernels::norm_forward(call);
  auto backward = [saved = std::move(saved)](BackwardPass& pass, OutputGradients gradients) {
    const Tensor& dsum = gradients[0];
    Tensor dy = gradients[1];
    if (!dy.defined()) dy = Tensor::zeros(saved.s.shape());
    norm_backward(pass, saved, dsum, dy);
  };
  std::vector<Variable> outputs = record(ctx, "add_norm", {&x, &residual, &gamma, &beta},
                                         std::vector<Tensor>{std::move(sum), std::move(y)}, std::move(backward));
  return {std::move(outputs[0]), std::move(outputs[1])};
}

}  // namespace weft::ops
