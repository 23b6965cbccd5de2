// Matrix products at the sizes of the training presets: GFLOP/s with the operands as a training step has them, and the
// time of products so small that the way to oneDNN counts.

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "weft/kernels/matmul.h"

namespace {

using weft::DType;
using weft::kernels::MatmulEpilogue;
using weft::kernels::MutableMatrix;
using weft::kernels::PackedMatrix;
using weft::kernels::Transpose;

struct Matrix {
  Matrix(int64_t rows, int64_t cols, DType dtype) : bytes(static_cast<size_t>(rows * cols) * weft::size_of(dtype)) {
    view = {bytes.data(), dtype, rows, cols, cols};
    for (size_t i = 0; i < bytes.size(); i += 2) {  // small positive numbers in either type
      const uint16_t half = static_cast<uint16_t>(0x3e00 + i % 251);
      std::memcpy(bytes.data() + i, &half, sizeof half);
    }
  }
  std::vector<unsigned char> bytes;
  MutableMatrix view;
};

struct Layer {
  const char* name;
  int64_t tokens;
  int64_t in;
  int64_t out;
};

constexpr Layer layers[] = {
    {"peak", 2048, 2048, 2048},       {"char-gpt/qkv", 8192, 384, 1152},  {"char-gpt/out", 8192, 384, 384},
    {"char-gpt/up", 8192, 384, 1536}, {"char-gpt/down", 8192, 1536, 384}, {"count/qkv", 5120, 256, 768},
    {"count/up", 5120, 256, 1024},    {"count/down", 5120, 1024, 256},    {"gpt2/qkv", 2048, 768, 2304},
    {"gpt2/up", 2048, 768, 3072},     {"gpt2/down", 2048, 3072, 768},     {"gpt2/out", 2048, 768, 768},
    {"gpt2/head", 512, 768, 50257},
};

void report(benchmark::State& state, const Layer& layer) {
  const double operations = 2.0 * static_cast<double>(layer.tokens * layer.in * layer.out);
  state.counters["GFLOP/s"] = benchmark::Counter(operations / 1e9, benchmark::Counter::kIsIterationInvariantRate);
}

// y (tokens, out) = x · weightᵀ, weight (out, in), or dx = dy · weight; packed or as it lies.
void forward(benchmark::State& state, Layer layer, DType dtype, Transpose transpose, bool packed) {
  Matrix x(layer.tokens, layer.in, dtype), weight(layer.out, layer.in, dtype), y(layer.tokens, layer.out, dtype);
  if (transpose == Transpose::no) weight = Matrix(layer.in, layer.out, dtype);
  PackedMatrix right;
  if (packed) right.pack(weight.view, transpose, dtype);
  for (auto _ : state) {
    if (packed) {
      matmul(x.view, right, y.view);
    } else {
      matmul(x.view, Transpose::no, weight.view, transpose, y.view);
    }
  }
  report(state, layer);
}

// dweight (out, in) += dyᵀ · x, in f32.
void weight_gradient(benchmark::State& state, Layer layer, DType dtype) {
  Matrix x(layer.tokens, layer.in, dtype), dy(layer.tokens, layer.out, dtype), dweight(layer.out, layer.in, DType::f32);
  MatmulEpilogue epilogue;
  epilogue.accumulate = true;
  for (auto _ : state) matmul(dy.view, Transpose::yes, x.view, Transpose::no, dweight.view, epilogue);
  report(state, layer);
}

// Packing of float32 master weights, once per optimizer step.
void pack(benchmark::State& state, Layer layer, DType dtype, Transpose transpose) {
  Matrix weight(layer.out, layer.in, DType::f32);
  PackedMatrix right;
  for (auto _ : state) right.pack(weight.view, transpose, dtype);
  state.SetBytesProcessed(state.iterations() * layer.in * layer.out * static_cast<int64_t>(4 + weft::size_of(dtype)));
}

// Products of the decoding of `rows` sequences.
void small(benchmark::State& state, int64_t rows, int64_t d, DType dtype) {
  Matrix x(rows, d, dtype), weight(d, d, dtype), y(rows, d, dtype);
  PackedMatrix right;
  right.pack(weight.view, Transpose::yes, dtype);
  for (auto _ : state) matmul(x.view, right, y.view);
  report(state, {"", rows, d, d});
}

void add(const std::string& name, auto function) {
  benchmark::RegisterBenchmark(name.c_str(), function)->UseRealTime()->MinTime(0.2);
}

void register_layer(const Layer& layer, DType dtype) {
  const std::string name = "matmul/" + std::string(layer.name) + "/" + std::string(weft::name_of(dtype)) + "/";
  for (const bool packed : {false, true}) {
    const std::string suffix = packed ? "/packed" : "/plain";
    add(name + "y" + suffix, [=](benchmark::State& s) { forward(s, layer, dtype, Transpose::yes, packed); });
    const Layer back{layer.name, layer.tokens, layer.out, layer.in};
    add(name + "dx" + suffix, [=](benchmark::State& s) { forward(s, back, dtype, Transpose::no, packed); });
  }
  add(name + "dweight", [=](benchmark::State& s) { weight_gradient(s, layer, dtype); });
  add(name + "pack/y", [=](benchmark::State& s) { pack(s, layer, dtype, Transpose::yes); });
  add(name + "pack/dx", [=](benchmark::State& s) { pack(s, layer, dtype, Transpose::no); });
}

bool register_all() {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const Layer& layer : layers) register_layer(layer, dtype);
    for (const int64_t d : {8, 384}) {
      for (const int64_t rows : {1, 2, 4, 8, 16, 32}) {
        const std::string name =
            "matmul/small/" + std::string(weft::name_of(dtype)) + "/d" + std::to_string(d) + "/rows";
        add(name + std::to_string(rows), [=](benchmark::State& s) { small(s, rows, d, dtype); });
      }
    }
  }
  return true;
}

// Registered before main, which the benchmark library has.
const bool registered = register_all();

}  // namespace
