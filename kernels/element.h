#pragma once

// Elements and accumulators, as policies of the kernels.

#include "kernels/device.h"
#include "kernels/software_convert.h"
#include "model/collective.h"

namespace tally::kernels {

TALLY_DEVICE bool is_nan(float x) { return (bits_of(x) & 0x7FFF'FFFFu) > 0x7F80'0000u; }
/// Unsigned integers in the order of the numbers from -infinity to infinity, -0 below +0.
TALLY_DEVICE std::uint32_t place_of(float x) {
  const std::uint32_t bits = bits_of(x);
  return bits ^ ((bits >> 31) != 0 ? 0xFFFF'FFFFu : 0x8000'0000u);
}

/// The arithmetic of elements whose values are floats. Each operation is rounded once.
struct FloatValues {
  using Value = float;
  TALLY_DEVICE static Value zero() { return 0.0f; }
  TALLY_DEVICE static Value one() { return 1.0f; }
  TALLY_DEVICE static Value add(Value a, Value b) { return a + b; }
  TALLY_DEVICE static Value multiply(Value a, Value b) { return a * b; }
  TALLY_DEVICE static Value scale(Value x, float factor) { return x * factor; }
  TALLY_DEVICE static Value divide(Value x, int divisor) { return x / static_cast<float>(divisor); }
  // A NaN on either side gives NaN, which fmin and fmax drop; of two zeros either knows its sign.
  TALLY_DEVICE static Value minimum(Value a, Value b) {
    if (is_nan(a) || is_nan(b)) return float_of(0x7FC0'0000u);
    return place_of(b) < place_of(a) ? b : a;
  }
  TALLY_DEVICE static Value maximum(Value a, Value b) {
    if (is_nan(a) || is_nan(b)) return float_of(0x7FC0'0000u);
    return place_of(a) < place_of(b) ? b : a;
  }
};

/// An element of format F in a user's buffer: f16 or bf16. Its value in registers is a float.
/// Narrow is Gpu::Narrow<F>: encode(float) and decode(uint16).
template <model::Format F>
struct Element : FloatValues {
  static constexpr model::Format kFormat = F;
  using Storage = std::uint16_t;
  template <class Gpu>
  TALLY_DEVICE static Value value(Storage x) {
    return Gpu::template Narrow<F>::decode(x);
  }
  template <class Gpu>
  TALLY_DEVICE static Storage storage(Value x) {
    return Gpu::template Narrow<F>::encode(x);
  }
};

/// What is in registers as it is in memory.
template <class T>
struct AsStored {
  using Storage = T;
  template <class Gpu>
  TALLY_DEVICE static T value(T x) {
    return x;
  }
  template <class Gpu>
  TALLY_DEVICE static T storage(T x) {
    return x;
  }
};

template <>
struct Element<model::Format::f32> : FloatValues, AsStored<float> {
  static constexpr model::Format kFormat = model::Format::f32;
};

/// An element that is only moved: its bits are its value.
template <class Bits>
struct RawElement : AsStored<Bits> {
  using Value = Bits;
  TALLY_DEVICE static Value zero() { return 0; }
};

template <model::Format F>
struct SoftwareNarrow {
  TALLY_DEVICE static std::uint16_t encode(float x) {
    return static_cast<std::uint16_t>(software_encode<F, model::Beyond::special>(x));
  }
  TALLY_DEVICE static float decode(std::uint16_t code) { return software_decode<F>(code); }
};

/// An accumulator of the element type: rounded after every operation.
struct AccumulateElement {
  static constexpr model::Accumulate kAccumulate = model::Accumulate::element;
  template <class Gpu, class E, class Operation>
  TALLY_DEVICE static typename E::Value combine(typename E::Value sum, typename E::Value term) {
    return E::template value<Gpu>(
        E::template storage<Gpu>(Operation::template combine<E>(sum, term)));
  }
};

/// An accumulator in f32: the caller rounds once.
struct AccumulateF32 {
  static constexpr model::Accumulate kAccumulate = model::Accumulate::f32;
  template <class Gpu, class E, class Operation>
  TALLY_DEVICE static typename E::Value combine(typename E::Value sum, typename E::Value term) {
    return Operation::template combine<E>(sum, term);
  }
};

}  // namespace tally::kernels
