#pragma once

// How many bytes a wire takes, for every wire that anyone sends: also those whose arithmetic is not
// here, such as integers and formats of less than a byte.

#include <cstdint>
#include <string>
#include <string_view>

#include "model/element_type.h"
#include "model/result.h"
#include "model/wire.h"

namespace tally::model {

struct WireSize {
  std::string name = "none";
  int element_bits = 0;  // 0: as the element type has
  int block = 0;         // elements that share a scale; 0: no scale
  int scale_bits = 0;

  bool is_none() const { return element_bits == 0; }
  /// Bytes of `count` elements that begin a block; the codes end with a whole byte.
  std::int64_t bytes(std::int64_t count, ElementType element) const;
};

WireSize size_of(const Wire& wire);

/// Reads what parse_wire reads, and ELEMENT:bLENGTH:SCALE[:RULE] with the elements int4, int6,
/// int8, e3m2, e2m3 and e2m1, scales e4m3fn too, and any length in 1..65536; mxfp8_e4m3,
/// mxfp8_e5m2, mxfp6_e2m3, mxfp6_e3m2 and mxfp4 (OCP MX 1.0: 32 elements, e8m0) and nvfp4 (e2m1, 16
/// elements, e4m3fn). The rule is not looked at.
Result<WireSize> parse_wire_size(std::string_view name);

}  // namespace tally::model
