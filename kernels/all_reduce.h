#pragma once

// What the all-reduce kernels share: their arguments, the division of work among blocks, and the
// movement of tiles. A tile is what one word of the wire holds: Codec::kPerWord elements.

#include "kernels/element.h"
#include "kernels/gpu.h"

namespace tally::kernels {

/// The arguments of one rank's launch. All ranks launch with the same count, ranks and geometry.
/// Buffers named "own and peers'" are indexed by rank and mapped into this rank's GPU.
template <class E, class Codec>
struct AllReduceArguments {
  const typename E::Storage* input;  // [count], element-aligned
  typename E::Storage* output;       // [count], element-aligned, may be input
  std::int64_t count;
  std::int32_t rank, ranks;                    // ranks in 1..kMaxRanks
  typename Codec::Packet* scratch[kMaxRanks];  // own and peers', [ceil(count / kPerWord)]
  std::uint32_t* flags[kMaxRanks];             // own and peers', [blocks][kMaxRanks]
  std::uint32_t* epochs;                       // own, [blocks]: barriers a block has passed
  Stuck* stuck;                                // own
};

/// Everything that a kernel is made of beside its movement: element, accumulator, wire, and the
/// plan, which is FaithfulPlan but for planted faults.
template <class E, class A, class C, class P>
struct Recipe {
  using Element = E;
  using Accumulator = A;
  using Codec = C;
  using Plan = P;
  using Arguments = AllReduceArguments<E, C>;
};

/// The elements [begin, end).
struct Span {
  std::int64_t begin, end;
};

/// Chunks and parts are multiples of this many elements, so that no word belongs to two of them.
inline constexpr std::int64_t kUnit = 128;

/// Piece `index` of `span` cut into `pieces` of whole units, the last ones short or empty. The
/// span has fewer than 2^38 elements: units are divided in 32 bits, because a GPU divides 64 bits
/// in a long routine, on gfx942 with fused multiply-adds.
TALLY_DEVICE Span piece(Span span, std::int32_t index, std::int32_t pieces) {
  const auto units = static_cast<std::uint32_t>((span.end - span.begin + kUnit - 1) / kUnit);
  const auto divisor = static_cast<std::uint32_t>(pieces);
  const std::int64_t length = kUnit * ((units + divisor - 1) / divisor);
  const std::int64_t begin = span.begin + index * length, end = begin + length;
  return {begin < span.end ? begin : span.end, end < span.end ? end : span.end};
}

template <class T>
TALLY_DEVICE bool is_word_aligned(const T* p) {
  return reinterpret_cast<std::uintptr_t>(p) % sizeof(Word) == 0;
}

/// x = the `valid` elements at p, and zero behind them.
template <class E, class Gpu, int n>
TALLY_DEVICE void load_tile(Gpu& gpu, const typename E::Storage* p, std::int64_t valid,
                            typename E::Value (&x)[n]) {
  struct Elements {
    typename E::Storage at[sizeof(Word) / sizeof(typename E::Storage)];
  };
  constexpr int kInWord = sizeof(Word) / sizeof(typename E::Storage);
  if (valid >= n && is_word_aligned(p)) {
    for (int w = 0; w < n / kInWord; ++w) {
      const Word word = gpu.load(reinterpret_cast<const Word*>(p) + w);
      const auto elements = __builtin_bit_cast(Elements, word);
      for (int i = 0; i < kInWord; ++i) x[w * kInWord + i] = E::template value<Gpu>(elements.at[i]);
    }
    return;
  }
  for (int i = 0; i < n; ++i) {
    x[i] = i < valid ? E::template value<Gpu>(gpu.load(p + i)) : E::zero();
  }
}

/// The first `valid` elements at p = x, rounded to the element type.
template <class E, class Gpu, int n>
TALLY_DEVICE void store_tile(Gpu& gpu, typename E::Storage* p, std::int64_t valid,
                             const typename E::Value (&x)[n]) {
  struct Elements {
    typename E::Storage at[sizeof(Word) / sizeof(typename E::Storage)];
  };
  constexpr int kInWord = sizeof(Word) / sizeof(typename E::Storage);
  if (valid >= n && is_word_aligned(p)) {
    for (int w = 0; w < n / kInWord; ++w) {
      Elements elements;
      for (int i = 0; i < kInWord; ++i) {
        elements.at[i] = E::template storage<Gpu>(x[w * kInWord + i]);
      }
      gpu.store(reinterpret_cast<Word*>(p) + w, __builtin_bit_cast(Word, elements));
    }
    return;
  }
  for (int i = 0; i < n; ++i) {
    if (i < valid) gpu.store(p + i, E::template storage<Gpu>(x[i]));
  }
}

/// Calls tile(word, first element, valid elements) for the words of `span` that are this thread's.
template <class Codec, class Gpu, class Tile>
TALLY_DEVICE void for_my_tiles(Gpu& gpu, Span span, Tile tile) {
  constexpr std::int64_t n = Codec::kPerWord;
  // A span that is not empty begins at a whole unit, so its first element begins a word.
  for (std::int64_t first = span.begin + gpu.thread() * n; first < span.end;
       first += gpu.threads() * n) {
    tile(first / n, first, span.end - first < n ? span.end - first : n);
  }
}

/// What a faithful kernel does where planted faults (planted.h) do something else.
struct FaithfulPlan {
  /// The elements of which all ranks sum chunks: all of them.
  TALLY_DEVICE static Span summed(std::int64_t count, int) { return {0, count}; }
  /// The elements that are staged for the peers: all that will be summed.
  TALLY_DEVICE static Span staged(Span span) { return span; }
  /// The ranks that a sum takes, in order.
  TALLY_DEVICE static int terms(int ranks) { return ranks; }
  TALLY_DEVICE static int term(int k, int) { return k; }
  /// Whether the n-th barrier of a call is performed.
  TALLY_DEVICE static bool meets(int) { return true; }
  /// Stores the results of one tile, the first of them being output element `first`.
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, std::int64_t first,
                                 std::int64_t valid,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    store_tile<typename R::Element>(gpu, a.output + first, valid, x);
  }
};

/// Own scratch = own input, encoded.
template <class R, class Gpu>
TALLY_DEVICE void stage(Gpu& gpu, const typename R::Arguments& a, Span span) {
  using Codec = typename R::Codec;
  for_my_tiles<Codec>(gpu, R::Plan::staged(span), [&](auto word, auto first, auto valid) {
    typename R::Element::Value x[Codec::kPerWord];
    load_tile<typename R::Element>(gpu, a.input + first, valid, x);
    gpu.store(a.scratch[a.rank] + word, Codec::template encode<Gpu>(x));
  });
}

/// sum = what all ranks staged in `word`, in the plan's order, from +0.
template <class R, class Gpu>
TALLY_DEVICE void sum_word(Gpu& gpu, const typename R::Arguments& a, std::int64_t word,
                           typename R::Element::Value (&sum)[R::Codec::kPerWord]) {
  using Codec = typename R::Codec;
  using E = typename R::Element;
  for (int i = 0; i < Codec::kPerWord; ++i) sum[i] = E::zero();
  for (int k = 0; k < R::Plan::terms(a.ranks); ++k) {
    typename E::Value x[Codec::kPerWord];
    Codec::template decode<Gpu>(gpu.load(a.scratch[R::Plan::term(k, a.ranks)] + word), x);
    for (int i = 0; i < Codec::kPerWord; ++i) {
      sum[i] = R::Accumulator::template add<Gpu, E>(sum[i], x[i]);
    }
  }
}

}  // namespace tally::kernels
