#pragma once

#include <cstdint>

#include "weft/data/batch.h"

namespace weft::data {

// Batches by number. Batch `index` is the same whenever and by whoever it is asked for, so that a run which was
// interrupted needs to remember nothing but how many batches it has used.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t batches_per_epoch() const = 0;  // ≥ 1
  // Index counts on through the epochs: epoch e starts at e · batches_per_epoch(). Thread-safe.
  virtual Batch batch(int64_t index) const = 0;
  // A number that changes with the data and with how batches are drawn: tells a resumed run that it goes on with the
  // same.
  virtual uint64_t fingerprint() const = 0;
};

}  // namespace weft::data
