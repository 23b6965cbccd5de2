#include "weft/io/safetensors.h"

#include <algorithm>
#include <cstring>

#include "weft/base/error.h"
#include "weft/base/json.h"

namespace weft {

namespace {

SafetensorsHeader header_of(const MappedFile& file, const std::filesystem::path& path) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  return parse_safetensors_header(text, text.size(), path.string());
}

// Pointers to the tensors in the order in which their numbers are written.
std::vector<const NamedTensor*> ordered(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& item : tensors) {
    require(item.tensor.defined(), "write safetensors: \"{}\" is an empty tensor", item.name);
    require(item.name != "__metadata__", "write safetensors: a tensor cannot have the name __metadata__");
    order.push_back(&item);
  }
  std::sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const size_t size_a = size_of(a->tensor.dtype());
    const size_t size_b = size_of(b->tensor.dtype());
    return size_a != size_b ? size_a > size_b : a->name < b->name;
  });
  return order;
}

std::string header_text(std::span<const NamedTensor* const> order, const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const NamedTensor* item : order) {
    const Tensor& tensor = item->tensor;
    require(!header.contains(item->name), "write safetensors: two tensors have the name \"{}\"", item->name);
    Json& entry = header[item->name];
    entry["dtype"] = safetensors_name(tensor.dtype());
    entry["shape"] = std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end());
    entry["data_offsets"] = {offset, offset + tensor.bytes()};
    offset += tensor.bytes();
  }
  std::string text = format_json(header, JsonStyle::compact);
  constexpr size_t alignment = 64;
  const size_t used = (sizeof(uint64_t) + text.size()) % alignment;
  if (used != 0) text.append(alignment - used, ' ');
  require(text.size() <= max_safetensors_header_bytes,
          "write safetensors: a header of {} bytes, at most {} are allowed", text.size(), max_safetensors_header_bytes);
  return text;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : path_(path), file_(std::make_shared<MappedFile>(path)), header_(header_of(*file_, path)) {
  for (size_t i = 0; i < header_.entries.size(); ++i) index_[header_.entries[i].name] = i;
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> result;
  for (const SafetensorsEntry& entry : header_.entries) result.push_back(entry.name);
  return result;
}

bool SafetensorsFile::contains(std::string_view name) const { return index_.find(name) != index_.end(); }

const SafetensorsEntry& SafetensorsFile::entry(std::string_view name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail<FormatError>("{}: has no tensor \"{}\"", path_.string(), name);
  return header_.entries[found->second];
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const SafetensorsEntry& entry = this->entry(name);
  if (!entry.dtype) {
    fail<FormatError>("{}: {}: weft holds no {}; convert it to F32, BF16, F16, I32, I64, U8 or BOOL", path_.string(),
                      name, entry.dtype_name);
  }
  if (entry.sizes.size() > Shape::max_rank) {
    fail<FormatError>("{}: {}: {} dimensions are more than the {} that weft handles", path_.string(), name,
                      entry.sizes.size(), Shape::max_rank);
  }
  const Shape shape{std::span<const int64_t>(entry.sizes)};
  const size_t bytes = entry.end - entry.begin;
  if (bytes == 0) return Tensor::empty(shape, *entry.dtype);
  std::byte* const first = file_->private_bytes().data() + header_.data_offset + entry.begin;
  const auto is_bool = [](std::byte value) { return value <= std::byte{1}; };
  if (entry.dtype == DType::boolean && !std::all_of(first, first + bytes, is_bool)) {
    fail<FormatError>("{}: {}: a BOOL is neither 0 nor 1", path_.string(), name);
  }
  if (reinterpret_cast<uintptr_t>(first) % size_of(*entry.dtype) == 0) {
    return Tensor::over(std::shared_ptr<const std::byte>(file_, first), shape, *entry.dtype);
  }
  Tensor copy = Tensor::empty(shape, *entry.dtype);
  std::memcpy(copy.raw(), first, bytes);
  return copy;
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::vector<const NamedTensor*> order = ordered(tensors);
  const std::string header = header_text(order, metadata);
  AtomicFile file(path);
  const uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const NamedTensor* item : order) {
    const Tensor dense = item->tensor.contiguous();
    file.write({dense.raw(), static_cast<size_t>(dense.bytes())});
  }
  file.commit();
}

}  // namespace weft
