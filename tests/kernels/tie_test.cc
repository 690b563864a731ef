// Goal: the kernels are the algorithms that the schedules say, not others with the same sums.
// Method: run the kernels on symbols. On every rank each output's expression is the schedule's,
// term by term; so are the bytes on each link and the signal-wait edges. Then every planted
// fault, and two that no value shows, are told from the schedule.

#include <cstring>

#include "kernels/all_reduce_flat.h"
#include "kernels/all_reduce_tree.h"
#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/symbolic.h"
#include "kernels/planted.h"
#include "reference/provenance.h"
#include "tests/kernels/run_helper.h"
#include "tests/reference/rank_buffers.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels;
using namespace kernels::emulator;
using model::Accumulate;
using model::Arithmetic;
using model::Expressions;
using model::Format;
using model::Op;

/// A kernel on symbols, and what it claims to be.
struct SymbolicKernel {
  std::string_view algorithm;
  Arithmetic arithmetic;
  std::size_t packet_bytes;
  std::int64_t per_word;
  Launch launch;
};

template <class R>
Launch launch_on_symbols(std::string_view algorithm) {
  return [algorithm](Emulator& emulator, const Session& session, const Call& call) {
    for (int rank = 0; rank < session.ranks; ++rank) {
      emulator.launch(
          rank, session.geometry, [algorithm, a = bind<R>(session, call, rank)](EmulatedGpu& gpu) {
            algorithm == "flat" ? all_reduce_flat<R>(gpu, a) : all_reduce_tree<R>(gpu, a);
          });
    }
  };
}

template <class Accumulator, class Codec, class Plan = FaithfulPlan>
SymbolicKernel symbolic(std::string_view algorithm, const Arithmetic& arithmetic) {
  using R = Recipe<SymbolElement, Accumulator, Codec, Plan>;
  return {algorithm, arithmetic, sizeof(typename Codec::Packet), Codec::kPerWord,
          launch_on_symbols<R>(algorithm)};
}

constexpr Arithmetic plain(Format element, Accumulate accumulate) {
  return {element, model::kNoWire, Op::sum, accumulate};
}
constexpr Arithmetic kFp8{Format::bf16, model::cast_wire(Format::e4m3fnuz), Op::sum,
                          Accumulate::f32};

/// A word of 4 f32, of 8 f16 or bf16, and of 16 codes; both accumulators where there are two.
std::vector<SymbolicKernel> faithful_kernels() {
  std::vector<SymbolicKernel> all;
  for (const std::string_view algorithm : {"flat", "tree"}) {
    all.push_back(symbolic<AccumulateElement, SymbolPlainCodec<4>>(
        algorithm, plain(Format::f32, Accumulate::element)));
    all.push_back(symbolic<AccumulateF32, SymbolPlainCodec<4>>(
        algorithm, plain(Format::f32, Accumulate::f32)));
    all.push_back(symbolic<AccumulateElement, SymbolPlainCodec<8>>(
        algorithm, plain(Format::bf16, Accumulate::element)));
    all.push_back(symbolic<AccumulateF32, SymbolPlainCodec<8>>(
        algorithm, plain(Format::bf16, Accumulate::f32)));
    all.push_back(symbolic<AccumulateF32, SymbolCastCodec<16>>(algorithm, kFp8));
  }
  return all;
}

std::vector<Symbol> symbols_of(const std::vector<std::byte>& bytes) {
  std::vector<Symbol> symbols(bytes.size() / sizeof(Symbol));
  if (!symbols.empty()) std::memcpy(symbols.data(), bytes.data(), bytes.size());
  return symbols;
}

/// Inputs that name themselves.
KernelData symbolic_data(const SymbolicKernel& kernel, const KernelRun& how, Expressions& pool) {
  KernelData data;
  data.stale = static_cast<std::uint32_t>(pool.input(-1, 0));  // what no rank has
  for (int rank = 0; rank < how.ranks; ++rank) {
    std::vector<Symbol> symbols;
    for (std::int64_t i = 0; i < how.count; ++i) symbols.push_back(pool.input(rank, i));
    const auto* bytes = reinterpret_cast<const std::byte*>(symbols.data());
    data.inputs.emplace_back(bytes, bytes + symbols.size() * sizeof(Symbol));
  }
  data.scratch_bytes = static_cast<std::size_t>(model::ceil_divide(how.count, kernel.per_word)) *
                       kernel.packet_bytes;
  return data;
}

