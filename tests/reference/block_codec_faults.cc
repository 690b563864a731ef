#include "tests/reference/block_codec_faults.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "reference/convert.h"

namespace tally::test {
namespace {

using model::Format;
using model::Rounding;
using model::ScaleRule;
using model::Wire;
using reference::decode;
using reference::encode;

enum class Fault {
  none,
  multiplies,       // by the reciprocal of the scale
  takes_log2,       // of amax, instead of its exponent field
  flushes_scale,    // 2^-127, a subnormal of f32, to zero
  shifts_blocks,    // which then cross the edge where a chunk begins
  neighbour_scale,  // decodes with the scale of the next block
  does_not_clamp,   // a scale below the smallest normal one
  loses_nan,        // by a comparison that it fails
  overflows,        // as the format has it, instead of saturating
  rounds_amax,      // to bf16 before the scale is made
  keeps_codes,      // of a block with a NaN
  truncates_scale,
};

float within_f32(float amax) { return std::min(amax, 0x1.fffffep127f); }

float largest(Fault fault, const std::vector<float>& block) {
  float amax = 0;
  bool special = false;
  for (const float x : block) {
    if (std::fabs(x) > amax) amax = std::fabs(x);  // not for NaN
    special = special || (fault == Fault::loses_nan ? std::isinf(x) : !std::isfinite(x));
  }
  if (special) return NAN;
  if (fault != Fault::rounds_amax) return amax;
  const auto code = encode(Format::bf16, amax, Rounding::nearest_even, model::kAsFormat);
  return within_f32(decode(Format::bf16, code));
}

std::uint32_t scale_code(Fault fault, const Wire& wire, float amax) {
  const model::NumberFormat &element = model::format(wire.format), &f = model::format(wire.scale);
  if (std::isnan(amax)) return f.nan_code();
  const auto qmax = static_cast<float>(element.max_finite());
  if (wire.rule == ScaleRule::amax) {
    const auto least = static_cast<float>(f.min_normal());
    const float quotient = amax / qmax;
    const auto rounding =
        fault == Fault::truncates_scale ? Rounding::toward_zero : Rounding::nearest_even;
    return encode(wire.scale, fault == Fault::does_not_clamp ? quotient : std::max(quotient, least),
                  rounding, model::kSaturate);
  }
  int exponent = amax == 0 ? -1000 : std::ilogb(amax);
  if (fault == Fault::takes_log2 && amax > 0) {
    exponent = static_cast<int>(std::floor(std::log2(amax)));
  }
  exponent -= element.max_exponent();
  if (wire.rule == ScaleRule::rceil && static_cast<double>(amax) > std::ldexp(qmax, exponent)) {
    ++exponent;
  }
  if (fault == Fault::does_not_clamp) return static_cast<std::uint32_t>(exponent + 127) & 0xFF;
  return static_cast<std::uint32_t>(std::clamp(exponent, -127, 127) + 127);
}

float scale_value(Fault fault, const Wire& wire, std::uint32_t code) {
  if (fault == Fault::flushes_scale && wire.scale == Format::e8m0 && code == 0) return 0;
  return decode(wire.scale, code);
}

std::uint32_t element_code(Fault fault, const Wire& wire, float x, float scale) {
  if (std::isnan(scale) && fault != Fault::keeps_codes) return 0;
  const float y = fault == Fault::multiplies ? x * (1 / scale) : x / scale;
  return encode(wire.format, y, Rounding::nearest_even,
                fault == Fault::overflows ? model::kAsFormat : model::kSaturate);
}

/// The block that element i belongs to.
std::size_t block_of(Fault fault, const Wire& wire, std::size_t i, std::size_t blocks) {
  const auto length = static_cast<std::size_t>(wire.length);
  return std::min(blocks - 1, (fault == Fault::shifts_blocks ? i + length / 2 : i) / length);
}

std::size_t blocks_in(const Wire& wire, std::size_t n) {
  return (n + static_cast<std::size_t>(wire.length) - 1) / static_cast<std::size_t>(wire.length);
}

template <Fault kFault>
void encode_blocks(const Wire& wire, std::span<const float> x, std::span<std::byte> codes,
                   std::span<std::byte> scales) {
  std::vector<std::vector<float>> blocks(blocks_in(wire, x.size()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    blocks[block_of(kFault, wire, i, blocks.size())].push_back(x[i]);
  }
  std::vector<float> values;
  std::vector<std::byte> stored;
  for (const std::vector<float>& block : blocks) {
    const std::uint32_t code = scale_code(kFault, wire, largest(kFault, block));
    append_code(wire.scale, code, stored);
    values.push_back(scale_value(kFault, wire, code));
  }
  std::copy(stored.begin(), stored.end(), scales.begin());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scale = values[block_of(kFault, wire, i, blocks.size())];
    codes[i] = std::byte(element_code(kFault, wire, x[i], scale));
  }
}

template <Fault kFault>
void decode_blocks(const Wire& wire, std::span<const std::byte> codes,
                   std::span<const std::byte> scales, std::span<float> x) {
  const std::vector<std::byte> stored(scales.begin(), scales.end());
  const std::size_t blocks = blocks_in(wire, x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t block = block_of(kFault, wire, i, blocks);
    if (kFault == Fault::neighbour_scale) block = (block + 1) % blocks;
    const std::uint32_t code = code_at(wire.scale, stored, static_cast<std::int64_t>(block));
    x[i] = scale_value(kFault, wire, code) *
           decode(wire.format, std::to_integer<std::uint32_t>(codes[i]));
  }
}

template <Fault kFault>
constexpr BlockCodec codec(const char* name) {
  return {name, encode_blocks<kFault>, decode_blocks<kFault>};
}

bool any(const Wire&) { return true; }
bool has_e8m0(const Wire& wire) { return wire.scale == Format::e8m0; }
bool has_fractions(const Wire& wire) { return wire.scale != Format::e8m0; }
bool has_f16(const Wire& wire) { return wire.scale == Format::f16; }
bool floors(const Wire& wire) { return wire.rule == ScaleRule::floor; }

const FaultyCodec kFaulty[] = {
    {codec<Fault::multiplies>("multiplies by the reciprocal"), has_fractions},
    {codec<Fault::takes_log2>("takes the scale's exponent from log2"), floors},
    {codec<Fault::flushes_scale>("takes e8m0 code 0 for zero"), has_e8m0},
    {codec<Fault::shifts_blocks>("lets blocks cross the edge of a chunk"), any},
    {codec<Fault::neighbour_scale>("decodes with the neighbour's scale"), any},
    {codec<Fault::does_not_clamp>("does not clamp the scale"), any},
    {codec<Fault::loses_nan>("loses NaN"), any},
    {codec<Fault::overflows>("does not saturate"), floors},
    {codec<Fault::rounds_amax>("rounds amax to bf16 first"), any},
    {codec<Fault::keeps_codes>("stores codes in a NaN block"), any},
    {codec<Fault::truncates_scale>("truncates the scale"), has_f16},
};

}  // namespace

std::span<const FaultyCodec> faulty_codecs() { return kFaulty; }
const BlockCodec kCodecWithoutFault = codec<Fault::none>("has no fault");

}  // namespace tally::test
