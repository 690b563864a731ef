// Goal: the kernels are the algorithms that the schedules say, not others with the same sums.
// Method: run the kernels on symbols. On every rank each output's expression is the schedule's,
// term by term; so are the bytes on each link and the signal-wait edges. Then every planted
// fault of movement, and some that no value shows, are told from the schedule.

#include "kernels/planted.h"
#include "kernels/planted_blocks.h"
#include "tests/kernels/symbolic_kernel.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels;
using namespace kernels::emulator;
using model::Format;

const model::Wire kFp8 = model::cast_wire(Format::e4m3fnuz);
model::Wire blocks_of(int length) {
  return model::block_wire(Format::e4m3fnuz, length, Format::f32, model::ScaleRule::amax);
}

using Word4 = SymbolPlainCodec<4>;  // f32
using Word8 = SymbolPlainCodec<8>;  // f16 or bf16
using Casts = SymbolCastCodec<16>;
using Blocks = BlockCodec<SymbolBlocks>;

/// A word of 4 f32, of 8 bf16, and of 16 codes; every operation.
template <class Algorithm>
void add_words(std::vector<SymbolicKernel>& all) {
  all.push_back(symbolic<Algorithm, Sum, AccumulateElement, Word4>(Format::f32, model::kNoWire));
  all.push_back(symbolic<Algorithm, Sum, AccumulateElement, Word8>(Format::bf16, model::kNoWire));
  all.push_back(
      symbolic<Algorithm, Product, AccumulateElement, Word8>(Format::bf16, model::kNoWire));
  all.push_back(
      symbolic<Algorithm, Minimum, AccumulateElement, Word8>(Format::bf16, model::kNoWire));
  all.push_back(
      symbolic<Algorithm, Maximum, AccumulateElement, Word4>(Format::f32, model::kNoWire));
  all.push_back(
      symbolic<Algorithm, Average, AccumulateElement, Word8>(Format::bf16, model::kNoWire));
  all.push_back(symbolic<Algorithm, PremultipliedSum, AccumulateElement, Word8>(Format::bf16,
                                                                                model::kNoWire));
  all.push_back(symbolic<Algorithm, Sum, AccumulateF32, Casts>(Format::bf16, kFp8));
  all.push_back(symbolic<Algorithm, Average, AccumulateF32, Casts>(Format::bf16, kFp8));
}

/// Words of 16 codes with the scales of their blocks.
template <class Algorithm>
void add_blocks(std::vector<SymbolicKernel>& all) {
  for (const int length : {16, 32, 128, 256}) {
    all.push_back(symbolic<Algorithm, Sum, AccumulateF32, Blocks>(Format::bf16, blocks_of(length)));
  }
  all.push_back(symbolic<Algorithm, Average, AccumulateF32, Blocks>(Format::bf16, blocks_of(64)));
}

/// What an algorithm that only moves elements has.
template <class Algorithm>
void add_movements(std::vector<SymbolicKernel>& all) {
  all.push_back(symbolic<Algorithm, Sum, AccumulateElement, Word4>(Format::f32, model::kNoWire));
  all.push_back(symbolic<Algorithm, Sum, AccumulateElement, Word8>(Format::bf16, model::kNoWire));
  all.push_back(symbolic<Algorithm, Sum, AccumulateF32, Casts>(Format::bf16, kFp8));
  for (const int length : {16, 32, 256}) {
    all.push_back(symbolic<Algorithm, Sum, AccumulateF32, Blocks>(Format::bf16, blocks_of(length)));
  }
}

/// The kernels that the ring has no counterpart of.
template <class Algorithm>
void add_f32_accumulators(std::vector<SymbolicKernel>& all) {
  all.push_back(symbolic<Algorithm, Sum, AccumulateF32, Word4>(Format::f32, model::kNoWire));
  all.push_back(symbolic<Algorithm, Average, AccumulateF32, Word8>(Format::bf16, model::kNoWire));
  all.push_back(symbolic<Algorithm, Product, AccumulateF32, Word8>(Format::bf16, model::kNoWire));
  all.push_back(symbolic<Algorithm, Minimum, AccumulateF32, Word8>(Format::bf16, model::kNoWire));
}

