// Goal: the kernels on a real GPU leave the same bits as the reference, on every rank.
// Method: one GPU plays all ranks in one launch. Every recipe and algorithm, block wires of every
// length, scale and rule; ragged counts that take turns at being in place, and off their alignment
// by one element; then three calls of different sizes with nothing between them. Scratch, flags and
// epochs are never reset. The hardware's conversions are compared with the software's over all
// inputs. Prints JSON lines; the exit status is 0 where all held, 1 where not, 3 where there is no
// GPU.

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "model/builders.h"
#include "reference/convert.h"
#include "reference/run.h"
#include "tests/kernels/gpu/gpu_inputs.h"
#include "tests/kernels/gpu/virtual_ranks.h"

namespace tally::kernels::test {
namespace {

using model::Accumulate;
using model::Format;

constexpr Format kElements[] = {Format::f32, Format::f16, Format::bf16};
constexpr std::string_view kAlgorithms[] = {"flat", "flat_ll", "tree", "ring"};
constexpr std::string_view kTimed[] = {"flat", "tree", "ring"};
constexpr std::int64_t kCounts[] = {0, 1, 127, 1000, 4099, 20011};
constexpr std::int64_t kRow[] = {4099, 130, 30001};  // the calls in a row
constexpr std::int64_t kLargest = 65536 + 5;
constexpr int kLargestEvery = 4;  // kernels: the host takes long to check so many elements
constexpr std::int64_t kTimedCount = 1 << 24;
constexpr int kHarmedLimit = 20;  // waits that give up take seconds each

struct Tally {
  std::int64_t cases = 0, elements = 0, mismatches = 0, harmed = 0;
  std::string first;  // the first mismatch, as the members of a JSON object
};

std::string describe(const Call& call) {
  char text[256];
  std::snprintf(
      text, sizeof text,
      R"("algorithm":"%s","element":"%s","wire":"%s","op":"%s","accumulate":"%s","count":%)" PRId64
      R"(,"in_place":%s,"shift":%d)",
      std::string(call.algorithm).c_str(),
      std::string(model::format(call.arithmetic.element).name).c_str(),
      call.arithmetic.wire.name().c_str(), std::string(model::name(call.arithmetic.op)).c_str(),
      std::string(model::name(call.arithmetic.accumulate)).c_str(), call.count,
      call.in_place ? "true" : "false", call.shift);
  return text;
}

std::uint32_t code_at(const std::vector<std::byte>& codes, std::int64_t i, int bytes) {
  std::uint32_t code = 0;
  std::memcpy(&code, &codes[i * bytes], bytes);
  return code;
}

/// Counts the elements that differ, where two NaNs are equal.
void compare(const Call& call, const RankBuffers& got, const RankBuffers& want, Tally* tally) {
  const model::NumberFormat& f = model::format(call.arithmetic.element);
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    tally->elements += call.count;
    if (got[rank] == want[rank]) continue;
    for (std::int64_t i = 0; i < call.count; ++i) {
      const std::uint32_t g = code_at(got[rank], i, f.bytes()),
                          w = code_at(want[rank], i, f.bytes());
      if (g == w || (f.is_nan(g) && f.is_nan(w))) continue;
      if (tally->mismatches++ > 0 || !tally->first.empty()) continue;
      char text[96];
      std::snprintf(text, sizeof text,
                    R"(,"rank":%zu,"index":%)" PRId64 R"(,"got":"%x","want":"%x")", rank, i, g, w);
      tally->first = describe(call) + text;
    }
  }
}

model::Schedule schedule_of(const Call& call, const Grid& grid) {
  const auto* builder = model::find_builder(model::Collective::all_reduce, call.algorithm);
  return builder->build({grid.ranks, call.count, grid.blocks, call.in_place, call.arithmetic});
}

void run_calls(VirtualRanks& gpu, const Grid& grid, const std::vector<Call>& calls, Tally* tally) {
  std::vector<RankBuffers> inputs;
  for (int slot = 0; slot < static_cast<int>(calls.size()); ++slot) {
    const Call& call = calls[slot];
    inputs.push_back(
        make_inputs(call.arithmetic.element, grid.ranks, call.count, 1000 * tally->cases + slot));
    gpu.prepare(slot, call, inputs[slot]);
  }
  gpu.launch(calls);
  for (int slot = 0; slot < static_cast<int>(calls.size()); ++slot) {
    const Call& call = calls[slot];
    ++tally->cases;
    compare(call, gpu.outputs(slot, call), reference::run(schedule_of(call, grid), inputs[slot]),
            tally);
    const std::string harm = gpu.harm(slot, call, inputs[slot]);
    if (harm.empty()) continue;
    ++tally->harmed;
    if (tally->first.empty()) tally->first = describe(call) + R"(,"harm":")" + harm + "\"";
  }
}

