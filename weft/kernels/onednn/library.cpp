#include "weft/kernels/onednn/library.h"

namespace weft::kernels::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
  return instance;
}

dnnl::stream& stream() {
  thread_local dnnl::stream instance(engine());
  return instance;
}

dnnl::memory::data_type data_type(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

void append_activation(dnnl::post_ops& post_ops, dnnl::algorithm algorithm) {
  // The factor inside swish (1: SiLU) and the slope of relu for negative numbers.
  const float alpha = algorithm == dnnl::algorithm::eltwise_relu ? 0.0f : 1.0f;
#if DNNL_VERSION_MAJOR >= 3
  post_ops.append_eltwise(algorithm, alpha, 0.0f);
#else
  post_ops.append_eltwise(1.0f, algorithm, alpha, 0.0f);
#endif
}

dnnl::primitive_attr strict_attributes(const dnnl::post_ops& post_ops) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_post_ops(post_ops);
  return attributes;
}

dnnl::matmul::primitive_desc matmul_descriptor(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                               const dnnl::memory::desc* bias, const dnnl::memory::desc& c,
                                               const dnnl::primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias == nullptr) return {engine(), a, b, c, attributes};
  return {engine(), a, b, *bias, c, attributes};
#else
  if (bias == nullptr) return {dnnl::matmul::desc(a, b, c), attributes, engine()};
  return {dnnl::matmul::desc(a, b, *bias, c), attributes, engine()};
#endif
}

void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments) {
  dnnl::error::wrap_c_api(
      dnnl_primitive_execute(primitive.get(), stream().get(), static_cast<int>(arguments.size()), arguments.data()),
      "could not execute a primitive");
}

}  // namespace weft::kernels::onednn
