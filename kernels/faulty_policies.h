#pragma once

// Planted faults of arithmetic: elements, operations and codecs. The host's only.

#include <cmath>

#include "kernels/movement.h"

namespace tally::kernels {

/// bf16 by leaving out the lower half, instead of rounding.
struct TruncatedBf16 : Element<model::Format::bf16> {
  template <class Gpu>
  static Storage storage(Value x) {
    return is_nan(x) ? Element::storage<Gpu>(x) : static_cast<Storage>(bits_of(x) >> 16);
  }
};

struct MinimumLosesNan : Minimum {
  template <class E>
  static typename E::Value combine(typename E::Value a, typename E::Value term) {
    return std::fmin(a, term);
  }
};

struct MaximumLosesNan : Maximum {
  template <class E>
  static typename E::Value combine(typename E::Value a, typename E::Value term) {
    return std::fmax(a, term);
  }
};

/// Divides by the number of elements.
struct WrongDivisor : Average {
  template <class E, class Arguments>
  static typename E::Value complete(typename E::Value x, const Arguments& a) {
    return E::divide(x, static_cast<int>(a.count));
  }
};

struct IntegerLikeAverage : Average {
  template <class E, class Arguments>
  static typename E::Value complete(typename E::Value x, const Arguments& a) {
    return std::trunc(E::divide(x, a.ranks));
  }
};

/// A cast wire that rounds to f16 on the way.
template <model::Format format, model::Beyond beyond>
struct DoubleRounding : CastCodec<format, beyond> {
  using CastCodec<format, beyond>::CastCodec;
  template <class Gpu>
  static Word encode(Gpu&, const Tile&, const float (&x)[16]) {
    using Half = typename Gpu::template Narrow<model::Format::f16>;
    float y[16];
    for (int i = 0; i < 16; ++i) y[i] = Half::decode(Half::encode(x[i]));
    return encode_word<Gpu, format, beyond>(y);
  }
};

struct ReciprocalScale : FaithfulBlocks {
  static float quotient(float x, float scale) { return x * (1.0f / scale); }
};

/// The logarithm of what is just below a power of two rounds to that power's.
struct Log2Scale : FaithfulBlocks {
  static std::int32_t exponent_field(std::uint32_t bits) {
    if (bits == 0) return 0;
    return 127 + static_cast<std::int32_t>(std::floor(std::log2(float_of(bits))));
  }
};

struct E8m0ZeroFlushed : FaithfulBlocks {
  static float decode_e8m0(std::uint32_t code) {
    return code == 0 ? 0.0f : FaithfulBlocks::decode_e8m0(code);
  }
};

/// Chunks and parts are multiples of the unit alone, so that longer blocks cross their edges.
template <class Blocks>
struct BlockAcrossChunk : BlockCodec<Blocks> {
  using BlockCodec<Blocks>::BlockCodec;
  static int unit_bits() { return kUnitBits; }
};

}  // namespace tally::kernels
