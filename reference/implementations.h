#pragma once

// Conversions as named hardware and libraries do them, where they differ from one another.

#include <cstdint>
#include <span>
#include <string_view>

#include "model/conversion.h"

namespace tally::reference {

/// How sure the row is.
enum class Evidence : std::uint8_t {
  defined,   // the row is the standard's own text
  measured,  // the implementation was run on the cases
  read,      // its source or its manual was read; it was not run
  believed,  // neither; see the cases for which cells
};

/// When a finite value counts as overflowing.
enum class OverflowTest : std::uint8_t { after_rounding, before_rounding };

/// What NaN becomes where the format has NaN.
enum class NanCode : std::uint8_t {
  keeps_sign,    // nan_code() with the sign
  positive,      // nan_code()
  top_fraction,  // only the top fraction bit set where that is NaN, with the sign
};

/// What NaN becomes where the format has none.
enum class NoNan : std::uint8_t {
  max_finite,  // the largest positive value, whatever the sign
  minus_zero,  // the code of -0; +0 for a negative NaN
};

/// What a scale format without zero and sign makes of these.
enum class ScaleZero : std::uint8_t { smallest, nan };
enum class ScaleSign : std::uint8_t { negative_is_nan, ignored };

/// Where a value between the two smallest of a scale format goes.
enum class ScaleBottom : std::uint8_t { as_rounding, up };

/// How a significand is moved far to the right.
enum class TinyShift : std::uint8_t {
  exact,
  modulo_64,  // by the distance modulo 64, so that some tiny values come out large
};

/// A set of formats, one bit each.
using FormatSet = std::uint32_t;
template <class... Formats>
constexpr FormatSet formats(Formats... ids) {
  return ((FormatSet{1} << static_cast<unsigned>(ids)) | ...);
}

struct Implementation {
  std::string_view name;
  std::string_view source;  // public
  Evidence evidence;
  FormatSet covers;
  model::Rounding rounding;
  model::Overflow overflow;
  OverflowTest overflow_test = OverflowTest::after_rounding;
  NanCode nan = NanCode::keeps_sign;
  NoNan no_nan = NoNan::max_finite;
  ScaleZero scale_zero = ScaleZero::smallest;
  ScaleSign scale_sign = ScaleSign::negative_is_nan;
  ScaleBottom scale_bottom = ScaleBottom::as_rounding;
  TinyShift tiny_shift = TinyShift::exact;
};

/// All of them, in the order of the tables that list them.
std::span<const Implementation> implementations();

/// The implementation of that name; null where there is none.
const Implementation* find_implementation(std::string_view name);

constexpr bool covers(const Implementation& implementation, model::Format format) {
  return (implementation.covers & formats(format)) != 0;
}

/// The code that the implementation gives for x, defects included. The format must be covered:
/// another one stops the program. Where a source leaves the sign of NaN open this keeps it.
std::uint32_t encode_as(const Implementation&, model::Format, float x);

}  // namespace tally::reference