std::vector<SymbolicKernel> faithful_kernels() {
  std::vector<SymbolicKernel> all;
  add_words<Flat>(all);
  add_words<FlatLl>(all);
  add_words<Tree>(all);
  add_words<Ring>(all);
  add_blocks<Flat>(all);
  add_blocks<Tree>(all);
  add_blocks<Ring>(all);
  add_f32_accumulators<Flat>(all);
  add_f32_accumulators<FlatLl>(all);
  add_f32_accumulators<Tree>(all);
  add_words<ReduceScatterFlat>(all);
  add_blocks<ReduceScatterFlat>(all);
  add_f32_accumulators<ReduceScatterFlat>(all);
  add_movements<AllGatherFlat>(all);
  add_movements<AllToAllFlat>(all);
  add_movements<AllToAllVFlat>(all);
  return all;
}

constexpr std::int64_t kCounts[] = {0, 1, 3, 15, 16, 17, 127, 128, 129, 255, 257, 1000, 2049};
constexpr Geometry kGeometries[] = {{1, 1, 64},     {1, 4, 64, 3}, {2, 64, 64},
                                    {3, 32, 32, 2}, {2, 16, 32},   {1, 16, 64, 5}};

/// Geometry number `from`, or the next that can be launched.
Geometry geometry_for(const SymbolicKernel& kernel, int from) {
  for (;; ++from) {
    const Geometry& geometry = kGeometries[from % std::size(kGeometries)];
    if (emulator::can_launch(kernel.arithmetic, geometry)) return geometry;
  }
}

/// Reads one word of a peer more than it needs.
struct ReadsTwice : FaithfulPlan {
  template <class R, class Gpu>
  static void store(Gpu& gpu, const typename R::Arguments& a, const Tile& tile,
                    const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    if (tile.first == 0) gpu.load(a.scratch((a.rank + 1) % a.ranks));
    FaithfulPlan::store<R>(gpu, a, tile, x);
  }
};

/// Leaves before its peers have read its scratch.
template <int last>
struct NoLastMeeting : FaithfulPlan {
  static bool meets(int number) { return number != last; }
};

/// Requires that the kernel is told from its schedule, for that reason, on 3 ranks, 600 elements,
/// some threads being far ahead of others.
void require_told_apart(const SymbolicKernel& kernel, const std::string& reason) {
  const std::string wrong =
      difference(kernel, {.ranks = 3, .count = 600, .geometry = {2, 4, 64}, .has_leaders = true});
  CAPTURE(reason, wrong, std::string(kernel.algorithm), kernel.arithmetic.wire.name());
  REQUIRE(wrong.rfind(reason + ": ", 0) == 0);
}

/// The faulty plan without a wire and with a cast.
template <class Algorithm, class Plan>
void require_told_apart_in_words(const std::string& reason) {
  require_told_apart(
      symbolic<Algorithm, Sum, AccumulateElement, Word8, Plan>(Format::bf16, model::kNoWire),
      reason);
  require_told_apart(symbolic<Algorithm, Sum, AccumulateF32, Casts, Plan>(Format::bf16, kFp8),
                     reason);
}

/// Both, and with blocks.
template <class Algorithm, class Plan>
void require_told_apart_in(const std::string& reason) {
  require_told_apart_in_words<Algorithm, Plan>(reason);
  require_told_apart(
      symbolic<Algorithm, Sum, AccumulateF32, Blocks, Plan>(Format::bf16, blocks_of(32)), reason);
}

template <class Plan>
void require_told_apart_in_flat_and_tree(const std::string& reason) {
  require_told_apart_in<Flat, Plan>(reason);
  require_told_apart_in<Tree, Plan>(reason);
}

template <class Plan>
void require_told_apart_in_all_but_ring(const std::string& reason) {
  require_told_apart_in_flat_and_tree<Plan>(reason);
  require_told_apart_in_words<FlatLl, Plan>(reason);
}

template <class Plan>
void require_told_apart_everywhere(const std::string& reason) {
  require_told_apart_in_all_but_ring<Plan>(reason);
  require_told_apart_in<Ring, Plan>(reason);
}

/// In all that has a block for each rank.
template <class Plan>
void require_told_apart_in_blocks(const std::string& reason) {
  require_told_apart_in<ReduceScatterFlat, Plan>(reason);
  require_told_apart_in<AllGatherFlat, Plan>(reason);
  require_told_apart_in<AllToAllFlat, Plan>(reason);
  require_told_apart_in<AllToAllVFlat, Plan>(reason);
}

}  // namespace

