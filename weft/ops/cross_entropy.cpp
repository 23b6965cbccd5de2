#include "weft/ops/cross_entropy.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/kernels/cross_entropy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/matmul.h"

namespace weft::ops {

namespace {

using kernels::CrossEntropyRows;
using kernels::Transpose;

// Logits of one chunk stay below this, so that a large vocabulary costs no memory; large enough that the product of the
// weight's gradient, which reads and writes (v, d) numbers per chunk, is not bound by memory.
constexpr int64_t kChunkBytes = int64_t{128} << 20;

int64_t chunk_rows(int64_t rows, int64_t vocabulary) {
  const int64_t fitting = kChunkBytes / (4 * std::max<int64_t>(vocabulary, 1));
  return std::clamp<int64_t>(fitting / 64 * 64, 64, std::max<int64_t>(rows, 64));
}

int64_t check_targets(std::string_view name, const Tensor& targets, int64_t rows, int64_t vocabulary,
                      const CrossEntropyOptions& options) {
  require(options.label_smoothing >= 0.0f && options.label_smoothing < 1.0f, "{}: label smoothing {} is not in [0, 1)",
          name, options.label_smoothing);
  require(targets.defined() && targets.numel() == rows, "{}: {} rows need as many targets, got {}", name, rows,
          targets.defined() ? targets.numel() : 0);
  int64_t counted = 0;
  for (const int32_t target : targets.span<int32_t>()) {
    if (target == options.ignore_id) continue;
    require(target >= 0 && target < vocabulary, "{}: target {} is not in [0, {}) and not the ignored id {}", name,
            target, vocabulary, options.ignore_id);
    ++counted;
  }
  return counted;
}

float mean_of(const Tensor& losses, int64_t counted) {
  double total = 0.0;
  for (const float loss : losses.span<float>()) total += loss;
  return counted == 0 ? 0.0f : static_cast<float>(total / static_cast<double>(counted));
}

// Gradients of a mean loss, waiting to be scaled by the gradient of the loss itself.
struct HeadGradients {
  Tensor x, weight, bias;
};

class LinearCrossEntropy {
 public:
  LinearCrossEntropy(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                     const Tensor& targets, const CrossEntropyOptions& options, int64_t counted)
      : x_(x),
        weight_(weight),
        bias_(bias),
        targets_(targets),
        options_(options),
        input_(x.value().to(ctx.compute_dtype())),
        scale_(counted == 0 ? 0.0f : 1.0f / static_cast<float>(counted)) {
    if (weight.parameter() == nullptr) loose_weight_ = weight.value().to(input_.dtype());
  }

  // Losses of all rows, and with `gradients` their gradients too.
  Tensor run(HeadGradients* gradients) {
    const int64_t rows = targets_.numel();
    const int64_t vocabulary = weight_.dim(0);
    const int64_t step = chunk_rows(rows, vocabulary);
    Tensor losses = Tensor::empty({rows});
    if (gradients != nullptr) prepare(*gradients);
    const Tensor input = input_.reshape({rows, x_.dim(-1)});
    for (int64_t begin = 0; begin < rows; begin += step) {
      const int64_t end = std::min(rows, begin + step);
      Tensor logits = Tensor::empty({end - begin, vocabulary});
      multiply(input.slice(0, begin, end), WeightUse::forward, logits,
               bias_.defined() ? bias_.value().data<float>() : nullptr);
      const CrossEntropyRows chunk{matrix_view(std::as_const(logits)), targets_.data<int32_t>() + begin,
                                   options_.ignore_id, options_.label_smoothing};
      float* chunk_losses = losses.data<float>() + begin;
      if (gradients == nullptr) {
        kernels::cross_entropy_forward(chunk, chunk_losses);
      } else {
        differentiate(chunk, chunk_losses, logits, input, begin, *gradients);
      }
    }
    return losses;
  }

 private:
  void prepare(HeadGradients& gradients) const {
    if (x_.edge().wanted()) gradients.x = Tensor::empty(x_.shape(), x_.dtype());
    // Without rows nothing would be written below.
    const bool none = targets_.numel() == 0;
    if (weight_.edge().wanted())
      gradients.weight = none ? Tensor::zeros(weight_.shape()) : Tensor::empty(weight_.shape());
    if (bias_.edge().wanted()) gradients.bias = none ? Tensor::zeros(bias_.shape()) : Tensor::empty(bias_.shape());
  }

