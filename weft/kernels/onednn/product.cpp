#include "weft/kernels/onednn/product.h"

#include <string_view>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/kernels/onednn/lru_cache.h"
#include "weft/kernels/onednn/memory.h"

namespace weft::kernels::onednn {

namespace {

struct ShapeHash {
  size_t operator()(const ProductShape& s) const {
    Hasher h;
    h.add(s.batch).add(s.m).add(s.n).add(s.k).add(s.threads).add(s.activation);
    h.add(s.b_packed + 2 * s.has_bias + 4 * s.has_residual + 8 * s.accumulate);
    for (const OperandLayout* o : {&s.a, &s.b, &s.c, &s.residual})
      h.add(o->dtype).add(o->batch).add(o->row).add(o->col);
    return h.value();
  }
};

// Two-dimensional without a batch: oneDNN has more fast paths for it.
dnnl::memory::desc describe(int64_t batch, int64_t rows, int64_t cols, const OperandLayout& layout) {
  if (batch == 1) return {{rows, cols}, data_type(layout.dtype), dnnl::memory::dims{layout.row, layout.col}};
  // An operand shared by the whole batch is one that oneDNN broadcasts.
  const bool shared = layout.batch == 0;
  return {{shared ? 1 : batch, rows, cols},
          data_type(layout.dtype),
          dnnl::memory::dims{shared ? rows * cols : layout.batch, layout.row, layout.col}};
}

dnnl::algorithm algorithm_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return dnnl::algorithm::eltwise_relu;
    case Activation::gelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Activation::gelu_tanh:
      return dnnl::algorithm::eltwise_gelu_tanh;
    case Activation::silu:
      return dnnl::algorithm::eltwise_swish;
    case Activation::tanh:
      return dnnl::algorithm::eltwise_tanh;
    case Activation::none:
      break;
  }
  return dnnl::algorithm::undef;
}

bool is_generated(const dnnl::matmul::primitive_desc& descriptor) {
  return !std::string_view(descriptor.impl_info_str()).starts_with("ref");
}

struct RightOperand {
  int64_t k = 0;
  int64_t n = 0;
  DType dtype = DType::f32;
  bool operator==(const RightOperand&) const = default;
};

struct RightHash {
  size_t operator()(const RightOperand& b) const { return Hasher().add(b.k).add(b.n).add(b.dtype).value(); }
};

struct RightLayout {
  explicit RightLayout(const RightOperand& right) {
    // The layout that oneDNN picks does not depend on m (1 to 8192 tried) but a new version may prefer many rows.
    constexpr int64_t typical_m = 1024;
    const auto type = data_type(right.dtype);
    const dnnl::memory::desc a({typical_m, right.k}, type, dnnl::memory::format_tag::ab);
    const dnnl::memory::desc b({right.k, right.n}, type, dnnl::memory::format_tag::any);
    const dnnl::memory::desc c({typical_m, right.n}, type, dnnl::memory::format_tag::ab);
    desc = matmul_descriptor(a, b, nullptr, c, strict_attributes({})).weights_desc();
  }
  dnnl::memory::desc desc;
};

LruCache<ProductShape, Product, ShapeHash>& products() {
  static LruCache<ProductShape, Product, ShapeHash> cache(product_cache_capacity);
  return cache;
}

}  // namespace