TEST_CASE("each kernel computes the schedule's expressions, moves its bytes, meets its edges",
          "[kernels]") {
  int runs = 0;
  for (const SymbolicKernel& kernel : faithful_kernels()) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const std::int64_t count : kCounts) {
        ++runs;  // each shape with one geometry, in place or not; both in turn over the shapes
        if (kernel.arithmetic.wire.is_block() && ranks > 3 && count > 1000) continue;
        const KernelRun how{.ranks = ranks,
                            .count = count,
                            .geometry = geometry_for(kernel, runs),
                            .in_place = runs % 3 == 0,
                            .misalignment = runs % 5 == 0 ? sizeof(Symbol) : 0,
                            .seed = static_cast<std::uint64_t>(runs)};
        const std::string wrong = difference(kernel, how);
        CAPTURE(ranks, count, std::string(kernel.algorithm), kernel.arithmetic.wire.name());
        if (!wrong.empty()) REQUIRE(wrong == "");
      }
    }
  }
  REQUIRE(runs == (9 * 5 + 5 * 4 + 4 * 4 + 6 * 3) * 8 * 13);
}

TEST_CASE("every geometry, in place or not, is tied at the ragged counts", "[kernels]") {
  for (const SymbolicKernel& kernel : faithful_kernels()) {
    for (const Geometry& geometry : kGeometries) {
      if (!emulator::can_launch(kernel.arithmetic, geometry)) continue;
      for (const bool in_place : {false, true}) {
        for (const std::int64_t count : {129, 1000}) {
          CAPTURE(geometry.blocks, geometry.threads, in_place, count);
          REQUIRE(difference(kernel, {3, count, geometry, in_place}) == "");
        }
      }
    }
  }
}

TEST_CASE("the tie holds under every order in which the scheduler runs threads", "[kernels]") {
  for (const SymbolicKernel& kernel : faithful_kernels()) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      KernelRun how{4, 600, {2, 8, 64}};
      if (kernel.arithmetic.wire.length > 128) how.geometry.threads = 16;
      how.seed = seed;
      REQUIRE(difference(kernel, how) == "");
    }
  }
}

TEST_CASE("every planted fault of movement is told from the schedule", "[kernels]") {
  require_told_apart_everywhere<TailDropped>("expression");
  require_told_apart_in_flat_and_tree<StaleScratch>("expression");
  require_told_apart_in_words<FlatLl, StaleScratch>("hang");  // what is not sent does not arrive
  require_told_apart_in_all_but_ring<RankLost>("expression");
  require_told_apart_in_all_but_ring<RankDoubled>("expression");
  require_told_apart_everywhere<MissingBarrier>("expression");
  require_told_apart_everywhere<OutputNotWritten>("expression");
  require_told_apart_everywhere<WritePastEnd>("bounds");
  require_told_apart_everywhere<InputModified>("inputs");
}

TEST_CASE("every planted fault of blocks is told from the schedule", "[kernels]") {
  require_told_apart_in_blocks<TailDropped>("expression");
  require_told_apart_in_blocks<StaleScratch>("expression");
  require_told_apart_in_blocks<MissingBarrier>("expression");
  require_told_apart_in<ReduceScatterFlat, RankLost>("expression");
  require_told_apart_in<ReduceScatterFlat, RankDoubled>("expression");
  require_told_apart_in<ReduceScatterFlat, OutputNotWritten>("expression");
  require_told_apart_in<ReduceScatterFlat, WritePastEnd>("bounds");
  require_told_apart_in<ReduceScatterFlat, InputModified>("inputs");
  require_told_apart_in<ReduceScatterFlat, ReduceScatterMisplaced>("expression");
  require_told_apart_in<AllToAllFlat, BlockOfPeer>("expression");
  require_told_apart_in<RunOn<AllToAllVFlat, CountsOfSender>, FaithfulPlan>("expression");
  require_told_apart_in<RunOn<AllToAllVFlat, ReceivedCountLost>, FaithfulPlan>("counts");
  require_told_apart(
      symbolic<AllGatherFlat, Sum, AccumulateF32, Casts, OwnBlockUnquantised>(Format::bf16, kFp8),
      "expression");
  require_told_apart(symbolic<AllGatherFlat, Sum, AccumulateF32, Blocks, OwnBlockUnquantised>(
                         Format::bf16, blocks_of(32)),
                     "expression");
}