std::vector<model::Wire> wires() {
  std::vector<model::Wire> all;
  for (const model::Wire& wire : model::all_wires()) {
    if (!wire.is_none()) all.push_back(wire);
  }
  for (const char* other : {"e4m3fn:b16:f32", "e4m3fn:b256:f16", "e5m2:b64:e8m0:floor",
                            "e4m3fnuz:b256:e8m0:rceil", "e5m2fnuz:b128:f16"}) {
    all.push_back(*model::parse_wire(other));
  }
  return all;
}

std::vector<model::Arithmetic> all_arithmetic() {
  std::vector<model::Arithmetic> all;
  for (const Format element : kElements) {
    for (const model::Op op : model::all_ops()) {
      if (model::premultiplies(op)) continue;
      all.push_back({element, model::kNoWire, op, Accumulate::element});
      all.push_back({element, model::kNoWire, op, Accumulate::f32});
      if (!model::allows_wire(op)) continue;
      for (const model::Wire& wire : wires()) all.push_back({element, wire, op, Accumulate::f32});
    }
  }
  return all;
}

/// All sizes with one kernel, the `number`-th.
void run_kernel(VirtualRanks& gpu, const Grid& grid, std::string_view algorithm,
                const model::Arithmetic& arithmetic, int number, Tally* tally) {
  int turn = number;
  const auto next = [&](std::int64_t count) {
    ++turn;
    return Call{algorithm, arithmetic, count, turn % 2 == 1, turn / 2 % 2};
  };
  for (const std::int64_t count : kCounts) run_calls(gpu, grid, {next(count)}, tally);
  if (number % kLargestEvery == 0) run_calls(gpu, grid, {next(kLargest)}, tally);
  std::vector<Call> row;
  for (const std::int64_t count : kRow) row.push_back({algorithm, arithmetic, count, false, 0});
  run_calls(gpu, grid, row, tally);
}

Tally run_all(const Grid& grid) {
  Tally tally;
  VirtualRanks gpu(grid, 3, 4 * kLargest);
  int number = 0;
  for (const model::Arithmetic& arithmetic : all_arithmetic()) {
    for (const std::string_view algorithm : kAlgorithms) {
      if (model::disallowed(model::Collective::all_reduce, algorithm, arithmetic)) continue;
      if (tally.harmed > kHarmedLimit) return tally;
      run_kernel(gpu, grid, algorithm, arithmetic, number++, &tally);
    }
  }
  return tally;
}

void time_all(const Grid& grid) {
  VirtualRanks gpu(grid, 1, 4 * kTimedCount);
  const model::Arithmetic none{Format::bf16, model::kNoWire, model::Op::sum, Accumulate::element};
  for (const char* name : {"none", "e4m3fn:sat", "e4m3fnuz", "e4m3fn:b128:f32", "mxfp8_e4m3"}) {
    const model::Wire wire = *model::parse_wire(name);
    for (const std::string_view algorithm : kTimed) {
      model::Arithmetic arithmetic = none;
      arithmetic.wire = wire;
      if (!wire.is_none()) arithmetic.accumulate = Accumulate::f32;
      const auto [median, least] = gpu.time({algorithm, arithmetic, kTimedCount, false, 0}, 21);
      std::printf(R"({"what":"time","algorithm":"%s","element":"bf16","wire":"%s","ranks":%d,)"
                  R"("blocks":%d,"threads":%d,"count":%)" PRId64
                  R"(,"median_us":%.1f,"least_us":%.1f})"
                  "\n",
                  std::string(algorithm).c_str(), wire.name().c_str(), grid.ranks, grid.blocks,
                  grid.threads, kTimedCount, median, least);
    }
  }
}

int run() {
  const Device device = find_device();
  if (device.name.empty()) {
    std::printf("skipped: no GPU to run on: %s\n", device.unavailable.c_str());
    return 3;
  }
  std::uint64_t different = 0;
  for (const Difference& d : compare_conversions()) {
    different += d.different;
    std::printf(R"({"what":"conversion","conversion":"%s","inputs":%)" PRIu64
                R"(,"different":%)" PRIu64 R"(,"first":"%08x"})"
                "\n",
                d.conversion.c_str(), d.inputs, d.different, d.different == 0 ? 0 : d.first);
    std::fflush(stdout);
  }
  const Grid small{8, 4, 256}, large{8, device.processors / 8, 512};
  for (const Grid& grid : {small, large}) {
    const Tally tally = run_all(grid);
    different += tally.mismatches + tally.harmed;
    std::printf(R"({"what":"all_reduce","device":"%s","driver":%d,"ranks":%d,"blocks":%d,)"
                R"("threads":%d,"cases":%)" PRId64 R"(,"elements":%)" PRId64
                R"(,"mismatches":%)" PRId64 R"(,"harmed":%)" PRId64 R"(,"first":{%s}})"
                "\n",
                device.name.c_str(), device.driver, grid.ranks, grid.blocks, grid.threads,
                tally.cases, tally.elements, tally.mismatches, tally.harmed, tally.first.c_str());
    std::fflush(stdout);
  }
  if (different == 0) time_all(large);
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tally::kernels::test

int main() { return tally::kernels::test::run(); }
