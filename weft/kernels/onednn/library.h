#pragma once

#include <dnnl.hpp>
#include <vector>

#include "weft/base/dtype.h"

// oneDNN as weft calls it. The only place that knows which of its two programming interfaces (2.x or 3.x) is installed.
namespace weft::kernels::onednn {

const dnnl::engine& engine();
dnnl::stream& stream();  // of the calling thread; the processor engine has finished when execution returns

dnnl::memory::data_type data_type(DType dtype);  // f32 or bf16

// What follows a product inside its kernel.
void append_activation(dnnl::post_ops& post_ops, dnnl::algorithm algorithm);

// Strict float32 arithmetic, scratch memory from the caller.
dnnl::primitive_attr strict_attributes(const dnnl::post_ops& post_ops);

// `bias` null: none. Throws dnnl::error if no implementation takes these layouts.
dnnl::matmul::primitive_desc matmul_descriptor(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                               const dnnl::memory::desc* bias, const dnnl::memory::desc& c,
                                               const dnnl::primitive_attr& attributes);

// Runs a primitive without building the map of dnnl::primitive::execute, which allocates.
void execute(const dnnl::primitive& primitive, const std::vector<dnnl_exec_arg_t>& arguments);

}  // namespace weft::kernels::onednn
