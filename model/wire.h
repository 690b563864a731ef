#pragma once

// Wires: how a contribution travels between ranks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/conversion.h"
#include "model/element_type.h"
#include "model/result.h"

namespace tally::model {

/// How the scale s of a block follows from its largest magnitude amax; qmax is the element format's
/// largest finite value, emax that value's exponent. Source of floor: OCP MX 1.0, section 6.3.
enum class ScaleRule : std::uint8_t {
  amax,   // s = amax / qmax, nearest-even in the scale's format, within its normal range
  floor,  // s = 2^(exponent of amax - emax), clamped to 2^-127..2^127
  rceil,  // s = the smallest power of two with amax <= qmax * s, clamped likewise
};

/// `none`: elements travel as they are. `cast`: each is converted by itself to `format`,
/// nearest-even, with `overflow` beyond the finite range. `block`: `length` elements share a scale;
/// each is divided by it, converted to `format` and saturates. A NaN or an infinity in a block
/// makes its scale NaN, and with it the whole block.
struct Wire {
  enum class Kind : std::uint8_t { none, cast, block };

  Kind kind = Kind::none;
  Format format = Format::f32;    // cast and block: one byte a code
  Overflow overflow = kAsFormat;  // cast and block (saturating there)
  int length = 1;                 // block: 16, 32, 64, 128 or 256 elements
  Format scale = Format::f32;     // block: f32, f16 or e8m0
  ScaleRule rule = ScaleRule::amax;

  bool is_none() const { return kind == Kind::none; }
  bool is_block() const { return kind == Kind::block; }
  /// The name that parse_wire reads: none, e4m3fn, e4m3fn:sat, e4m3fn:b128:f32,
  /// e4m3fn:b32:e8m0:floor, ...
  std::string name() const;
  /// The format in which a code of this wire stands for an element of type `element`.
  Format code_format(Format element) const { return is_none() ? element : format; }
  /// Chunks and the parts of lanes are multiples of this many elements, so that no codec block
  /// and no word of 16 bytes belongs to two of them.
  std::int64_t unit() const { return length > 128 ? length : 128; }
  /// Exact bytes of the codes, and of the scales, of `count` elements that begin a block.
  std::int64_t code_bytes(std::int64_t count, ElementType element) const {
    return count * (is_none() ? element.bytes() : model::format(format).bytes());
  }
  std::int64_t scale_bytes(std::int64_t count) const {
    return is_block() ? (count + length - 1) / length * model::format(scale).bytes() : 0;
  }
  std::int64_t bytes(std::int64_t count, ElementType element) const {
    return code_bytes(count, element) + scale_bytes(count);
  }
};

inline constexpr Wire kNoWire{};
constexpr Wire cast_wire(Format format, Overflow overflow = kAsFormat) {
  return {Wire::Kind::cast, format, overflow};
}
constexpr Wire block_wire(Format format, int length, Format scale, ScaleRule rule) {
  return {Wire::Kind::block, format, kSaturate, length, scale, rule};
}

/// None, every cast, and for each format four kinds of block: what `--wire all` stands for.
/// parse_wire accepts other lengths too.
std::vector<Wire> all_wires();

/// The wire of that name; the error names the text and what may have been meant. A block wire is
/// ELEMENT:bLENGTH:SCALE[:RULE]; the rule is amax with f32 and f16 scales, floor (the default) or
/// rceil with e8m0. mxfp8_e4m3 and mxfp8_e5m2 are e4m3fn and e5m2 with :b32:e8m0:floor.
Result<Wire> parse_wire(std::string_view name);

}  // namespace tally::model
