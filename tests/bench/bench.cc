// Goal: figures for docs/performance.md, each as a ratio to something measured in the same run.
// Method: Google Benchmark on one core. memory/* are what conversions are compared with: reading
// and writing the same bytes. Run with --benchmark_repetitions=7 and take the medians.

#include <benchmark/benchmark.h>

#include <cstring>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/kernel_table.h"
#include "model/builders.h"
#include "reference/block_codec.h"
#include "reference/convert.h"
#include "reference/inputs.h"
#include "reference/run.h"

namespace {

using namespace tally;
using model::Format;

constexpr std::int64_t kInCache = 1 << 12;
constexpr std::int64_t kInMemory = 1 << 25;

std::vector<float> normal(std::int64_t count) {
  std::vector<float> x(count);
  const auto piece = reference::draw(*reference::open_input("normal"), Format::f32,
                                     {1, 0, 0, std::min(count, std::int64_t{1} << 16)});
  for (std::int64_t i = 0; i < count; i += std::int64_t(piece.size() / 4)) {
    std::memcpy(&x[i], piece.data(), std::min<std::size_t>(piece.size(), 4 * (count - i)));
  }
  return x;
}

void memcpy_same_bytes(benchmark::State& state) {
  const std::int64_t count = state.range(0);
  // 5 bytes an element cross, as in a conversion: a memcpy of 2.5 bytes reads and writes them.
  std::vector<std::byte> from(count * 5 / 2, std::byte{1}), to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * count);
}

