#pragma once

// Wires: how a contribution travels between ranks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/conversion.h"
#include "model/number_format.h"
#include "model/result.h"

namespace tally::model {

/// `none`: elements travel as they are. `cast`: each is converted by itself to `format`,
/// nearest-even, with `overflow` beyond the finite range.
struct Wire {
  enum class Kind : std::uint8_t { none, cast };

  Kind kind = Kind::none;
  Format format = Format::f32;    // cast only
  Overflow overflow = kAsFormat;  // cast only

  bool is_none() const { return kind == Kind::none; }
  /// The name that parse_wire reads: none, e4m3fn, e4m3fn:sat, ...
  std::string name() const;
  /// The format in which a code of this wire stands for an element of type `element`.
  Format code_format(Format element) const { return is_none() ? element : format; }
  /// Chunks and the parts of lanes are multiples of this many elements, so that no codec block
  /// and no word of 16 bytes belongs to two of them.
  std::int64_t unit() const { return 128; }
  /// Exact bytes of `count` encoded elements.
  std::int64_t bytes(std::int64_t count, Format element) const {
    return count * model::format(code_format(element)).bytes();
  }
};

inline constexpr Wire kNoWire{};
constexpr Wire cast_wire(Format format, Overflow overflow = kAsFormat) {
  return {Wire::Kind::cast, format, overflow};
}

/// Every wire that parse_wire accepts.
std::vector<Wire> all_wires();

/// The wire of that name; the error names the text and what may have been meant.
Result<Wire> parse_wire(std::string_view name);

}  // namespace tally::model