std::string expression_difference(const KernelOutcome& outcome,
                                  const reference::OutputExpressions& wanted,
                                  const Expressions& pool) {
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    const std::vector<Symbol> got = symbols_of(outcome.outputs[rank]);
    if (got == wanted[rank]) continue;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[rank][i]) continue;
      return "expression: output[" + std::to_string(i) + "] of rank " + std::to_string(rank) +
             " is " + pool.text(got[i]) + ", the schedule has " + pool.text(wanted[rank][i]);
    }
    return "expression: another number of elements";
  }
  return "";
}

/// How the kernel differs from its schedule; "" where it does not.
std::string difference(const SymbolicKernel& kernel, const KernelRun& how) {
  Expressions pool;
  const SymbolScope scope(pool);
  const KernelData data = symbolic_data(kernel, how, pool);
  KernelOutcome outcome = run_kernel(kernel.launch, how, data);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (!how.in_place && outcome.inputs != data.inputs) return "inputs: changed";

  const model::Schedule schedule = schedule_of(kernel.algorithm, kernel.arithmetic, how);
  const auto wanted = reference::provenance(schedule, pool);
  if (const std::string wrong = expression_difference(outcome, wanted, pool); !wrong.empty()) {
    return wrong;
  }
  // A symbolic packet stands for one word.
  for (std::int64_t& bytes : outcome.trace.link_bytes) {
    bytes = bytes / static_cast<std::int64_t>(kernel.packet_bytes) * model::kWordBytes;
  }
  if (outcome.trace.link_bytes != model::link_bytes(schedule)) return "bytes: other than planned";
  if (edges_of(outcome.trace) != model::wait_edges(schedule)) return "edges: other than planned";
  return "";
}

constexpr std::int64_t kCounts[] = {0, 1, 3, 15, 16, 17, 127, 128, 129, 255, 257, 1000, 2049};
constexpr Geometry kGeometries[] = {{1, 1, 64}, {1, 4, 64}, {2, 64, 64}, {3, 32, 32}};

/// Reads one word of a peer more than it needs.
struct ReadsTwice : FaithfulPlan {
  template <class R, class Gpu>
  static void store(Gpu& gpu, const typename R::Arguments& a, std::int64_t first,
                    std::int64_t valid, const typename R::Element::Value (&x)[R::Codec::kPerWord]) {
    if (first == 0) gpu.load(a.scratch[(a.rank + 1) % a.ranks]);
    FaithfulPlan::store<R>(gpu, a, first, valid, x);
  }
};

/// Leaves before its peers have read its scratch.
struct NoLastBarrier : FaithfulPlan {
  static bool meets(int number) { return number != 1; }
};

/// The faulty plan in four kernels: flat and tree, without and with a wire.
template <class Plan>
std::vector<SymbolicKernel> kernels_with() {
  std::vector<SymbolicKernel> all;
  for (const std::string_view algorithm : {"flat", "tree"}) {
    all.push_back(symbolic<AccumulateElement, SymbolPlainCodec<8>, Plan>(
        algorithm, plain(Format::bf16, Accumulate::element)));
    all.push_back(symbolic<AccumulateF32, SymbolCastCodec<16>, Plan>(algorithm, kFp8));
  }
  return all;
}

/// Requires that the plan is told from the schedule, for that reason, on 3 ranks, 300 elements.
template <class Plan>
void require_told_apart(const std::string& reason) {
  for (const SymbolicKernel& kernel : kernels_with<Plan>()) {
    const std::string wrong = difference(kernel, {3, 300, {2, 4, 64}});
    CAPTURE(reason, wrong, kernel.algorithm == "flat", kernel.arithmetic.wire.name());
    REQUIRE(wrong.rfind(reason + ": ", 0) == 0);
  }
}

/// The same of a kernel of the table on real elements, and whether its bits are the reference's.
std::string table_difference(const KernelKey& key, const KernelRun& how) {
  const Format element = key.arithmetic.element;
  const auto inputs = random_inputs(element, how.ranks, how.count, how.seed);
  const KernelOutcome outcome = run_kernel(key, how, inputs);
  const model::Schedule schedule = schedule_of(key.algorithm, key.arithmetic, how);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (!how.in_place && outcome.inputs != inputs) return "inputs: changed";
  if (outcome.trace.link_bytes != model::link_bytes(schedule)) return "bytes: other than planned";
  if (edges_of(outcome.trace) != model::wait_edges(schedule)) return "edges: other than planned";
  return first_difference(element, outcome.outputs, reference::run(schedule, inputs));
}

