#pragma once

// Wires, as policies of the kernels. A codec never knows ranks. It is made from its Parameters and
// the elements of the call, and has
//
//   Packet, kPerWord       what a word of scratch is, and how many elements' codes it holds
//   kCarriesElements       whether codes are elements as they are
//   Held                   a word of codes in registers, with its scale where it has one
//   int group()            so many neighbouring threads work together, in all of its functions
//   int unit_bits()        chunks and parts are multiples of 2^unit_bits() elements
//   Held encode(gpu, tile, x)
//   void decode<Gpu>(held, x)
//   Held load(gpu, scratch, tile), void store(gpu, scratch, tile, held)

#include "kernels/element.h"
#include "model/wire.h"

namespace tally::kernels {

/// Chunks and parts are multiples of this many elements or more, so that no word belongs to two.
inline constexpr int kUnitBits = 7;
inline constexpr std::int64_t kUnit = 1 << kUnitBits;

/// What a thread works on at a time: the elements [first, first + valid), whose codes are in word
/// number `word`. Only a thread that has to work with its group has none: valid is then 0.
struct Tile {
  std::int64_t word, first, valid;
};

/// The run-time parameters of a wire whose elements travel by themselves.
struct NoParameters {
  template <class WireParameters>
  TALLY_DEVICE static NoParameters of(const WireParameters&) {
    return {};
  }
};

/// What codecs without scales share.
template <class PacketType, int per_word>
class WordsAlone {
 public:
  using Parameters = NoParameters;
  using Packet = PacketType;
  using Held = Packet;
  static constexpr int kPerWord = per_word;
  static constexpr bool kCarriesElements = false;

  TALLY_DEVICE WordsAlone(NoParameters, std::int64_t) {}
  TALLY_DEVICE static constexpr int group() { return 1; }
  TALLY_DEVICE static constexpr int unit_bits() { return kUnitBits; }
  template <class Gpu>
  TALLY_DEVICE static Held load(Gpu& gpu, const Packet* scratch, const Tile& tile) {
    return gpu.load(scratch + tile.word);
  }
  template <class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, Packet* scratch, const Tile& tile, const Held& held) {
    gpu.store(scratch + tile.word, held);
  }
};

/// Wire none: a word holds elements as they are.
template <class E>
class PlainCodec
    : public WordsAlone<Word, static_cast<int>(sizeof(Word) / sizeof(typename E::Storage))> {
  static constexpr int n = static_cast<int>(sizeof(Word) / sizeof(typename E::Storage));
  struct Elements {
    typename E::Storage at[n];
  };

 public:
  using WordsAlone<Word, n>::WordsAlone;
  static constexpr bool kCarriesElements = true;

  template <class Gpu>
  TALLY_DEVICE static Word encode(Gpu&, const Tile&, const typename E::Value (&x)[n]) {
    Elements elements;
    for (int i = 0; i < n; ++i) elements.at[i] = E::template storage<Gpu>(x[i]);
    return __builtin_bit_cast(Word, elements);
  }
  template <class Gpu>
  TALLY_DEVICE static void decode(const Word& word, typename E::Value (&x)[n]) {
    const Elements elements = __builtin_bit_cast(Elements, word);
    for (int i = 0; i < n; ++i) x[i] = E::template value<Gpu>(elements.at[i]);
  }
};

/// 16 codes of a one-byte format in a word.
template <class Gpu, model::Format format, model::Beyond beyond>
TALLY_DEVICE Word encode_word(const float (&x)[16]) {
  Word word;
  for (int i = 0; i < 4; ++i) {
    const float four[4] = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
    word.part[i] = Gpu::template Convert<format, beyond>::encode4(four);
  }
  return word;
}
template <class Gpu, model::Format format, model::Beyond beyond>
TALLY_DEVICE void decode_word(const Word& word, float (&x)[16]) {
  for (int i = 0; i < 4; ++i) {
    float four[4];
    Gpu::template Convert<format, beyond>::decode4(word.part[i], four);
    for (int j = 0; j < 4; ++j) x[4 * i + j] = four[j];
  }
}

/// A cast wire. `read_as` differs from `format` only in a planted fault.
template <model::Format format, model::Beyond beyond, model::Format read_as = format>
class CastCodec : public WordsAlone<Word, 16> {
 public:
  using WordsAlone<Word, 16>::WordsAlone;

  template <class Gpu>
  TALLY_DEVICE static Word encode(Gpu&, const Tile&, const float (&x)[16]) {
    return encode_word<Gpu, format, beyond>(x);
  }
  template <class Gpu>
  TALLY_DEVICE static void decode(const Word& word, float (&x)[16]) {
    decode_word<Gpu, read_as, beyond>(word, x);
  }
};

}  // namespace tally::kernels
