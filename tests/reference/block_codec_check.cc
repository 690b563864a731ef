#include "tests/reference/block_codec_check.h"

#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/block_codec.h"
#include "reference/block_codec_spec.h"

namespace tally::test {

using model::Format;
using model::ScaleRule;
using model::Wire;

namespace {

constexpr BlockCodec kSpec{"definition", reference::encode_blocks_spec,
                           reference::decode_blocks_spec};
constexpr Format kElements[] = {Format::e4m3fn, Format::e5m2, Format::e4m3fnuz, Format::e5m2fnuz};

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// Where, what was given, what came out and what should have.
std::string place(const Wire& wire, std::int64_t block, std::int64_t element, const char* what,
                  std::uint32_t of, std::uint32_t got, std::uint32_t want) {
  char text[160];
  std::snprintf(text, sizeof text, ", block %lld, element %lld: %s %#x, got %#x, want %#x",
                static_cast<long long>(block), static_cast<long long>(element), what, of, got,
                want);
  return wire.name() + text;
}

}  // namespace

const BlockCodec kFastCodec{"fast", reference::encode_blocks, reference::decode_blocks};

Encoded encoded(const BlockCodec& codec, const Wire& wire, const std::vector<float>& x) {
  Encoded to{std::vector<std::byte>(x.size(), std::byte(0x55)),
             std::vector<std::byte>(wire.scale_bytes(std::ssize(x)), std::byte(0x55))};
  codec.encode(wire, x, to.codes, to.scales);
  return to;
}

std::vector<float> decoded(const BlockCodec& codec, const Wire& wire, const Encoded& from) {
  std::vector<float> x(from.codes.size(), 12345.0f);
  codec.decode(wire, from.codes, from.scales, x);
  return x;
}

std::uint32_t scale_at(const Wire& wire, const Encoded& from, std::int64_t index) {
  return code_at(wire.scale, from.scales, index);
}

std::string first_difference(const BlockCodec& codec, const Wire& wire,
                             const std::vector<float>& x) {
  const Encoded got = encoded(codec, wire, x), want = encoded(kSpec, wire, x);
  for (std::int64_t i = 0; i < std::ssize(x); ++i) {
    const std::int64_t block = i / wire.length;
    const std::uint32_t got_scale = scale_at(wire, got, block);
    const std::uint32_t want_scale = scale_at(wire, want, block);
    if (got_scale != want_scale) {
      return place(wire, block, i, "scale where x is", bits_of(x[i]), got_scale, want_scale);
    }
    if (got.codes[i] != want.codes[i]) {
      return place(wire, block, i, "code of", bits_of(x[i]),
                   std::to_integer<std::uint32_t>(got.codes[i]),
                   std::to_integer<std::uint32_t>(want.codes[i]));
    }
  }
  return first_difference(codec, wire, want);
}

std::string first_difference(const BlockCodec& codec, const Wire& wire, const Encoded& from) {
  const std::vector<float> got = decoded(codec, wire, from), want = decoded(kSpec, wire, from);
  for (std::int64_t i = 0; i < std::ssize(got); ++i) {
    if (same_code(Format::f32, bits_of(got[i]), bits_of(want[i]))) continue;
    return place(wire, i / wire.length, i, "value of",
                 std::to_integer<std::uint32_t>(from.codes[i]), bits_of(got[i]), bits_of(want[i]));
  }
  return "";
}

std::vector<Wire> block_wires(int length) {
  std::vector<Wire> wires;
  for (const Format element : kElements) {
    wires.push_back(block_wire(element, length, Format::f32, ScaleRule::amax));
    wires.push_back(block_wire(element, length, Format::f16, ScaleRule::amax));
    wires.push_back(block_wire(element, length, Format::e8m0, ScaleRule::floor));
    wires.push_back(block_wire(element, length, Format::e8m0, ScaleRule::rceil));
  }
  return wires;
}

std::vector<Wire> every_block_wire() {
  std::vector<Wire> wires;
  for (const int length : {16, 32, 64, 128, 256}) {
    for (const Wire& wire : block_wires(length)) wires.push_back(wire);
  }
  return wires;
}

std::vector<float> random_block(BlockKind kind, std::int64_t length, Random& random) {
  const std::uint32_t base = random.below(255 - 16);
  std::vector<float> block;
  for (std::int64_t i = 0; i < length; ++i) {
    const auto any = static_cast<std::uint32_t>(random.bits() >> 32);
    const std::uint32_t no_exponent = any & 0x807F'FFFF;
    const std::uint32_t around_one = no_exponent | (120 + random.below(16)) << 23;
    const std::uint32_t bits[kBlockKinds] = {
        any,         no_exponent | (base + random.below(16)) << 23, around_one, any & 0x8000'0000,
        no_exponent, no_exponent | (252 + random.below(3)) << 23,   around_one, around_one};
    block.push_back(from_bits(bits[static_cast<int>(kind)]));
  }
  const auto chosen = random.below(static_cast<std::uint32_t>(length));
  const auto any = static_cast<std::uint32_t>(random.bits() >> 32);
  if (kind == BlockKind::with_nan) block[chosen] = from_bits(any | 0x7F80'0001);
  if (kind == BlockKind::with_infinity)
    block[chosen] = from_bits((any & 0x8000'0000) | 0x7F80'0000);
  return block;
}

std::vector<float> edge_magnitudes(const model::NumberFormat& element) {
  std::vector<float> magnitudes;
  for (const double factor : {1.0, element.max_finite()}) {
    for (int exponent = -149 - 15; exponent < 128; ++exponent) {
      const double middle = std::ldexp(factor, exponent);
      if (middle < 0x1p-149 || middle > 0x1.fffffep127) continue;
      const std::uint32_t bits = bits_of(static_cast<float>(middle));
      for (const std::uint32_t near : {bits - 2, bits - 1, bits, bits + 1, bits + 2}) {
        if (near <= 0x7F7F'FFFF) magnitudes.push_back(from_bits(near));  // bits - 2 may wrap around
      }
    }
  }
  return magnitudes;
}

std::vector<float> blocks_with_largest(const Wire& wire, const std::vector<float>& largest,
                                       Random& random) {
  std::vector<float> x;
  for (const float magnitude : largest) {
    const std::size_t begin = x.size();
    const bool last = x.size() / wire.length + 1 == largest.size();
    const int length = last ? 1 + static_cast<int>(random.below(wire.length)) : wire.length;
    for (int i = 0; i < length; ++i) {
      // Any magnitude up to the largest: a number of its own exponent or of one of 20 below.
      const std::uint32_t below = random.below(20) << 23, bits = bits_of(magnitude);
      const auto any = static_cast<std::uint32_t>(random.bits() >> 32);
      const std::uint32_t less = bits > below ? bits - below : 0;
      const std::uint32_t value = less - (less > 0 ? (any & 0x7F'FFFF) % (less + 1) : 0);
      x.push_back(from_bits(value | (any & 0x8000'0000)));
    }
    x[begin + random.below(static_cast<std::uint32_t>(length))] = magnitude;
  }
  return x;
}

}  // namespace tally::test