Product::Product(const ProductShape& shape) : shape_(shape) {
  try {
    const auto a = describe(shape.batch, shape.m, shape.k, shape.a);
    const auto c = describe(shape.batch, shape.m, shape.n, shape.c);
    const auto b = shape.b_packed ? packed_layout(shape.k, shape.n, shape.b.dtype)
                                  : describe(shape.batch, shape.k, shape.n, shape.b);
    dnnl::post_ops post_ops;
    // A sum is fast only where it comes first, a second matrix only after the activation.
    if (shape.accumulate) post_ops.append_sum(1.0f);
    if (shape.activation != Activation::none) append_activation(post_ops, algorithm_of(shape.activation));
    if (shape.has_residual) {
      residual_ = describe(shape.batch, shape.m, shape.n, shape.residual);
      post_ops.append_binary(dnnl::algorithm::binary_add, residual_);
    }
    if (shape.has_bias) {
      const OperandLayout row{DType::f32, shape.n, shape.n, 1};
      bias_ = describe(1, 1, shape.n, row);
      if (shape.batch != 1) bias_ = {{1, 1, shape.n}, data_type(DType::f32), dnnl::memory::dims{shape.n, shape.n, 1}};
    }
    descriptor_ = matmul_descriptor(a, b, shape.has_bias ? &bias_ : nullptr, c, strict_attributes(post_ops));
    primitive_ = dnnl::matmul(descriptor_);
  } catch (const dnnl::error&) {
    return;  // no implementation: quality none
  }
  quality_ = is_generated(descriptor_) ? Quality::fast : Quality::reference;
  scratchpad_bytes_ = descriptor_.scratchpad_desc().get_size();
}

std::unique_ptr<Product::Arguments> Product::make_arguments() const {
  auto arguments = std::make_unique<Arguments>();
  const auto add = [&](int index, const dnnl::memory::desc& desc) {
    arguments->memories.emplace_back(desc, engine(), nullptr);
    arguments->list.push_back({index, arguments->memories.back().get()});
  };
  add(DNNL_ARG_SRC, descriptor_.src_desc());
  add(DNNL_ARG_DST, descriptor_.dst_desc());
  if (!shape_.b_packed) add(DNNL_ARG_WEIGHTS, descriptor_.weights_desc());
  if (shape_.has_bias) add(DNNL_ARG_BIAS, bias_);
  // The sum takes the first place among the post-operations; a product has not both.
  const int residual_place = shape_.activation != Activation::none ? 1 : 0;
  if (shape_.has_residual) add(DNNL_ARG_ATTR_MULTIPLE_POST_OP(residual_place) | DNNL_ARG_SRC_1, residual_);
  if (scratchpad_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, descriptor_.scratchpad_desc());
  if (shape_.b_packed) arguments->list.push_back({DNNL_ARG_WEIGHTS, nullptr});
  return arguments;
}

std::unique_ptr<Product::Arguments> Product::take_arguments() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto arguments = std::move(idle_.back());
      idle_.pop_back();
      return arguments;
    }
  }
  return make_arguments();
}

void Product::run(const ProductData& data) {
  require(quality_ != Quality::none, "matmul: oneDNN has no implementation for ({}, {}) · ({}, {})", shape_.m, shape_.k,
          shape_.k, shape_.n);
  auto arguments = take_arguments();
  size_t next = 0;
  const auto set = [&](const void* pointer) {
    dnnl_memory_set_data_handle(arguments->memories[next++].get(), const_cast<void*>(pointer));
  };
  set(data.a);
  set(data.c);
  if (!shape_.b_packed) set(data.b);
  if (shape_.has_bias) set(data.bias);
  if (shape_.has_residual) set(data.residual);
  if (scratchpad_bytes_ > 0) set(temporary(Temporary::scratchpad, scratchpad_bytes_));
  if (shape_.b_packed) arguments->list.back().memory = data.packed_b;
  execute(primitive_, arguments->list);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(arguments));
}

std::shared_ptr<Product> find_product(const ProductShape& shape) { return products().get(shape); }

int64_t product_cache_size() { return products().size(); }

dnnl::memory::desc packed_layout(int64_t k, int64_t n, DType dtype) {
  static LruCache<RightOperand, RightLayout, RightHash> layouts(product_cache_capacity);
  return layouts.get({k, n, dtype})->desc;
}

bool multiplies_bf16() {
  static const bool answer = [] {
    ProductShape shape;
    shape.m = shape.n = shape.k = 64;
    shape.a = shape.b = {DType::bf16, 0, 64, 1};
    shape.c = {DType::f32, 0, 64, 1};
    shape.threads = thread_count();
    return Product(shape).quality() == Product::Quality::fast;
  }();
  return answer;
}

}  // namespace weft::kernels::onednn
