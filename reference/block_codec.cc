// Block codecs. What touches every element is compiled for each instruction set that Highway knows;
// what touches every block is here once. Blocks are worked on in groups that stay in L1: the
// largest magnitude of each, then the scales, then the elements.

#include "reference/block_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "model/check.h"
#include "reference/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "reference/block_codec.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "reference/convert_lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tally::reference::HWY_NAMESPACE {

/// The largest magnitude of x [n], as bits: of a NaN or an infinity, where there is one.
HWY_INLINE std::uint32_t largest_of_block(const float* x, std::size_t n) {
  const Floats d;
  const SignedWords di;  // magnitudes are below 2^31
  const std::size_t lanes = hn::Lanes(d);
  const auto no_sign = hn::Set(di, 0x7FFF'FFFF);
  auto largest = hn::Zero(di);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    largest = hn::Max(largest, hn::And(hn::BitCast(di, hn::LoadU(d, x + i)), no_sign));
  }
  if (i < n) {
    float rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, x + i, (n - i) * sizeof(float));
    largest = hn::Max(largest, hn::And(hn::BitCast(di, hn::LoadU(d, rest)), no_sign));
  }
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
}

template <Format kId>
HWY_INLINE void encode_block(const float* x, std::size_t n, float scale, std::uint8_t* codes) {
  constexpr std::uint32_t kMaxCode = model::format(kId).max_code();
  const BeyondCodes saturate{kMaxCode, kMaxCode};
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const auto divisor = hn::Set(d, scale);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto y = hn::Div(hn::LoadU(d, x + i), divisor);
    store_codes(encode_lanes<kId>(y, saturate), codes + i);
  }
  if (i == n) return;
  float rest[hn::MaxLanes(d)] = {};
  std::uint8_t rest_codes[hn::MaxLanes(d)];
  std::memcpy(rest, x + i, (n - i) * sizeof(float));
  store_codes(encode_lanes<kId>(hn::Div(hn::LoadU(d, rest), divisor), saturate), rest_codes);
  std::memcpy(codes + i, rest_codes, n - i);
}

template <Format kId>
HWY_INLINE void decode_block(const std::uint8_t* codes, std::size_t n, float scale, float* x) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, scale);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Mul(factor, decode_lanes<kId>(load_codes(codes + i))), d, x + i);
  }
  if (i == n) return;
  std::uint8_t rest_codes[hn::MaxLanes(d)] = {};
  float rest[hn::MaxLanes(d)];
  std::memcpy(rest_codes, codes + i, n - i);
  hn::StoreU(hn::Mul(factor, decode_lanes<kId>(load_codes(rest_codes))), d, rest);
  std::memcpy(x + i, rest, (n - i) * sizeof(float));
}

/// The functions of a group: n elements, in blocks of `length`, one entry of largest or scale each.
void largest_of_blocks(const float* x, std::size_t n, std::size_t length, std::uint32_t* largest) {
  for (std::size_t i = 0; i < n; i += length) {
    *largest++ = largest_of_block(x + i, std::min(length, n - i));
  }
}

template <Format kId>
void encode_group(const float* x, std::size_t n, std::size_t length, const float* scale,
                  std::uint8_t* codes) {
  for (std::size_t i = 0; i < n; i += length, ++scale) {
    const std::size_t size = std::min(length, n - i);
    if (*scale == *scale) {
      encode_block<kId>(x + i, size, *scale, codes + i);
    } else {
      std::memset(codes + i, 0, size);
    }
  }
}

template <Format kId>
void decode_group(const std::uint8_t* codes, std::size_t n, std::size_t length, const float* scale,
                  float* x) {
  for (std::size_t i = 0; i < n; i += length, ++scale) {
    decode_block<kId>(codes + i, std::min(length, n - i), *scale, x + i);
  }
}

void encode_group_any(Format id, const float* x, std::size_t n, std::size_t length,
                      const float* scale, std::uint8_t* codes) {
  if (id == Format::e4m3fn) encode_group<Format::e4m3fn>(x, n, length, scale, codes);
  if (id == Format::e5m2) encode_group<Format::e5m2>(x, n, length, scale, codes);
  if (id == Format::e4m3fnuz) encode_group<Format::e4m3fnuz>(x, n, length, scale, codes);
  if (id == Format::e5m2fnuz) encode_group<Format::e5m2fnuz>(x, n, length, scale, codes);
}

