#pragma once

// What the ranks put in.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/element_type.h"
#include "model/result.h"
#include "reference/npy.h"

namespace tally::reference {

enum class InputKind : std::uint8_t {
  order_free,  // small integers times a power of two: every order of summation is exact
  uniform,     // in [-1, 1), multiples of 2^-23
  normal,      // standard normal
  laplace,     // density exp(-|x|) / 2
  lognormal,   // e to a standard normal: positive
  outliers,    // standard normal, but 4194 of 2^22 values (0.1 %), at random, are 50 times that
  cancel,      // rank 2k standard normal, rank 2k + 1 its negative plus 1/64 of a standard normal
               // of its own; without a partner the last rank does not cancel
  corner,      // half the edges of the formats in use, half random bits: NaN, infinities, both
               // zeros, subnormals, overflow thresholds
  file,        // a tensor [ranks, elements]
};

/// One source of inputs. `name` is what --input was given.
struct Input {
  InputKind kind;
  std::string name;
  std::shared_ptr<const Tensor> tensor;  // file only
};

/// The names of the built-in kinds.
std::vector<std::string_view> input_kinds();

/// A built-in kind, or a .npy file where the name ends in ".npy" (looked for as given, and then
/// below Tally's own source folder).
model::Result<Input> open_input(const std::string& name);

/// The tensors in Tally's own tests/data, by name; an error where there is none.
model::Result<std::vector<Input>> bundled_tensors();

/// Why a file is too small for `count` elements on `ranks` ranks, naming the flags that ask for
/// them; nothing where it is not, and for the built-in kinds, which have any size.
std::optional<model::Error> too_small(const Input& input, int ranks, std::int64_t count);

/// Which numbers: the same Draw gives the same codes everywhere.
struct Draw {
  std::uint64_t seed = 1;
  int call = 0;
  int rank = 0;
  std::int64_t count = 0;
};

/// `count` codes of `element` for one rank of one call, little-endian. A file's row is chosen as
/// (rank + call) modulo its rows, converted nearest-even; count must not exceed its columns. Of a
/// type that only moves, any bits, whatever the input.
std::vector<std::byte> draw(const Input& input, model::ElementType element, const Draw& draw);

}  // namespace tally::reference
