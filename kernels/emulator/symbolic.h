#pragma once

// A symbolic element and codec: the kernels run on expressions, and what they compute can be
// compared with what the schedule says, term by term.

#include "kernels/movement.h"
#include "model/check.h"
#include "model/expression.h"

namespace tally::kernels::emulator {

using Symbol = model::Expressions::Id;

/// The pool that symbolic kernels of this OS thread write to while it lives; one at a time.
class SymbolScope {
 public:
  explicit SymbolScope(model::Expressions& pool) {
    TALLY_CHECK(current_ == nullptr, "one symbolic run at a time");
    current_ = &pool;
  }
  ~SymbolScope() { current_ = nullptr; }
  SymbolScope(const SymbolScope&) = delete;
  SymbolScope& operator=(const SymbolScope&) = delete;

  static model::Expressions& pool() {
    TALLY_CHECK(current_ != nullptr, "a symbolic kernel runs inside a SymbolScope");
    return *current_;
  }

 private:
  inline static thread_local model::Expressions* current_ = nullptr;
};

struct SymbolElement {
  using Storage = Symbol;
  using Value = Symbol;
  static Value zero() { return SymbolScope::pool().zero(); }
  static Value one() { return SymbolScope::pool().one(); }
  static Value add(Value a, Value b) { return combine(model::Op::sum, a, b); }
  static Value multiply(Value a, Value b) { return combine(model::Op::prod, a, b); }
  static Value minimum(Value a, Value b) { return combine(model::Op::min, a, b); }
  static Value maximum(Value a, Value b) { return combine(model::Op::max, a, b); }
  static Value scale(Value x, float) { return SymbolScope::pool().premultiply(x); }
  static Value divide(Value x, int divisor) { return SymbolScope::pool().divide(x, divisor); }
  template <class Gpu>
  static Value value(Storage x) {
    return x;
  }
  template <class Gpu>
  static Storage storage(Value x) {
    return SymbolScope::pool().round(x);
  }

 private:
  static Value combine(model::Op op, Value a, Value b) {
    return SymbolScope::pool().combine(op, a, b);
  }
};

template <int per_word>
struct SymbolPacket {
  Symbol at[per_word];
};

/// Wire none with `per_word` elements in a word.
template <int per_word>
struct SymbolPlainCodec : WordsAlone<SymbolPacket<per_word>, per_word> {
  using WordsAlone<SymbolPacket<per_word>, per_word>::WordsAlone;
  using Packet = SymbolPacket<per_word>;
  static constexpr bool kCarriesElements = true;
  template <class Gpu>
  static Packet encode(Gpu&, const Tile&, const Symbol (&x)[per_word]) {
    Packet packet;
    for (int i = 0; i < per_word; ++i) packet.at[i] = SymbolScope::pool().round(x[i]);
    return packet;
  }
  template <class Gpu>
  static void decode(const Packet& packet, Symbol (&x)[per_word]) {
    for (int i = 0; i < per_word; ++i) x[i] = packet.at[i];
  }
};

/// A wire that encodes each element by itself.
template <int per_word>
struct SymbolCastCodec : WordsAlone<SymbolPacket<per_word>, per_word> {
  using WordsAlone<SymbolPacket<per_word>, per_word>::WordsAlone;
  using Packet = SymbolPacket<per_word>;
  template <class Gpu>
  static Packet encode(Gpu&, const Tile&, const Symbol (&x)[per_word]) {
    Packet packet;
    for (int i = 0; i < per_word; ++i) packet.at[i] = SymbolScope::pool().encode(x[i]);
    return packet;
  }
  template <class Gpu>
  static void decode(const Packet& packet, Symbol (&x)[per_word]) {
    for (int i = 0; i < per_word; ++i) x[i] = SymbolScope::pool().decode(packet.at[i]);
  }
};

/// The blocks of BlockCodec on symbols: a scale is the set of the values that it depends on, and a
/// code that is decoded with another scale than its own is nobody's value.
struct SymbolBlocks {
  using Value = Symbol;
  using Packet = SymbolPacket<16>;

  static std::uint32_t summary(const Symbol (&x)[16], std::int64_t valid) {
    std::uint32_t all = kNobody;
    for (int i = 0; i < valid; ++i) all = unite(all, number(SymbolScope::pool().members(x[i])));
    return all;
  }
  static std::uint32_t unite(std::uint32_t a, std::uint32_t b) {
    if (a == kNobody || b == kNobody) return a == kNobody ? b : a;
    return number(SymbolScope::pool().unite(Symbol{a}, Symbol{b}));
  }
  template <class Gpu>
  static std::uint32_t scale(const BlockParameters&, std::uint32_t all) {
    return all;
  }
  template <class Gpu>
  static Packet encode(const BlockParameters&, std::uint32_t scale, const Symbol (&x)[16]) {
    Packet packet;
    for (int i = 0; i < 16; ++i) {
      packet.at[i] = SymbolScope::pool().encode_in(x[i], Symbol{scale});
    }
    return packet;
  }
  template <class Gpu>
  static void decode(const BlockParameters&, std::uint32_t scale, const Packet& packet,
                     Symbol (&x)[16]) {
    for (int i = 0; i < 16; ++i) {
      const auto& node = SymbolScope::pool().node(packet.at[i]);
      const bool fits = node.kind == model::Expressions::Kind::encode && node.second == scale;
      x[i] = fits ? SymbolScope::pool().decode(packet.at[i]) : SymbolScope::pool().input(-1, scale);
    }
  }
  template <class Gpu>
  static std::uint32_t load_scale(Gpu& gpu, const BlockParameters&, const std::byte* scales,
                                  std::int64_t block) {
    return gpu.load(reinterpret_cast<const std::uint32_t*>(scales) + block);
  }
  template <class Gpu>
  static void store_scale(Gpu& gpu, const BlockParameters&, std::byte* scales, std::int64_t block,
                          std::uint32_t scale) {
    gpu.store(reinterpret_cast<std::uint32_t*>(scales) + block, scale);
  }

 private:
  static constexpr std::uint32_t kNobody = 0xFFFF'FFFF;
  static std::uint32_t number(Symbol x) { return static_cast<std::uint32_t>(x); }
};

}  // namespace tally::kernels::emulator
