// Goal: kernels find in a session's memory all that they need, and nothing of each other's.
// Method: devices are emulated; what a session launches is run by the emulator, which sees every
// access outside of what was allocated. All algorithms, on one device and on several, one after
// another on the same memory.

#include <cstring>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/hardware/gpu_session.h"
#include "kernels/recipes.h"
#include "kernels/scratch_size.h"
#include "tests/kernels/hardware/host_gpu_runtime.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels;
using hardware::GpuSession;
using hardware::Share;
using model::Collective;

using F32 = Element<model::Format::f32>;
using PlainSum = Recipe<F32, Sum, AccumulateElement, PlainCodec<F32>, FaithfulPlan>;

constexpr emulator::Geometry kGeometry{2, 32, 32};
constexpr std::size_t kRoom = 1 << 20;

/// Devices whose memory is the emulator's, and whose kernels it runs when it is told to.
class EmulatedRuntime : public HostGpuRuntime {
 public:
  explicit EmulatedRuntime(int devices)
      : HostGpuRuntime(machine_, devices), memory(devices, kRoom), choices_(7) {
    on_launch = [this](const SeenLaunch& seen) { put(seen); };
  }

  emulator::Memory memory;

  void use(int device) override {
    device_ = device;
    HostGpuRuntime::use(device);
  }
  void* allocate(std::size_t bytes) override {
    return memory.allocate(device_, "memory", bytes, std::byte{0xAB}).first;
  }
  void free(void*) override {}
  void fill(void* to, std::byte value, std::size_t bytes, hardware::Stream) override {
    std::memset(to, std::to_integer<int>(value), bytes);
  }

  /// What kernels do from here on, whatever their names are.
  template <class Algorithm>
  void set_kernel() {
    run_ = [](emulator::EmulatedGpu& gpu, const Launch& launch, int place) {
      Algorithm::template run<PlainSum>(gpu, arguments<PlainSum>(launch, place));
    };
  }

  /// Runs what was launched on so many ranks.
  emulator::Trace run(int ranks) {
    emulator::Emulator emulator(memory, ranks, choices_);
    for (const auto& [rank, kernel] : launched_) emulator.launch(rank, kGeometry, kernel);
    launched_.clear();
    return emulator.run();
  }

 private:
  void put(const SeenLaunch& seen) {
    for (int place = 0; place < seen.places; ++place) {
      launched_.emplace_back(seen.launch.first_rank + place,
                             [launch = seen.launch, place, run = run_](emulator::EmulatedGpu& gpu) {
                               run(gpu, launch, place);
                             });
    }
  }

  HostMachine machine_;
  emulator::RandomWalk choices_;
  int device_ = 0;
  std::function<void(emulator::EmulatedGpu&, const Launch&, int place)> run_;
  std::vector<std::pair<int, emulator::Kernel>> launched_;  // by rank
};

/// What rank `from` has in element i of call `call`: sums of them are exact.
float value(int call, int from, std::int64_t i) {
  return static_cast<float>(100 * call + 10 * from + i % 7);
}

/// A session and the buffers of a few calls on it.
struct Fixture {
  Fixture(int ranks_in_all, int devices, std::string_view algorithm_name)
      : ranks(ranks_in_all), runtime(devices), algorithm(algorithm_name) {
    const model::Arithmetic f32;
    const hardware::SessionOptions options{
        scratch_bytes(Collective::all_reduce, f32, ranks, kLargest),
        packet_bytes(algorithm, f32, ranks, kLargest), kGeometry.blocks, kGeometry.threads};
    auto created = GpuSession::create(runtime, alone, hardware::share_out(ranks, devices), options);
    REQUIRE(bool(created));
    session = std::move(*created);
  }

  /// Launches a call of `count` on all ranks.
  void launch(std::int64_t count) {
    const int call = static_cast<int>(outputs.size());
    outputs.emplace_back();
    for (int share = 0; share < static_cast<int>(session->shares().size()); ++share) {
      const Share& s = session->shares()[share];
      runtime.use(s.device);
      std::vector<RankCall> calls;
      for (int rank = s.first_rank; rank < s.first_rank + s.ranks; ++rank) {
        auto* const input = static_cast<float*>(runtime.allocate(count * sizeof(float)));
        auto* const output = static_cast<float*>(runtime.allocate(count * sizeof(float)));
        for (std::int64_t i = 0; i < count; ++i) input[i] = value(call, rank, i);
        outputs.back().emplace_back(output, count);
        calls.push_back({input, output, nullptr, nullptr});
      }
      const hardware::Stream stream = runtime.create_stream();
      session->launch(share, stream,
                      {{Collective::all_reduce, algorithm, {}},
                       kGeometry.blocks,
                       kGeometry.threads,
                       count,
                       1,
                       calls});
      runtime.destroy(stream);
    }
  }

  /// Whether every rank has the sums of every call.
  bool are_summed() const {
    for (std::size_t call = 0; call < outputs.size(); ++call) {
      for (const std::span<const float> of_rank : outputs[call]) {
        for (std::size_t i = 0; i < of_rank.size(); ++i) {
          float sum = 0;
          for (int rank = 0; rank < ranks; ++rank) sum += value(static_cast<int>(call), rank, i);
          if (of_rank[i] != sum) return false;
        }
      }
    }
    return true;
  }

  static constexpr std::int64_t kLargest = 1300;
  const int ranks;
  EmulatedRuntime runtime;
  const std::string_view algorithm;
  hardware::NoExchange alone;
  std::unique_ptr<GpuSession> session;
  std::vector<std::vector<std::span<const float>>> outputs;  // [call][rank]
};

template <class Algorithm>
void require_sums() {
  for (const int devices : {1, 2, 4}) {
    Fixture f(4, devices, Algorithm::kName);
    f.runtime.template set_kernel<Algorithm>();
    for (const std::int64_t count : {1300, 1, 700, 1300}) f.launch(count);
    const emulator::Trace trace = f.runtime.run(4);
    INFO(Algorithm::kName << " on " << devices << " devices");
    REQUIRE(trace.hang.empty());
    REQUIRE(trace.out_of_bounds.empty());
    REQUIRE(f.runtime.memory.broken_guards().empty());
    REQUIRE(f.are_summed());
    REQUIRE(!f.session->lost().has_value());
  }
}

}  // namespace

TEST_CASE("every all-reduce sums on a session, however ranks are shared out", "[kernels]") {
  require_sums<Flat>();
  require_sums<FlatLl>();
  require_sums<Tree>();
  require_sums<Ring>();
}

TEST_CASE("a rank that does not come is named by those that wait for it", "[kernels]") {
  Fixture f(2, 2, Flat::kName);
  f.runtime.set_kernel<Flat>();
  const auto put = f.runtime.on_launch;
  f.runtime.on_launch = [&](const SeenLaunch& seen) {
    if (seen.launch.first_rank == 0) put(seen);
  };
  f.launch(100);
  REQUIRE(!f.runtime.run(2).hang.empty());
  const auto lost = f.session->lost();
  REQUIRE(lost.has_value());
  REQUIRE((lost->rank == 0 && lost->peer == 1));
}

}  // namespace tally::test
