#pragma once

// Elements, accumulators and wires, as policies of the kernels. A codec never knows ranks.

#include "kernels/device.h"
#include "kernels/software_convert.h"

namespace tally::kernels {

/// An element of format F in a user's buffer; its value in registers is a float.
template <model::Format F>
struct Element;

template <>
struct Element<model::Format::f32> {
  static constexpr model::Format kFormat = model::Format::f32;
  using Storage = float;
  using Value = float;
  TALLY_DEVICE static Value zero() { return 0.0f; }
  TALLY_DEVICE static Value add(Value a, Value b) { return a + b; }
  template <class Gpu>
  TALLY_DEVICE static Value value(Storage x) {
    return x;
  }
  template <class Gpu>
  TALLY_DEVICE static Storage storage(Value x) {
    return x;
  }
};

/// f16 and bf16. Narrow is Gpu::Narrow<F>: encode(float) and decode(uint16).
template <model::Format F>
struct Element {
  static constexpr model::Format kFormat = F;
  using Storage = std::uint16_t;
  using Value = float;
  TALLY_DEVICE static Value zero() { return 0.0f; }
  TALLY_DEVICE static Value add(Value a, Value b) { return a + b; }
  template <class Gpu>
  TALLY_DEVICE static Value value(Storage x) {
    return Gpu::template Narrow<F>::decode(x);
  }
  template <class Gpu>
  TALLY_DEVICE static Storage storage(Value x) {
    return Gpu::template Narrow<F>::encode(x);
  }
};

template <model::Format F>
struct SoftwareNarrow {
  TALLY_DEVICE static std::uint16_t encode(float x) {
    return static_cast<std::uint16_t>(software_encode<F, model::Beyond::special>(x));
  }
  TALLY_DEVICE static float decode(std::uint16_t code) { return software_decode<F>(code); }
};

/// A sum in the element type: rounded after every addition.
struct AccumulateElement {
  template <class Gpu, class E>
  TALLY_DEVICE static typename E::Value add(typename E::Value sum, typename E::Value term) {
    return E::template value<Gpu>(E::template storage<Gpu>(E::add(sum, term)));
  }
};

/// A sum in f32: the caller rounds once.
struct AccumulateF32 {
  template <class Gpu, class E>
  TALLY_DEVICE static typename E::Value add(typename E::Value sum, typename E::Value term) {
    return E::add(sum, term);
  }
};

/// Wire none: a word holds elements as they are.
template <class E>
struct PlainCodec {
  using Packet = Word;
  static constexpr int kPerWord = static_cast<int>(sizeof(Word) / sizeof(typename E::Storage));

  template <class Gpu>
  TALLY_DEVICE static Packet encode(const typename E::Value (&x)[kPerWord]) {
    Elements elements;
    for (int i = 0; i < kPerWord; ++i) elements.at[i] = E::template storage<Gpu>(x[i]);
    return __builtin_bit_cast(Word, elements);
  }
  template <class Gpu>
  TALLY_DEVICE static void decode(const Packet& packet, typename E::Value (&x)[kPerWord]) {
    const Elements elements = __builtin_bit_cast(Elements, packet);
    for (int i = 0; i < kPerWord; ++i) x[i] = E::template value<Gpu>(elements.at[i]);
  }

 private:
  struct Elements {
    typename E::Storage at[kPerWord];
  };
};

/// A cast wire: a word holds 16 codes of a one-byte format. `read_as` differs from `format` only
/// in a planted fault.
template <model::Format format, model::Beyond beyond, model::Format read_as = format>
struct CastCodec {
  using Packet = Word;
  static constexpr int kPerWord = 16;

  template <class Gpu>
  TALLY_DEVICE static Packet encode(const float (&x)[kPerWord]) {
    Word word;
    for (int i = 0; i < 4; ++i) {
      const float four[4] = {x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]};
      word.part[i] = Gpu::template Convert<format, beyond>::encode4(four);
    }
    return word;
  }
  template <class Gpu>
  TALLY_DEVICE static void decode(const Packet& packet, float (&x)[kPerWord]) {
    for (int i = 0; i < 4; ++i) {
      float four[4];
      Gpu::template Convert<read_as, beyond>::decode4(packet.part[i], four);
      for (int j = 0; j < 4; ++j) x[4 * i + j] = four[j];
    }
  }
};

}  // namespace tally::kernels
