#pragma once

// Reads tensors from .npy files.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/result.h"

namespace tally::reference {

/// A tensor [rows, columns] of f32, row-major.
struct Tensor {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> values;

  std::span<const float> row(std::int64_t r) const {
    return std::span(values).subspan(r * columns, columns);
  }
};

/// The tensor in the bytes of a .npy file (format versions 1.0 to 3.0): shape [rows, columns],
/// C order, little-endian float32 ('<f4') or float16 ('<f2', converted exactly). `name` stands in
/// errors. Source: NumPy Enhancement Proposal 1.
model::Result<Tensor> parse_npy(const std::string& name, std::span<const std::byte> bytes);

/// The same for a file; one that cannot be read is an error.
model::Result<Tensor> read_npy(const std::string& path);

}  // namespace tally::reference
