#pragma once

// What the kernels share: their arguments, the division of work among blocks, and the movement of
// tiles. A tile is what one word of the wire holds: Codec::kPerWord elements.

#include "kernels/block_wire.h"
#include "kernels/launch.h"
#include "kernels/low_latency.h"
#include "kernels/operation.h"

namespace tally::kernels {

/// A Launch as one of its ranks sees it. All ranks launch with the same count, ranks and geometry.
template <class E, class Codec>
struct CollectiveArguments {
  const typename E::Storage* input;  // element-aligned
  typename E::Storage* output;       // element-aligned, in place where the collective allows it
  std::int64_t count;                // the collective's own
  std::int32_t rank, ranks;          // ranks in 1..kMaxRanks
  std::int32_t rounds;               // 1 or more
  float factor;
  typename Codec::Parameters codec;
  const Peers* peers;
  const std::int64_t* send_counts;
  std::int64_t* received_counts;
  std::uint32_t* epochs;  // own, [blocks]: meetings that a block has passed
  PacketScratch packets;
  Stuck* stuck;  // own
  std::uint32_t number;

  /// The wire's words that `owner` has for its peers, and behind them the scales.
  TALLY_DEVICE typename Codec::Packet* scratch(int owner) const {
    return static_cast<typename Codec::Packet*>(peers->scratch[owner]);
  }
};

/// Everything that a kernel is made of beside its movement: element, operation, accumulator, wire,
/// and the plan, which is FaithfulPlan but for planted faults.
template <class E, class O, class A, class C, class P>
struct Recipe {
  using Element = E;
  using Operation = O;
  using Accumulator = A;
  using Codec = C;
  using Plan = P;
  using Arguments = CollectiveArguments<E, C>;
};

/// What place `place` of a launch is given. The launch outlives it.
template <class R>
TALLY_DEVICE typename R::Arguments arguments(const Launch& launch, int place) {
  using E = typename R::Element;
  typename R::Arguments a{};
  a.input = static_cast<const typename E::Storage*>(launch.calls[place].input);
  a.output = static_cast<typename E::Storage*>(launch.calls[place].output);
  a.count = launch.count;
  a.rank = launch.first_rank + place;
  a.ranks = launch.ranks;
  a.rounds = launch.rounds;
  a.factor = launch.factor;
  a.codec = R::Codec::Parameters::of(launch.wire);
  a.peers = &launch.peers;
  a.send_counts = launch.calls[place].send_counts;
  a.received_counts = launch.calls[place].received_counts;
  a.epochs = launch.own.epochs + place * launch.own.max_blocks;
  a.packets.words = launch.own.words_of_packets;
  a.packets.epochs = launch.own.packet_epochs + place * launch.own.max_blocks;
  a.packets.blocks = launch.own.max_blocks;
  a.stuck = launch.own.stuck + place;
  a.number = launch.number;
  return a;
}

/// The elements [begin, end).
struct Span {
  std::int64_t begin, end;
};

/// Piece `index` of `span` cut into `pieces` of whole units of 2^unit_bits elements, the last ones
/// short or empty. The span has fewer than 2^38 elements: units are divided in 32 bits, because a
/// GPU divides 64 bits in a long routine, on gfx942 with fused multiply-adds.
TALLY_DEVICE Span piece(Span span, std::int32_t index, std::int32_t pieces,
                        int unit_bits = kUnitBits) {
  const std::int64_t unit = std::int64_t{1} << unit_bits;
  const auto units = static_cast<std::uint32_t>((span.end - span.begin + unit - 1) >> unit_bits);
  const auto divisor = static_cast<std::uint32_t>(pieces);
  const std::int64_t length = unit * ((units + divisor - 1) / divisor);
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

/// The tile that lies `ahead` elements further on, which are whole units.
template <class R>
TALLY_DEVICE Tile further(const Tile& tile, std::int64_t ahead) {
  return {tile.word + ahead / R::Codec::kPerWord, tile.first + ahead, tile.valid};
}

/// Calls work(tiles) for the words of `span` that are this thread's: with an array of `most` while
/// there are so many, for work that loads all of them before it uses any, and then of one. A span
/// that is not empty begins at a whole unit, so its first element begins a word and a block.
/// Threads of a codec's group go on together until none of them has elements.
template <int most, class Codec, class Gpu, class Work>
TALLY_DEVICE void for_my_tiles_at_once(Gpu& gpu, const Codec& codec, Span span, Work work) {
  constexpr std::int64_t n = Codec::kPerWord;
  const std::int64_t place = n * (gpu.thread() & (codec.group() - 1));  // within the group
  const std::int64_t stride = gpu.threads() * n;
  std::int64_t first = span.begin + gpu.thread() * n;
  const auto tile = [&](std::int64_t at) TALLY_INLINE {
    const std::int64_t left = span.end - at;
    return Tile{at / n, at, left < 0 ? 0 : left < n ? left : n};
  };
  if constexpr (most > 1) {
    for (; first - place + (most - 1) * stride < span.end; first += most * stride) {
      Tile tiles[most];
      for (int i = 0; i < most; ++i) tiles[i] = tile(first + i * stride);
      work(tiles);
    }
  }
  for (; first - place < span.end; first += stride) {
    const Tile tiles[1] = {tile(first)};
    work(tiles);
  }
}

/// Calls work(tile), one after another.
template <class Codec, class Gpu, class Work>
TALLY_DEVICE void for_my_tiles(Gpu& gpu, const Codec& codec, Span span, Work work) {
  for_my_tiles_at_once<1>(gpu, codec, span,
                          [&](const Tile(&tiles)[1]) TALLY_INLINE { work(tiles[0]); });
}

/// How many words of a codec a thread loads at once.
template <class Codec, class Gpu>
inline constexpr int kTilesAtOnce =
    Gpu::kElementsAtOnce > Codec::kPerWord ? Gpu::kElementsAtOnce / Codec::kPerWord : 1;

template <class R>
TALLY_DEVICE typename R::Codec codec_of(const typename R::Arguments& a) {
  return typename R::Codec(a.codec, a.count);
}

template <class R, class Gpu>
class PeerBarrier;  // barrier.h

/// What a faithful kernel does where planted faults (planted.h, planted_barriers.h) do something
/// else.
struct FaithfulPlan {
  /// How ranks meet.
  template <class R, class Gpu>
  using Barrier = PeerBarrier<R, Gpu>;
  /// The elements of which all ranks sum chunks: all of them.
  TALLY_DEVICE static Span summed(std::int64_t count, int) { return {0, count}; }
  /// The elements that are staged for the peers: all that will be summed.
  TALLY_DEVICE static Span staged(Span span) { return span; }
  /// The ranks that a sum takes, in order.
  TALLY_DEVICE static int terms(int ranks) { return ranks; }
  TALLY_DEVICE static int term(int k, int) { return k; }
  /// Whether the n-th meeting of ranks in a call is performed. Packets are waited for in the first.
  TALLY_DEVICE static bool meets(int) { return true; }
  /// Low latency packets: which half of the scratch a call uses, and how often one writes all of
  /// them, a power of 2 (low_latency.h says why).
  TALLY_DEVICE static int half(std::uint32_t epoch) { return static_cast<int>(epoch & 1); }
  static constexpr std::uint32_t kRefreshPeriod = std::uint32_t{1} << 30;
  /// What `rank` staged in a tile.
  template <class R, class Gpu>
  TALLY_DEVICE static auto load(Gpu& gpu, const typename R::Arguments& a,
                                const typename R::Codec& codec, int rank, const Tile& tile) {
    return codec.load(gpu, a.scratch(rank), tile);
  }
  /// Where the block for `rank`, or of it, begins in a buffer of all ranks' blocks.
  TALLY_DEVICE static std::int64_t block_begin(std::int64_t count, int rank) {
    return count * rank;
  }
  /// Whether a count of all_to_all_v is within its bound.
  TALLY_DEVICE static bool fits(std::int64_t count, std::int64_t bound) {
    return count >= 0 && count <= bound;
  }
  /// Stores the results of one tile.
  template <class R, class Gpu>
  TALLY_DEVICE static void store(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                                 const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    store_tile<typename R::Element>(gpu, a.output + tile.first, tile.valid, x);
  }
  /// Which part of its rank's chunk a block sums.
  TALLY_DEVICE static int summed_part(int block, int) { return block; }
  /// Whether `rank` takes the results of chunk `owner` from its owner's scratch.
  TALLY_DEVICE static bool fetches(int, int) { return true; }
  /// What the owner of a chunk does with a tile's results beside encoding them: nothing.
  template <class R, class Gpu>
  TALLY_DEVICE static void keep(Gpu&, const typename R::Arguments&, const Tile&,
                                const typename R::Element::Value (&)[R::Codec::kPerWord]) {}
};

/// Part `index` of `parts` of chunk `owner`.
template <class R>
TALLY_DEVICE Span part(const typename R::Arguments& a, int owner, int index, int parts) {
  const int unit_bits = codec_of<R>(a).unit_bits();
  const Span chunk = piece(R::Plan::summed(a.count, a.ranks), owner, a.ranks, unit_bits);
  return piece(chunk, index, parts, unit_bits);
}

/// The part of chunk `owner` that this block works on.
template <class R, class Gpu>
TALLY_DEVICE Span my_part(Gpu& gpu, const typename R::Arguments& a, int owner) {
  return part<R>(a, owner, gpu.block(), gpu.blocks());
}

/// x = the `valid` elements of the own input at p, as contributions; zero behind them.
template <class R, class Gpu>
TALLY_DEVICE void load_input(Gpu& gpu, const typename R::Arguments& a,
                             const typename R::Element::Storage* p, std::int64_t valid,
                             typename R::Element::Value (&x)[R::Codec::kPerWord]) {
  load_tile<typename R::Element>(gpu, p, valid, x);
  if constexpr (R::Operation::kPremultiplies) {
    for (auto& value : x)
      value = R::Operation::template contribution<Gpu, typename R::Element>(value, a);
  }
}

/// Calls work(tile, held) with the own input, encoded, for the words of `span` that are this
/// thread's.
template <class R, class Gpu, class Work>
TALLY_DEVICE void for_my_input(Gpu& gpu, const typename R::Arguments& a,
                               const typename R::Codec& codec, Span span, Work work) {
  for_my_tiles(gpu, codec, R::Plan::staged(span), [&](const Tile& tile) {
    typename R::Element::Value x[R::Codec::kPerWord];
    load_input<R>(gpu, a, a.input + tile.first, tile.valid, x);
    work(tile, codec.encode(gpu, tile, x));
  });
}

/// Own scratch = own input, encoded.
template <class R, class Gpu>
TALLY_DEVICE void stage(Gpu& gpu, const typename R::Arguments& a, Span span) {
  const auto codec = codec_of<R>(a);
  for_my_input<R>(gpu, a, codec, span, [&](const Tile& tile, const auto& held) {
    codec.store(gpu, a.scratch(a.rank), tile, held);
  });
}

/// x[i] = what load(rank, i) holds of each rank, combined in the plan's order, complete.
template <class R, class Gpu, int tiles, class Load>
TALLY_DEVICE void reduce(const typename R::Arguments& a, const typename R::Codec& codec, Load load,
                         typename R::Element::Value (&x)[tiles][R::Codec::kPerWord]) {
  using E = typename R::Element;
  using Operation = typename R::Operation;
  constexpr int n = R::Codec::kPerWord;
  int k = 0;
  if constexpr (Operation::kStart == Start::first_term) {
    const int first = R::Plan::term(k++, a.ranks);
    for (int i = 0; i < tiles; ++i) codec.template decode<Gpu>(load(first, i), x[i]);
  } else {
    for (int i = 0; i < tiles; ++i) {
      for (auto& value : x[i]) value = Operation::kStart == Start::one ? E::one() : E::zero();
    }
  }
  for (; k < R::Plan::terms(a.ranks); ++k) {
    const int rank = R::Plan::term(k, a.ranks);
    typename R::Codec::Held held[tiles];
    for (int i = 0; i < tiles; ++i) held[i] = load(rank, i);
    for (int i = 0; i < tiles; ++i) {
      typename E::Value term[n];
      codec.template decode<Gpu>(held[i], term);
      for (int e = 0; e < n; ++e) {
        x[i][e] = R::Accumulator::template combine<Gpu, E, Operation>(x[i][e], term[e]);
      }
    }
  }
  for (int i = 0; i < tiles; ++i) {
    for (auto& value : x[i]) value = Operation::template complete<E>(value, a);
  }
}

/// x = what all ranks staged in a tile, reduced.
template <class R, class Gpu>
TALLY_DEVICE void reduce_tile(Gpu& gpu, const typename R::Arguments& a,
                              const typename R::Codec& codec, const Tile& tile,
                              typename R::Element::Value (&x)[R::Codec::kPerWord]) {
  typename R::Element::Value one[1][R::Codec::kPerWord];
  const auto load = [&](int rank, int) TALLY_INLINE {
    return R::Plan::template load<R>(gpu, a, codec, rank, tile);
  };
  reduce<R, Gpu>(a, codec, load, one);
  for (int e = 0; e < R::Codec::kPerWord; ++e) x[e] = one[0][e];
}

/// Output, `span` = what all ranks staged of it, reduced. In scratch it lies `ahead` elements
/// further on, which are whole units.
template <class R, class Gpu>
TALLY_DEVICE void reduce_span(Gpu& gpu, const typename R::Arguments& a,
                              const typename R::Codec& codec, Span span, std::int64_t ahead) {
  constexpr int most = kTilesAtOnce<typename R::Codec, Gpu>;
  const auto sum = [&]<int count>(const Tile(&tiles)[count]) TALLY_INLINE {
    typename R::Element::Value x[count][R::Codec::kPerWord];
    const auto load = [&](int rank, int i) TALLY_INLINE {
      return R::Plan::template load<R>(gpu, a, codec, rank, further<R>(tiles[i], ahead));
    };
    reduce<R, Gpu>(a, codec, load, x);
    for (int i = 0; i < count; ++i) R::Plan::template store<R>(gpu, a, tiles[i], x[i]);
  };
  for_my_tiles_at_once<most>(gpu, codec, span, sum);
}

}  // namespace tally::kernels
