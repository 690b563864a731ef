#pragma once

// Number conversions, fast. convert_spec.h defines them, and says what rounding, overflow, NaN,
// signed zeros and e8m0 do; here is what is particular to these.

#include <cstddef>
#include <cstdint>
#include <span>

#include "model/conversion.h"

namespace tally::reference {

/// The value that a code stands for, exactly. Bits of `code` above the format's width are ignored.
/// A NaN code gives the quiet NaN 0x7FC00000 with the code's sign; a NaN in the place of minus
/// zero gives the positive one.
float decode(model::Format, std::uint32_t code);

/// The code of x. NaN payloads are dropped: f32 to f32 too gives 0x7FC00000 with the sign.
std::uint32_t encode(model::Format, float x, model::Rounding, model::Overflow,
                     std::uint32_t random_bits = 0);

/// The codes of x [n], each as encode with nearest_even.
/// codes [n * bytes()]: element i at byte i * bytes(), little-endian; a code of less than 8 bits
/// has a byte to itself, zero above. Another size stops the program. x and codes must not overlap.
/// Needs the default floating-point environment: round to nearest, subnormals kept.
void encode_array(model::Format, model::Overflow, std::span<const float> x,
                  std::span<std::byte> codes);

/// The values x [n] of codes [n * bytes()], stored as encode_array stores them, each as decode.
/// Another size stops the program. x and codes must not overlap.
void decode_array(model::Format, std::span<const std::byte> codes, std::span<float> x);

/// Replaces each of x [n] by the nearest value of the format, kept as f32: decode of encode, with
/// nearest_even and kAsFormat. NaN becomes the canonical one of its sign. f32: x is left as it is,
/// NaN payloads included. Needs the default floating-point environment.
void round_array(model::Format, std::span<float> x);

}  // namespace tally::reference
