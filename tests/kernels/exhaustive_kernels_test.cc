// Goal: on two ranks of one block the healthy kernels are right in every order that their threads
// can have, and a line that orders less than it should is found wherever it matters.
// Method: explore all classes of orders on strong memory, looking for races. That there are as many
// as a formula says shows that the exploration leaves none out.

#include <cstring>
#include <set>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/explorer.h"
#include "kernels/emulator/kernel_table.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

constexpr int kRanks = 2;

struct Algorithm {
  std::string_view name;
  int meetings;  // of the two ranks in a call
};
constexpr Algorithm kAlgorithms[] = {{"flat", 2}, {"tree", 3}, {"ring", 3}};

struct Calls {
  std::string_view algorithm;
  int threads, calls;
};

struct Exploration {
  std::int64_t classes = 0;  // of orders, that runs were made of
  bool is_exhausted = false;
  std::string wrong;  // what the last run came to; nothing where all was right
  std::set<Site> sites;
};

/// Nine elements: two words and a part of one, so that either thread has something to do.
class Bench {
 public:
  Bench(const Calls& calls, Choices& choices, const Settings& settings)
      : session_(memory_, kRanks, {1, calls.threads, 64},
                 kernels::scratch_bytes(model::Collective::all_reduce, kF32, 1, kCount),
                 kernels::packet_bytes(calls.algorithm, kF32, kRanks, kCount)),
        emulator_(memory_, kRanks, choices, settings) {
    Call call{.count = kCount, .inputs = {}, .outputs = {}, .number = 0};
    for (int rank = 0; rank < kRanks; ++rank) {
      const Buffer& input = memory_.allocate(rank, "input", sizeof(float) * kCount, std::byte{});
      for (int i = 0; i < kCount; ++i) {
        const auto value = static_cast<float>(rank * 100 + i);
        std::memcpy(input.first + sizeof value * i, &value, sizeof value);
      }
      call.inputs.push_back(input.first);
    }
    const Launcher launch = find_kernel({calls.algorithm, kF32, ""});
    for (; call.number < static_cast<std::uint32_t>(calls.calls); ++call.number) {
      call.outputs.clear();
      for (int rank = 0; rank < kRanks; ++rank) {
        outputs_.push_back(
            memory_.allocate(rank, "output", sizeof(float) * kCount, std::byte{0x7F}).first);
        call.outputs.push_back(outputs_.back());
      }
      launch(emulator_, session_, call);
    }
  }

  /// What is wrong with the run, or nothing.
  std::string run() {
    trace = emulator_.run();
    if (!trace.hang.empty()) return "hang: " + trace.hang[0];
    if (!trace.races.empty()) return describe(trace.races[0], memory_);
    if (!trace.stale_reads.empty()) return "stale: " + describe(trace.stale_reads[0].read);
    for (const std::byte* output : outputs_) {
      for (int i = 0; i < kCount; ++i) {
        float sum;
        std::memcpy(&sum, output + sizeof sum * i, sizeof sum);
        if (!(sum == static_cast<float>(100 + 2 * i))) return "value";
      }
    }
    return "";
  }

  Trace trace;

 private:
  static constexpr model::Arithmetic kF32{};
  static constexpr int kCount = 9;

  Memory memory_{kRanks, 1 << 15};
  const Session session_;
  Emulator emulator_;
  std::vector<std::byte*> outputs_;
};

/// Until something is wrong, or to the end.
Exploration explore(const Calls& calls, const Settings& settings) {
  Exploration result;
  Explorer explorer;
  do {
    Explorer::Run choices(explorer);
    Bench bench(calls, choices, settings);
    result.wrong = bench.run();
    result.sites.merge(bench.trace.sites);
  } while (result.wrong.empty() && explorer.advance());
  result.classes = explorer.runs() - explorer.redundant_runs();
  result.is_exhausted = explorer.is_exhausted();
  return result;
}

std::int64_t power(std::int64_t base, int exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

}  // namespace

TEST_CASE("healthy kernels are right in every order of two ranks", "[kernels]") {
  for (const auto& [algorithm, meetings] : kAlgorithms) {
    for (const int threads : {1, 2}) {
      for (const int calls : {1, 2, 3}) {
        const Exploration all = explore({algorithm, threads, calls}, {.finds_races = true});
        CAPTURE(algorithm, threads, calls);
        REQUIRE(all.wrong == "");
        REQUIRE(all.is_exhausted);
        // At each meeting but the last, one rank may see that the other is at the next already.
        REQUIRE(all.classes == power(3, meetings * calls - 1));
      }
    }
  }
}

TEST_CASE("packets have one order, since each is stored once and then waited for", "[kernels]") {
  for (const int threads : {1, 2}) {
    for (const int calls : {1, 2, 3, 4}) {
      const Exploration all = explore({"flat_ll", threads, calls}, {.finds_races = true});
      CAPTURE(threads, calls);
      REQUIRE(all.wrong == "");
      REQUIRE(all.is_exhausted);
      REQUIRE(all.classes == 1);
    }
  }
}

TEST_CASE("a line that orders less is found, but for the fence that the release behind it covers",
          "[kernels]") {
  for (const auto& [algorithm, meetings] : kAlgorithms) {
    const Calls calls{algorithm, 2, 2};
    const std::set<Site> sites = explore(calls, {.keeps_log = true}).sites;
    REQUIRE(sites.size() == 5);
    for (const Site& site : sites) {
      for (const Change change : {Change::drop, Change::relax, Change::narrow}) {
        if (site.ordering == Ordering::block_barrier && change != Change::drop) continue;
        const Exploration all =
            explore(calls, {.finds_races = true, .mutation = Mutation{site, change}});
        CAPTURE(algorithm, site.file, site.line, int(change), all.wrong);
        REQUIRE(all.wrong.empty() == (site.ordering == Ordering::fence));
        REQUIRE(all.is_exhausted == all.wrong.empty());
      }
    }
  }
}

}  // namespace tally::kernels::emulator
