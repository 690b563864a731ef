#pragma once

// The arithmetic of a block: its scale by each rule, its codes, its values. All on bits or in f32.

#include <cstddef>

#include "kernels/codec.h"

namespace tally::kernels {

/// A block wire's run-time parameters: one kernel serves all lengths, scales and rules.
struct BlockParameters {
  std::int32_t length_bits;  // blocks of 2^length_bits elements, 4..8
  model::Format scale;       // f32, f16 or e8m0
  model::ScaleRule rule;

  static BlockParameters of(const model::Wire& wire) {
    std::int32_t bits = 4;
    while (1 << bits < wire.length) ++bits;
    return {bits, wire.scale, wire.rule};
  }
  TALLY_DEVICE static BlockParameters of(const BlockParameters& parameters) { return parameters; }
};

inline constexpr std::uint32_t kE8m0Nan = model::format(model::Format::e8m0).nan_code();
inline constexpr std::int32_t kE8m0Max = model::format(model::Format::e8m0).max_code();

/// The steps that planted faults (planted.h) replace.
struct FaithfulBlocks {
  /// What is encoded: the IEEE quotient.
  TALLY_DEVICE static float quotient(float x, float scale) { return x / scale; }
  /// 2^(code - 127). Code 0 is a subnormal, 255 NaN.
  TALLY_DEVICE static float decode_e8m0(std::uint32_t code) {
    if (code == kE8m0Nan) return float_of(0x7FC0'0000u);
    return float_of(code == 0 ? 0x0040'0000u : code << 23);
  }
  /// The exponent field of 2^floor(log2 x), of a finite x's bits; 0 for subnormals.
  TALLY_DEVICE static std::int32_t exponent_field(std::uint32_t bits) {
    return static_cast<std::int32_t>(bits >> 23);
  }
};

template <model::Format F, class Steps = FaithfulBlocks>
struct ScaledBlocks {
  using Value = float;
  using Packet = Word;
  static constexpr int n = 16;

  /// The bits of the largest magnitude. NaN and infinity are the largest of all, so that a maximum
  /// loses neither. What is behind the last element is zero.
  TALLY_DEVICE static std::uint32_t summary(const float (&x)[n], std::int64_t) {
    std::uint32_t largest = 0;
    for (int i = 0; i < n; ++i) largest = unite(largest, bits_of(x[i]) & 0x7FFF'FFFFu);
    return largest;
  }
  TALLY_DEVICE static std::uint32_t unite(std::uint32_t a, std::uint32_t b) {
    return a < b ? b : a;
  }

  /// The code of the scale, by the wire's rule.
  template <class Gpu>
  TALLY_DEVICE static std::uint32_t scale(const BlockParameters& p, std::uint32_t largest) {
    const bool is_finite = largest < kInfinity;
    if (p.scale == model::Format::e8m0) {
      return is_finite ? power_of_two(p.rule, largest) : kE8m0Nan;
    }
    const float quotient = float_of(largest) / kMax;
    if (p.scale == model::Format::f32) {
      const float limited = quotient < kMinNormal ? kMinNormal : quotient;
      return is_finite ? bits_of(limited) : 0x7FC0'0000u;
    }
    return is_finite ? f16_code<Gpu>(quotient) : Half::kNanCode;
  }

  template <class Gpu>
  TALLY_DEVICE static Word encode(const BlockParameters& p, std::uint32_t scale,
                                  const float (&x)[n]) {
    const float s = value<Gpu>(p, scale);
    if (is_nan(s)) return Word{};
    float y[n];
    for (int i = 0; i < n; ++i) y[i] = Steps::quotient(x[i], s);
    return encode_word<Gpu, F, model::Beyond::max_finite>(y);
  }
  template <class Gpu>
  TALLY_DEVICE static void decode(const BlockParameters& p, std::uint32_t scale, const Word& word,
                                  float (&x)[n]) {
    const float s = value<Gpu>(p, scale);
    decode_word<Gpu, F, model::Beyond::max_finite>(word, x);
    for (int i = 0; i < n; ++i) x[i] = s * x[i];
  }

  template <class Gpu>
  TALLY_DEVICE static std::uint32_t load_scale(Gpu& gpu, const BlockParameters& p,
                                               const std::byte* scales, std::int64_t block) {
    if (p.scale == model::Format::f32) {
      return gpu.load(reinterpret_cast<const std::uint32_t*>(scales) + block);
    }
    if (p.scale == model::Format::f16) {
      return gpu.load(reinterpret_cast<const std::uint16_t*>(scales) + block);
    }
    return gpu.load(reinterpret_cast<const std::uint8_t*>(scales) + block);
  }
  template <class Gpu>
  TALLY_DEVICE static void store_scale(Gpu& gpu, const BlockParameters& p, std::byte* scales,
                                       std::int64_t block, std::uint32_t code) {
    if (p.scale == model::Format::f32) {
      gpu.store(reinterpret_cast<std::uint32_t*>(scales) + block, code);
    } else if (p.scale == model::Format::f16) {
      gpu.store(reinterpret_cast<std::uint16_t*>(scales) + block, static_cast<std::uint16_t>(code));
    } else {
      gpu.store(reinterpret_cast<std::uint8_t*>(scales) + block, static_cast<std::uint8_t>(code));
    }
  }

 private:
  using Half = FormatFacts<model::Format::f16>;
  static constexpr std::uint32_t kInfinity = 0x7F80'0000u;
  static constexpr float kMinNormal =
      static_cast<float>(model::format(model::Format::f32).min_normal());
  static constexpr float kMax = static_cast<float>(model::format(F).max_finite());
  static constexpr std::uint32_t kMaxBits = __builtin_bit_cast(std::uint32_t, kMax);
  static constexpr std::int32_t kMaxExponent = static_cast<std::int32_t>(kMaxBits >> 23) - 127;
  static constexpr std::uint32_t kFraction = 0x007F'FFFFu;

  /// The value of a scale's code.
  template <class Gpu>
  TALLY_DEVICE static float value(const BlockParameters& p, std::uint32_t code) {
    if (p.scale == model::Format::f32) return float_of(code);
    if (p.scale == model::Format::e8m0) return Steps::decode_e8m0(code);
    return Gpu::template Narrow<model::Format::f16>::decode(static_cast<std::uint16_t>(code));
  }

  /// The code of a quotient q = amax / kMax that was rounded to f32. That it is rounded again does
  /// no harm: with A the amax and kMax = d times a power of two, where d is 7 or 15, count in last
  /// places of A. Then q = A / d, where A < 2^24, and a midpoint h between two f16 is an integer.
  /// If q is not h, it is 1/d or more from h, but rounding to f32 moves it by 2^-24 q or less,
  /// which is below 1/d: never onto h. Below f16's normal numbers, and above, the limits decide.
  template <class Gpu>
  TALLY_DEVICE static std::uint32_t f16_code(float quotient) {
    constexpr std::uint32_t kMinNormalCode = 1u << Half::kFractionBits;
    const std::uint32_t code = Gpu::template Narrow<model::Format::f16>::encode(quotient);
    if (code < kMinNormalCode) return kMinNormalCode;
    return code > Half::kMaxCode ? Half::kMaxCode : code;
  }

  /// floor: the exponent of amax less that of kMax. rceil: one more where amax's significand is
  /// above kMax's, so that amax <= kMax * scale. The codes are exponent fields of an f32.
  TALLY_DEVICE static std::uint32_t power_of_two(model::ScaleRule rule, std::uint32_t largest) {
    std::int32_t code = Steps::exponent_field(largest) - kMaxExponent;
    if (rule == model::ScaleRule::rceil && (largest & kFraction) > (kMaxBits & kFraction)) ++code;
    return static_cast<std::uint32_t>(code < 0 ? 0 : code > kE8m0Max ? kE8m0Max : code);
  }
};

}  // namespace tally::kernels