/// Of every kernel in the table.
std::vector<Arithmetic> all_arithmetics() {
  std::vector<Arithmetic> all;
  for (const Format element : {Format::f32, Format::f16, Format::bf16}) {
    all.push_back(plain(element, Accumulate::element));
    for (const model::Wire& wire : model::all_wires()) {
      all.push_back({element, wire, Op::sum, Accumulate::f32});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("each kernel computes the schedule's expressions, moves its bytes, meets its edges",
          "[kernels]") {
  int runs = 0;
  for (const SymbolicKernel& kernel : faithful_kernels()) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (const std::int64_t count : kCounts) {
        ++runs;  // each shape with one geometry, in place or not; both in turn over the shapes
        const KernelRun how{.ranks = ranks,
                            .count = count,
                            .geometry = kGeometries[runs % std::size(kGeometries)],
                            .in_place = runs % 3 == 0,
                            .misalignment = runs % 5 == 0 ? sizeof(Symbol) : 0,
                            .seed = static_cast<std::uint64_t>(runs)};
        const std::string wrong = difference(kernel, how);
        CAPTURE(ranks, count, kernel.algorithm == "flat", kernel.arithmetic.wire.name());
        if (!wrong.empty()) REQUIRE(wrong == "");
      }
    }
  }
  REQUIRE(runs == 10 * 8 * 13);
}

TEST_CASE("every geometry, in place or not, is tied at the ragged counts", "[kernels]") {
  for (const SymbolicKernel& kernel : faithful_kernels()) {
    for (const Geometry& geometry : kGeometries) {
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
      how.seed = seed;
      REQUIRE(difference(kernel, how) == "");
    }
  }
}

TEST_CASE("every planted fault is told from the schedule", "[kernels]") {
  require_told_apart<TailDropped>("expression");
  require_told_apart<StaleScratch>("expression");
  require_told_apart<RankLost>("expression");
  require_told_apart<RankDoubled>("expression");
  require_told_apart<MissingBarrier>("expression");
  require_told_apart<OutputNotWritten>("expression");
  require_told_apart<WritePastEnd>("bounds");
  require_told_apart<InputModified>("inputs");
}

TEST_CASE("another order is told apart, also where an FP8 wire hides it from all values",
          "[kernels]") {
  require_told_apart<OtherOrder>("expression");
}

TEST_CASE("a needless read is told apart by its bytes, a barrier left out by its edges",
          "[kernels]") {
  require_told_apart<ReadsTwice>("bytes");
  const SymbolicKernel kernel =
      symbolic<AccumulateF32, SymbolCastCodec<16>, NoLastBarrier>("flat", kFp8);
  REQUIRE(difference(kernel, {3, 300, {2, 4, 64}}) == "edges: other than planned");
}

TEST_CASE("a kernel is told from the other algorithm and the other accumulator", "[kernels]") {
  const KernelRun how{3, 300, {2, 4, 64}};
  SymbolicKernel kernel = symbolic<AccumulateF32, SymbolCastCodec<16>>("flat", kFp8);
  kernel.algorithm = "tree";
  REQUIRE(difference(kernel, how).rfind("expression", 0) == 0);
  kernel = symbolic<AccumulateF32, SymbolPlainCodec<8>>("flat",
                                                        plain(Format::bf16, Accumulate::element));
  REQUIRE(difference(kernel, how).rfind("expression", 0) == 0);
  // Without a wire flat and tree have the same expressions: only the traffic tells.
  kernel =
      symbolic<AccumulateF32, SymbolPlainCodec<8>>("flat", plain(Format::bf16, Accumulate::f32));
  kernel.algorithm = "tree";
  REQUIRE(difference(kernel, how) == "bytes: other than planned");
}

TEST_CASE("every kernel of the table moves its schedule's bytes and gives its bits", "[kernels]") {
  std::uint64_t runs = 0;
  for (const Arithmetic& arithmetic : all_arithmetics()) {
    for (const std::string_view algorithm : {"flat", "tree"}) {
      for (const int ranks : {1, 2, 3, 8, 16}) {
        ++runs;
        const KernelRun how{.ranks = ranks,
                            .count = kCounts[runs % std::size(kCounts)],
                            .geometry = kGeometries[runs % std::size(kGeometries)],
                            .in_place = runs % 3 == 0,
                            .seed = runs};
        CAPTURE(algorithm == "flat", arithmetic.wire.name(), ranks, how.count);
        REQUIRE(table_difference({algorithm, arithmetic, ""}, how) == "");
      }
    }
  }
  REQUIRE(runs == 30 * 2 * 5);
}

TEST_CASE("the table has no kernel that rounds to the element behind a wire", "[kernels]") {
  for (const Arithmetic& arithmetic : all_arithmetics()) {
    if (arithmetic.wire.is_none()) continue;
    Arithmetic other = arithmetic;
    other.accumulate = Accumulate::element;
    REQUIRE(find_kernel({"flat", arithmetic, ""}) != nullptr);
    REQUIRE(find_kernel({"flat", other, ""}) == nullptr);
  }
}

}  // namespace tally::test