void encode(benchmark::State& state, Format format) {
  const auto x = normal(state.range(0));
  std::vector<std::byte> codes(x.size());
  for (auto _ : state) {
    reference::encode_array(format, model::kAsFormat, x, codes);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void decode(benchmark::State& state, Format format) {
  auto x = normal(state.range(0));
  std::vector<std::byte> codes(x.size());
  reference::encode_array(format, model::kAsFormat, x, codes);
  for (auto _ : state) {
    reference::decode_array(format, codes, x);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

struct Blocks {
  explicit Blocks(std::int64_t count, const char* name)
      : wire(*model::parse_wire(name)),
        x(normal(count)),
        codes(count),
        scales(wire.scale_bytes(count)) {}
  model::Wire wire;
  std::vector<float> x;
  std::vector<std::byte> codes, scales;
};

void encode_blocks(benchmark::State& state, const char* wire) {
  Blocks blocks(state.range(0), wire);
  for (auto _ : state) {
    reference::encode_blocks(blocks.wire, blocks.x, blocks.codes, blocks.scales);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void decode_blocks(benchmark::State& state, const char* wire) {
  Blocks blocks(state.range(0), wire);
  reference::encode_blocks(blocks.wire, blocks.x, blocks.codes, blocks.scales);
  for (auto _ : state) {
    reference::decode_blocks(blocks.wire, blocks.codes, blocks.scales, blocks.x);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// An all-reduce of 16 MiB of f32 on 8 ranks.
constexpr std::int64_t kCount = 4 << 20;
constexpr int kRanks = 8;

void interpret(benchmark::State& state, const char* algorithm, const char* wire) {
  const auto* builder = model::find_builder(model::Collective::all_reduce, algorithm);
  const model::Arithmetic arithmetic{Format::f32, *model::parse_wire(wire), model::Op::sum,
                                     model::Accumulate::f32};
  const auto schedule = builder->build({kRanks, kCount, 1, false, arithmetic});
  const auto x = normal(kCount);
  const auto* first = reinterpret_cast<const std::byte*>(x.data());
  const reference::RankBuffers inputs(kRanks, std::vector<std::byte>(first, first + 4 * kCount));
  reference::RankBuffers outputs;
  for (auto _ : state) reference::run_into(schedule, inputs, outputs);
}

/// Reads the inputs of that all-reduce and writes its outputs, once.
void read_and_write(benchmark::State& state) {
  const std::vector<std::vector<float>> from(kRanks, normal(kCount));
  std::vector<std::vector<float>> to(kRanks, std::vector<float>(kCount));
  for (auto _ : state) {
    for (int rank = 0; rank < kRanks; ++rank)
      std::memcpy(to[rank].data(), from[rank].data(), 4 * kCount);
    benchmark::ClobberMemory();
  }
}

/// Every thread of two blocks of 64 on two ranks reads its peer's words.
void emulated_loads(benchmark::State& state) {
  using namespace kernels;
  constexpr int kWords = 4096, kPasses = 64;
  emulator::Memory memory(2, emulator::Memory::room(kWords * sizeof(Word)));
  std::vector<const Word*> words;
  for (int rank = 0; rank < 2; ++rank) {
    const auto buffer = memory.allocate(rank, "words", kWords * sizeof(Word), std::byte{1});
    words.push_back(reinterpret_cast<const Word*>(buffer.first));
  }
  std::int64_t loads = 0;
  for (auto _ : state) {
    emulator::RandomWalk choices(1, emulator::RandomWalk::Grain::coarse);
    emulator::Emulator emulator(memory, 2, choices);
    for (int rank = 0; rank < 2; ++rank) {
      emulator.launch(rank, {2, 64, 64}, [peer = words[1 - rank]](emulator::EmulatedGpu& gpu) {
        std::uint32_t sum = 0;
        for (int pass = 0; pass < kPasses; ++pass) {
          for (int w = gpu.thread(); w < kWords; w += gpu.threads())
            sum += gpu.load(peer + w).part[0];
        }
        benchmark::DoNotOptimize(sum);
      });
    }
    benchmark::DoNotOptimize(emulator.run());
    loads += 2 * 2 * std::int64_t{kPasses} * kWords;
  }
  state.counters["loads_per_second"] =
      benchmark::Counter(static_cast<double>(loads), benchmark::Counter::kIsRate);
}

/// Three calls of flat on two ranks, in a fine random order, from nothing to the trace.
void interleavings(benchmark::State& state, kernels::emulator::Geometry geometry,
                   std::int64_t count, const kernels::emulator::Settings& settings) {
  using namespace kernels::emulator;
  const model::Arithmetic arithmetic{Format::bf16, model::kNoWire, model::Op::sum,
                                     model::Accumulate::element};
  const Launcher launch = find_kernel({"flat", arithmetic, ""});
  const std::size_t bytes = 2 * count, scratch = kernels::scratch_bytes(
                                           model::Collective::all_reduce, arithmetic, 1, count);
  std::uint64_t seed = 0;
  for (auto _ : state) {
    Memory memory(2, 2 * Memory::room(bytes) + Session::room(geometry, scratch));
    const Session session(memory, 2, geometry, scratch);
    Call call{count, {}, {}};
    for (int rank = 0; rank < 2; ++rank) {
      call.inputs.push_back(memory.allocate(rank, "input", bytes, std::byte{1}).first);
      call.outputs.push_back(memory.allocate(rank, "output", bytes, std::byte{2}).first);
    }
    RandomWalk choices(++seed);
    Emulator emulator(memory, 2, choices, settings);
    for (int i = 0; i < 3; ++i) launch(emulator, session, call);
    benchmark::DoNotOptimize(emulator.run());
  }
  state.counters["per_minute"] =
      benchmark::Counter(60.0 * static_cast<double>(seed), benchmark::Counter::kIsRate);
}

constexpr kernels::emulator::Geometry kSmall{1, 4, 64}, kLarge{2, 64, 64};
using kernels::emulator::MemoryKind;
const kernels::emulator::Settings kCachesAndClocks{MemoryKind::gfx942, {}, true},
    kCaches{MemoryKind::gfx942, {}, false}, kClocks{MemoryKind::strong, {}, true},
    kNeither{MemoryKind::strong, {}, false};

}  // namespace

BENCHMARK(memcpy_same_bytes)->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(encode, e4m3fn, Format::e4m3fn)->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(decode, e4m3fn, Format::e4m3fn)->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(encode_blocks, b128_f32, "e4m3fn:b128:f32")->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(decode_blocks, b128_f32, "e4m3fn:b128:f32")->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(encode_blocks, b32_e8m0, "e4m3fn:b32:e8m0:floor")->Arg(kInCache)->Arg(kInMemory);
BENCHMARK_CAPTURE(decode_blocks, b32_e8m0, "e4m3fn:b32:e8m0:floor")->Arg(kInCache)->Arg(kInMemory);
BENCHMARK(read_and_write)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, flat_e4m3fn, "flat", "e4m3fn")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, tree_e4m3fn, "tree", "e4m3fn")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(interpret, flat_b128, "flat", "e4m3fn:b128:f32")->Unit(benchmark::kMillisecond);
BENCHMARK(emulated_loads);
BENCHMARK_CAPTURE(interleavings, 1x4_gfx942_clocks, kSmall, 64, kCachesAndClocks);
BENCHMARK_CAPTURE(interleavings, 1x4_gfx942, kSmall, 64, kCaches);
BENCHMARK_CAPTURE(interleavings, 1x4_strong_clocks, kSmall, 64, kClocks);
BENCHMARK_CAPTURE(interleavings, 1x4_strong, kSmall, 64, kNeither);
BENCHMARK_CAPTURE(interleavings, 2x64_gfx942_clocks, kLarge, 1000, kCachesAndClocks);
BENCHMARK_CAPTURE(interleavings, 2x64_gfx942, kLarge, 1000, kCaches);
BENCHMARK_CAPTURE(interleavings, 2x64_strong_clocks, kLarge, 1000, kClocks);
BENCHMARK_CAPTURE(interleavings, 2x64_strong, kLarge, 1000, kNeither);
BENCHMARK_MAIN();
