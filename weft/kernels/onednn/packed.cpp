#include "weft/kernels/onednn/packed.h"

#include "weft/base/error.h"
#include "weft/base/threads.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/onednn/lru_cache.h"
#include "weft/kernels/onednn/pack_bf16.h"
#include "weft/kernels/onednn/product.h"
#include "weft/kernels/simd/matrix.h"

namespace weft::kernels {

namespace {

struct ReorderShape {
  int64_t k = 0;
  int64_t n = 0;
  int64_t row = 0;
  int64_t col = 0;
  DType source = DType::f32;
  DType stored = DType::f32;
  int threads = 1;
  bool operator==(const ReorderShape&) const = default;
};

struct ReorderHash {
  size_t operator()(const ReorderShape& s) const {
    return onednn::Hasher().add(s.k).add(s.n).add(s.row).add(s.col).add(s.source).add(s.stored).add(s.threads).value();
  }
};

struct Reorder {
  explicit Reorder(const ReorderShape& s)
      : source({s.k, s.n}, onednn::data_type(s.source), dnnl::memory::dims{s.row, s.col}),
        primitive(dnnl::reorder::primitive_desc(onednn::engine(), source, onednn::engine(),
                                                onednn::packed_layout(s.k, s.n, s.stored))) {}
  dnnl::memory::desc source;
  dnnl::reorder primitive;
};

std::shared_ptr<Reorder> find_reorder(const ReorderShape& shape) {
  static onednn::LruCache<ReorderShape, Reorder, ReorderHash> cache(256);
  return cache.get(shape);
}

}  // namespace

void onednn::pack_operand(const void* b, const OperandLayout& from, int64_t k, int64_t n, DType stored,
                          const dnnl::memory& packed) {
  if (stored == DType::bf16 && packed.get_desc() == paired_layout(k, n)) {
    const bool transposed = from.col != 1;
    const ConstMatrix matrix{b, from.dtype, transposed ? n : k, transposed ? k : n, transposed ? from.col : from.row};
    return pack_pairs(matrix, transposed, packed.get_data_handle());
  }
  const auto reorder = find_reorder({k, n, from.row, from.col, from.dtype, stored, thread_count()});
  const dnnl::memory source(reorder->source, engine(), const_cast<void*>(b));
  execute(reorder->primitive, {{DNNL_ARG_FROM, source.get()}, {DNNL_ARG_TO, packed.get()}});
}

PackedMatrix::PackedMatrix() = default;
PackedMatrix::PackedMatrix(PackedMatrix&&) noexcept = default;
PackedMatrix& PackedMatrix::operator=(PackedMatrix&&) noexcept = default;
PackedMatrix::~PackedMatrix() = default;

bool PackedMatrix::empty() const { return layout_ == nullptr; }
int64_t PackedMatrix::k() const { return layout_ ? layout_->k : 0; }
int64_t PackedMatrix::n() const { return layout_ ? layout_->n : 0; }
DType PackedMatrix::dtype() const { return layout_ ? layout_->dtype : DType::f32; }
int64_t PackedMatrix::bytes() const {
  return layout_ && layout_->memory ? static_cast<int64_t>(layout_->desc.get_size()) : 0;
}

void PackedMatrix::pack(ConstMatrix b, Transpose transpose, DType dtype) {
  check_matrix("pack", "b", b);
  require(dtype == DType::f32 || dtype == DType::bf16, "pack: expected f32 or bf16, got {}", name_of(dtype));
  const bool transposed = transpose == Transpose::yes;
  const int64_t k = transposed ? b.cols : b.rows;
  const int64_t n = transposed ? b.rows : b.cols;
  if (!layout_) layout_ = std::make_unique<Layout>();
  Layout& layout = *layout_;
  if (!layout.memory || k != layout.k || n != layout.n || dtype != layout.dtype) {
    layout.k = k;
    layout.n = n;
    layout.dtype = dtype;
    layout.stored = dtype == DType::bf16 && onednn::multiplies_bf16() ? DType::bf16 : DType::f32;
    layout.memory = {};
    layout.desc = {};
    if (k == 0 || n == 0) return;
    layout.desc = onednn::packed_layout(k, n, layout.stored);
    layout.memory = dnnl::memory(layout.desc, onednn::engine(), layout.buffer.reserve(layout.desc.get_size()));
  }
  if (dtype != layout.stored && b.dtype != dtype) {
    void* memory = onednn::temporary(onednn::Temporary::right, static_cast<size_t>(b.rows * b.cols) * size_of(dtype));
    const MutableMatrix rounded{memory, dtype, b.rows, b.cols, b.cols};
    convert(b, rounded);
    b = rounded;
  }
  const int64_t stride = b.rows <= 1 ? b.cols : b.stride;
  const onednn::OperandLayout from{b.dtype, 0, transposed ? 1 : stride, transposed ? stride : 1};
  onednn::pack_operand(b.data, from, k, n, layout.stored, layout.memory);
}

}  // namespace weft::kernels