void decode_group_any(Format id, const std::uint8_t* codes, std::size_t n, std::size_t length,
                      const float* scale, float* x) {
  if (id == Format::e4m3fn) decode_group<Format::e4m3fn>(codes, n, length, scale, x);
  if (id == Format::e5m2) decode_group<Format::e5m2>(codes, n, length, scale, x);
  if (id == Format::e4m3fnuz) decode_group<Format::e4m3fnuz>(codes, n, length, scale, x);
  if (id == Format::e5m2fnuz) decode_group<Format::e5m2fnuz>(codes, n, length, scale, x);
}

}  // namespace tally::reference::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tally::reference {
namespace {

using model::Format;
using model::NumberFormat;
using model::ScaleRule;

HWY_EXPORT(largest_of_blocks);
HWY_EXPORT(encode_group_any);
HWY_EXPORT(decode_group_any);

constexpr const NumberFormat& kF32 = model::format(Format::f32);
constexpr std::size_t kGroupElements = 2048, kMaxBlocks = kGroupElements / 16;

/// Which of a whole's elements and blocks are in one group.
struct Group {
  std::size_t begin, size, first_block, blocks;
};

/// Checks the sizes, then calls group(Group) for all in turn.
template <class Function>
void for_groups(const model::Wire& wire, std::size_t n, std::size_t codes, std::size_t scales,
                Function group) {
  TALLY_CHECK(wire.is_block() && wire.length >= 16 && wire.length <= 256, "a block wire");
  TALLY_CHECK(wire.format >= Format::e4m3fn && wire.format <= Format::e5m2fnuz,
              "a block's elements are one of four formats");
  TALLY_CHECK(codes == n, "size of codes");
  TALLY_CHECK(scales == static_cast<std::size_t>(wire.scale_bytes(static_cast<std::int64_t>(n))),
              "size of scales");
  const auto length = static_cast<std::size_t>(wire.length);
  const std::size_t whole = kGroupElements / length * length;
  for (std::size_t begin = 0; begin < n; begin += whole) {
    const std::size_t size = std::min(whole, n - begin);
    group(Group{begin, size, begin / length, (size + length - 1) / length});
  }
}

/// A wire's rule for scales, with the numbers that it needs.
class Scales {
 public:
  explicit Scales(const model::Wire& wire)
      : rule_(wire.rule),
        qmax_(decode(wire.format, model::format(wire.format).max_code())),
        least_(decode(wire.scale, 1u << model::format(wire.scale).fraction_bits)),
        emax_(model::format(wire.format).max_exponent()) {}

  /// The scale, rounded to its format later, from the bits of the block's largest magnitude.
  float operator()(std::uint32_t amax) const {
    if (amax > kF32.max_code()) return std::bit_cast<float>(kF32.nan_code());
    // An f16 scale is rounded twice, to f32 and to f16, and comes out as if once. Be u the last
    // place of the f32 quotient, and m the middle of two f16 values, 12 bits long. amax and qmax m
    // are multiples of 4u where qmax has the significand 7/4, of 8u where it has 15/8. So where
    // they differ, the quotient is at least 4u/7 or 8u/15 from m: too far to be rounded to it.
    if (rule_ == ScaleRule::amax) return std::max(std::bit_cast<float>(amax) / qmax_, least_);
    const auto qmax_fraction = kF32.fraction_field(std::bit_cast<std::uint32_t>(qmax_));
    const bool is_above = kF32.fraction_field(amax) > qmax_fraction;
    const int exponent = static_cast<int>(kF32.exponent_field(amax)) - emax_ +
                         (rule_ == ScaleRule::rceil && is_above ? 1 : 0);
    return decode(Format::e8m0, static_cast<std::uint32_t>(std::max(exponent, 0)));
  }

 private:
  ScaleRule rule_;
  float qmax_, least_;  // the smallest normal scale
  int emax_;
};

}  // namespace

void encode_blocks(const model::Wire& wire, std::span<const float> x, std::span<std::byte> codes,
                   std::span<std::byte> scales) {
  const Scales scale_of(wire);
  const auto length = static_cast<std::size_t>(wire.length);
  const auto bytes = static_cast<std::size_t>(model::format(wire.scale).bytes());
  for_groups(wire, x.size(), codes.size(), scales.size(), [&](const Group& group) {
    std::array<std::uint32_t, kMaxBlocks> largest;
    std::array<float, kMaxBlocks> values;
    const std::span<float> scale = std::span(values).first(group.blocks);
    const auto stored = scales.subspan(group.first_block * bytes, group.blocks * bytes);
    const float* from = x.data() + group.begin;
    HWY_DYNAMIC_DISPATCH(largest_of_blocks)(from, group.size, length, largest.data());
    for (std::size_t i = 0; i < group.blocks; ++i) {
      scale[i] = scale_of(largest[i]);
    }
    encode_array(wire.scale, model::kSaturate, scale, stored);
    decode_array(wire.scale, stored, scale);
    HWY_DYNAMIC_DISPATCH(encode_group_any)
    (wire.format, from, group.size, length, scale.data(),
     reinterpret_cast<std::uint8_t*>(codes.data() + group.begin));
  });
}

void decode_blocks(const model::Wire& wire, std::span<const std::byte> codes,
                   std::span<const std::byte> scales, std::span<float> x) {
  const auto length = static_cast<std::size_t>(wire.length);
  const auto bytes = static_cast<std::size_t>(model::format(wire.scale).bytes());
  for_groups(wire, x.size(), codes.size(), scales.size(), [&](const Group& group) {
    std::array<float, kMaxBlocks> values;
    const std::span<float> scale = std::span(values).first(group.blocks);
    decode_array(wire.scale, scales.subspan(group.first_block * bytes, group.blocks * bytes),
                 scale);
    HWY_DYNAMIC_DISPATCH(decode_group_any)
    (wire.format, reinterpret_cast<const std::uint8_t*>(codes.data() + group.begin), group.size,
     length, scale.data(), x.data() + group.begin);
  });
}

}  // namespace tally::reference
#endif  // HWY_ONCE
