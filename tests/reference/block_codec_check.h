#pragma once

// Comparing a block codec with the definition, and the blocks to do it on.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/wire.h"
#include "tests/reference/rank_buffers.h"

namespace tally::test {

/// The two halves, as reference::encode_blocks and decode_blocks.
struct BlockCodec {
  const char* name;
  void (*encode)(const model::Wire&, std::span<const float> x, std::span<std::byte> codes,
                 std::span<std::byte> scales);
  void (*decode)(const model::Wire&, std::span<const std::byte> codes,
                 std::span<const std::byte> scales, std::span<float> x);
};

/// reference/block_codec.h.
extern const BlockCodec kFastCodec;

struct Encoded {
  std::vector<std::byte> codes, scales;
};
Encoded encoded(const BlockCodec&, const model::Wire&, const std::vector<float>& x);
std::vector<float> decoded(const BlockCodec&, const model::Wire&, const Encoded&);

/// The scale of block `index`, as a code.
std::uint32_t scale_at(const model::Wire&, const Encoded&, std::int64_t index);

/// The first place where the codec encodes x, or decodes the definition's codes of x, otherwise
/// than the definition; as text to look at, empty where there is none. NaNs are equal.
std::string first_difference(const BlockCodec&, const model::Wire&, const std::vector<float>& x);
/// The same for the decoding of any codes.
std::string first_difference(const BlockCodec&, const model::Wire&, const Encoded&);

/// Four element formats x five lengths x four kinds of scale.
std::vector<model::Wire> every_block_wire();
/// The four element formats x four kinds of scale, at that length.
std::vector<model::Wire> block_wires(int length);

/// What a block is made of.
enum class BlockKind {
  any_bits,
  one_magnitude,  // within 2^16 of each other, anywhere in the range of f32
  around_one,
  zero,       // of both signs
  subnormal,  // of f32
  huge,       // within 2^3 of the largest finite
  with_nan,
  with_infinity,
};
inline constexpr int kBlockKinds = 8;
std::vector<float> random_block(BlockKind, std::int64_t length, Random&);

/// All magnitudes that a scale rule may treat alike or not: every power of two, and qmax times
/// every power of two, with their neighbours in f32; finite ones only.
std::vector<float> edge_magnitudes(const model::NumberFormat& element);

/// Blocks of the wire's length, whose largest magnitudes are these, in random places among
/// smaller values; the last block is short.
std::vector<float> blocks_with_largest(const model::Wire&, const std::vector<float>& largest,
                                       Random&);

}  // namespace tally::test