TEST_CASE("another order is told apart, also where an FP8 wire hides it from all values",
          "[kernels]") {
  require_told_apart_in_all_but_ring<OtherOrder>("expression");
  require_told_apart_in<ReduceScatterFlat, OtherOrder>("expression");
}

TEST_CASE("a needless read is told apart by its bytes, a meeting left out by its edges",
          "[kernels]") {
  require_told_apart_everywhere<ReadsTwice>("bytes");
  require_told_apart_in_blocks<ReadsTwice>("bytes");
  const KernelRun how{3, 600, {2, 4, 64}};
  REQUIRE(
      difference(symbolic<Flat, Sum, AccumulateF32, Casts, NoLastMeeting<1>>(Format::bf16, kFp8),
                 how) == "edges: other than planned");
  REQUIRE(difference(symbolic<AllToAllFlat, Sum, AccumulateF32, Casts, NoLastMeeting<1>>(
                         Format::bf16, kFp8),
                     how) == "edges: other than planned");
  REQUIRE(
      difference(symbolic<Ring, Sum, AccumulateF32, Casts, NoLastMeeting<4>>(Format::bf16, kFp8),
                 how) == "edges: other than planned");
}

TEST_CASE("packets are told from words by their bytes: in expressions flat_ll is flat",
          "[kernels]") {
  const KernelRun how{3, 600, {2, 4, 64}};
  SymbolicKernel flat = symbolic<Flat, Sum, AccumulateF32, Casts>(Format::bf16, kFp8);
  SymbolicKernel flat_ll = symbolic<FlatLl, Sum, AccumulateF32, Casts>(Format::bf16, kFp8);
  std::swap(flat.algorithm, flat_ll.algorithm);
  REQUIRE(difference(flat, how) == "bytes: other than planned");
  REQUIRE(difference(flat_ll, how) == "bytes: other than planned");
}

TEST_CASE("a kernel is told from every other algorithm and the other accumulator", "[kernels]") {
  const KernelRun how{3, 600, {2, 4, 64}};
  const auto claims = [&](SymbolicKernel kernel, std::string_view algorithm) {
    kernel.algorithm = algorithm;
    return difference(kernel, how);
  };
  const SymbolicKernel flat = symbolic<Flat, Sum, AccumulateF32, Casts>(Format::bf16, kFp8);
  const SymbolicKernel ring = symbolic<Ring, Sum, AccumulateF32, Casts>(Format::bf16, kFp8);
  REQUIRE(claims(flat, "tree").rfind("expression", 0) == 0);
  REQUIRE(claims(flat, "ring").rfind("expression", 0) == 0);
  REQUIRE(claims(ring, "tree").rfind("expression", 0) == 0);
  SymbolicKernel other = symbolic<Flat, Sum, AccumulateF32, Word8>(Format::bf16, model::kNoWire);
  other.arithmetic.accumulate = model::Accumulate::element;
  REQUIRE(difference(other, how).rfind("expression", 0) == 0);
  // Without a wire flat and tree have the same expressions: only the traffic tells.
  REQUIRE(claims(symbolic<Flat, Sum, AccumulateF32, Word8>(Format::bf16, model::kNoWire), "tree") ==
          "bytes: other than planned");
}

TEST_CASE("a kernel is told from every other operation and the other block lengths", "[kernels]") {
  const KernelRun how{3, 600, {2, 4, 64}};
  for (const model::Op op : model::all_ops()) {
    SymbolicKernel kernel =
        symbolic<Ring, Maximum, AccumulateElement, Word8>(Format::bf16, model::kNoWire);
    kernel.arithmetic.op = op;
    CAPTURE(std::string(model::name(op)));
    REQUIRE((difference(kernel, how) == "") == (op == model::Op::max));
  }
  for (const int length : {16, 32, 64, 128}) {
    SymbolicKernel kernel = symbolic<Tree, Sum, AccumulateF32, Blocks>(Format::bf16, blocks_of(64));
    kernel.arithmetic.wire = blocks_of(length);
    CAPTURE(length);
    REQUIRE((difference(kernel, how) == "") == (length == 64));
  }
}

}  // namespace tally::test
