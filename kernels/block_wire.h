#pragma once

// Block wires: a block of elements shares a scale, and so do the threads that hold them.
//
//   thread    0   1   2   3 | 4   5   6   7      blocks of 64: a group is four threads of a wave,
//   word      0   1   2   3 | 4   5   6   7      each with a word of 16 codes
//             '- largest --'  '- largest -'      xor-shuffles, within the group
//   scale     0               1                  stored and loaded by the group's first thread
//
// Scratch: the words of all elements of the call, then its blocks' scales. A block does not cross
// the edge of a chunk or part, since these are multiples of its length.

#include "kernels/block_scale.h"
#include "kernels/codec.h"

namespace tally::kernels {

/// Blocks is ScaledBlocks, or stands for it on symbols.
template <class Blocks>
class BlockCodec {
 public:
  using Parameters = BlockParameters;
  using Packet = typename Blocks::Packet;
  static constexpr int kPerWord = 16;
  static constexpr bool kCarriesElements = false;
  struct Held {
    Packet packet;
    std::uint32_t scale;  // its code
  };

  TALLY_DEVICE BlockCodec(const BlockParameters& p, std::int64_t count)
      : p_(p), words_((count + kPerWord - 1) / kPerWord) {}

  TALLY_DEVICE int group() const { return 1 << (p_.length_bits - kWordBits); }
  TALLY_DEVICE int unit_bits() const {
    return p_.length_bits > kUnitBits ? p_.length_bits : kUnitBits;
  }

  template <class Gpu>
  TALLY_DEVICE Held encode(Gpu& gpu, const Tile& tile,
                           const typename Blocks::Value (&x)[kPerWord]) const {
    std::uint32_t all = Blocks::summary(x, tile.valid);
    for (int mask = 1; mask < group(); mask *= 2) {
      all = Blocks::unite(all, gpu.shuffle_xor(all, mask, group()));
    }
    const std::uint32_t scale = Blocks::template scale<Gpu>(p_, all);
    return {Blocks::template encode<Gpu>(p_, scale, x), scale};
  }
  template <class Gpu>
  TALLY_DEVICE void decode(const Held& held, typename Blocks::Value (&x)[kPerWord]) const {
    Blocks::template decode<Gpu>(p_, held.scale, held.packet, x);
  }

  template <class Gpu>
  TALLY_DEVICE Held load(Gpu& gpu, const Packet* scratch, const Tile& tile) const {
    Held held{};
    if (tile.valid > 0) held.packet = gpu.load(scratch + tile.word);
    if (begins_block(tile)) {
      const auto* scales = reinterpret_cast<const std::byte*>(scratch + words_);
      held.scale = Blocks::load_scale(gpu, p_, scales, tile.first >> p_.length_bits);
    }
    held.scale = gpu.shuffle(held.scale, 0, group());
    return held;
  }
  template <class Gpu>
  TALLY_DEVICE void store(Gpu& gpu, Packet* scratch, const Tile& tile, const Held& held) const {
    if (tile.valid > 0) gpu.store(scratch + tile.word, held.packet);
    if (begins_block(tile)) {
      auto* scales = reinterpret_cast<std::byte*>(scratch + words_);
      Blocks::store_scale(gpu, p_, scales, tile.first >> p_.length_bits, held.scale);
    }
  }

 private:
  static constexpr int kWordBits = 4;
  TALLY_DEVICE bool begins_block(const Tile& tile) const {
    const std::int64_t block = tile.first >> p_.length_bits;
    return tile.valid > 0 && block << p_.length_bits == tile.first;
  }

  const BlockParameters p_;
  const std::int64_t words_;
};

}  // namespace tally::kernels
