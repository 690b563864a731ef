#pragma once

// A symbolic element and codec: the kernels run on expressions, and what they compute can be
// compared with what the schedule says, term by term.

#include "kernels/all_reduce.h"
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
  static Value add(Value sum, Value term) { return SymbolScope::pool().add(sum, term); }
  template <class Gpu>
  static Value value(Storage x) {
    return x;
  }
  template <class Gpu>
  static Storage storage(Value x) {
    return SymbolScope::pool().round(x);
  }
};

template <int per_word>
struct SymbolPacket {
  Symbol at[per_word];
};

/// Wire none with `per_word` elements in a word.
template <int per_word>
struct SymbolPlainCodec {
  using Packet = SymbolPacket<per_word>;
  static constexpr int kPerWord = per_word;
  template <class Gpu>
  static Packet encode(const Symbol (&x)[per_word]) {
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
struct SymbolCastCodec {
  using Packet = SymbolPacket<per_word>;
  static constexpr int kPerWord = per_word;
  template <class Gpu>
  static Packet encode(const Symbol (&x)[per_word]) {
    Packet packet;
    for (int i = 0; i < per_word; ++i) packet.at[i] = SymbolScope::pool().encode(x[i]);
    return packet;
  }
  template <class Gpu>
  static void decode(const Packet& packet, Symbol (&x)[per_word]) {
    for (int i = 0; i < per_word; ++i) x[i] = SymbolScope::pool().decode(packet.at[i]);
  }
};

}  // namespace tally::kernels::emulator