  void differentiate(const CrossEntropyRows& chunk, float* losses, Tensor& logits, const Tensor& input, int64_t begin,
                     HeadGradients& gradients) const {
    // In f32 the gradient takes the place of the logits.
    Tensor d = input.dtype() == DType::f32 ? logits : Tensor::empty(logits.shape(), input.dtype());
    kernels::cross_entropy_backward(chunk, scale_, matrix_view(d), losses);
    const int64_t end = begin + d.dim(0);
    if (gradients.x.defined()) {
      Tensor dx = gradients.x.reshape({targets_.numel(), x_.dim(-1)}).slice(0, begin, end);
      multiply(d, WeightUse::backward, dx, nullptr);
    }
    if (gradients.weight.defined()) {
      kernels::matmul(matrix_view(std::as_const(d)), Transpose::yes, matrix_view(input.slice(0, begin, end)),
                      Transpose::no, matrix_view(gradients.weight), {.accumulate = begin > 0});
    }
    if (gradients.bias.defined()) {
      kernels::column_sums(matrix_view(std::as_const(d)), gradients.bias.data<float>(), begin > 0);
    }
  }

  void multiply(const Tensor& a, WeightUse use, Tensor& c, const float* bias) const {
    const kernels::MatmulEpilogue epilogue{.bias = bias};
    if (weight_.parameter() != nullptr) {
      kernels::matmul(matrix_view(a), weight_.parameter()->packed(use, a.dtype()), matrix_view(c), epilogue);
    } else {
      kernels::matmul(matrix_view(a), Transpose::no, matrix_view(loose_weight_),
                      use == WeightUse::forward ? Transpose::yes : Transpose::no, matrix_view(c), epilogue);
    }
  }

  const Variable& x_;
  const Variable& weight_;
  const Variable& bias_;
  const Tensor& targets_;
  const CrossEntropyOptions& options_;
  Tensor input_;
  Tensor loose_weight_;  // in the compute type, when the weight is no parameter
  float scale_;
};

}  // namespace

Variable cross_entropy(Context& ctx, const Variable& logits, const Tensor& targets,
                       const CrossEntropyOptions& options) {
  require(logits.defined() && logits.value().rank() >= 1, "cross_entropy: logits have shape (…, v)");
  const kernels::ConstMatrix view = matrix_view(logits.value());
  const int64_t counted = check_targets("cross_entropy", targets, view.rows, view.cols, options);
  Tensor losses = Tensor::empty({view.rows});
  const auto rows_of = [options](const Tensor& logits, const Tensor& targets) {
    return CrossEntropyRows{matrix_view(logits), targets.data<int32_t>(), options.ignore_id, options.label_smoothing};
  };
  kernels::cross_entropy_forward(rows_of(logits.value(), targets), losses.data<float>());
  return record(
      ctx, "cross_entropy", {&logits}, Tensor::scalar(mean_of(losses, counted)),
      [logits = logits.value(), edge = logits.edge(), targets, counted, rows_of](BackwardPass& pass, const Tensor& dy) {
        Tensor d = Tensor::empty(logits.shape(), logits.dtype());
        const float scale = counted == 0 ? 0.0f : dy.item() / static_cast<float>(counted);
        kernels::cross_entropy_backward(rows_of(logits, targets), scale, matrix_view(d), nullptr);
        pass.add(edge, d);
      });
}

Variable linear_cross_entropy(Context& ctx, const Variable& x, const Variable& weight, const Variable& bias,
                              const Tensor& targets, const CrossEntropyOptions& options) {
  require(weight.defined() && weight.value().rank() == 2, "linear_cross_entropy: the weight is a matrix (v, d)");
  require(x.defined() && x.value().rank() >= 1 && x.dim(-1) == weight.dim(1),
          "linear_cross_entropy: the weight {} takes inputs (…, {}), got {}", weight.shape(), weight.dim(1),
          x.defined() ? x.shape() : Shape{});
  require(!bias.defined() || bias.shape() == Shape{weight.dim(0)},
          "linear_cross_entropy: the bias has shape ({}), got {}", weight.dim(0),
          bias.defined() ? bias.shape() : Shape{});
  const int64_t rows = x.value().numel() / std::max<int64_t>(x.dim(-1), 1);
  const int64_t counted = check_targets("linear_cross_entropy", targets, rows, weight.dim(0), options);
  LinearCrossEntropy computation(ctx, x, weight, bias, targets, options, counted);
  const std::initializer_list<const Variable*> inputs = {&x, &weight, &bias};
  HeadGradients gradients;
  const Tensor losses = computation.run(is_recorded(ctx, inputs) ? &gradients : nullptr);
  return record(ctx, "linear_cross_entropy", inputs, Tensor::scalar(mean_of(losses, counted)),
                [gradients, x = x.edge(), weight = weight.edge(), bias = bias.edge()](BackwardPass& pass,
                                                                                      const Tensor& dy) mutable {
                  const float scale = dy.item();
                  for (auto [edge, tensor] :
                       {std::pair{&x, &gradients.x}, {&weight, &gradients.weight}, {&bias, &gradients.bias}}) {
                    if (!tensor->defined()) continue;
                    if (scale != 1.0f) kernels::scale(matrix_view(*tensor), scale);
                    pass.add(*edge, std::move(*tensor));
                  }
                });
}

}  // namespace weft::ops
