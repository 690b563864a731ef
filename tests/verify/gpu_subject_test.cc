// Goal: what a GPU leaves behind is seen whole: right bits are accepted on one and on several GPUs,
// in calls that follow each other and in replays, and whatever is wrong is caught.
// Method: devices are the host's memory; in a kernel's place the reference computes, and does
// something wrong on purpose.

#include "verify/gpu_subject.h"

#include "tests/kernels/hardware/host_gpu_runtime.h"
#include "tests/support/catch.h"
#include "verify/campaign.h"
#include "verify/conversion_check.h"
#include "verify/send_counts.h"

namespace tally::test {
namespace {

using verify::Case;
using verify::Detector;
using verify::Placement;
using verify::Verdict;

/// What a kernel does beside its work.
enum class Wrong { nothing, bit, tail, rank, guard, input, wait };

/// GPUs that run a case's calls when all ranks have launched them.
class Gpus {
 public:
  Gpus(int devices, const Case& c, Wrong wrong = Wrong::nothing)
      : runtime_(machine_, devices), c_(c), wrong_(wrong) {
    runtime_.on_launch = [this](const SeenLaunch& seen) { take(seen); };
  }

  HostGpuRuntime& runtime() { return runtime_; }
  /// Where the scratch of rank 0 is, launch after launch.
  const std::vector<const void*>& scratch() const { return scratch_; }

 private:
  void take(const SeenLaunch& seen) {
    const kernels::Launch& l = seen.launch;
    REQUIRE((seen.blocks == c_.launch.blocks && seen.threads == c_.launch.threads));
    scratch_.push_back(l.peers.scratch[0]);
    for (int place = 0; place < seen.places; ++place) {
      REQUIRE(l.first_rank + place == static_cast<int>(calls_.size()));
      calls_.push_back(l.calls[place]);
    }
    if (wrong_ == Wrong::wait && l.first_rank == 0) l.own.stuck[0] = {1, 1, c_.ranks - 1, 5};
    REQUIRE((l.count == c_.counts[number_] && l.rounds == c_.launch.rounds));
    if (static_cast<int>(calls_.size()) == l.ranks) compute();
  }

  void compute() {
    const std::size_t element = c_.arithmetic.element.bytes();
    const std::size_t bytes = element * c_.input_elements(number_);
    reference::RankBuffers inputs;
    for (const auto& call : calls_) {
      const auto* const first = static_cast<const std::byte*>(call.input);
      inputs.emplace_back(first, first + bytes);
    }
    auto outputs = reference::run(c_.schedule(number_), inputs);
    if (wrong_ == Wrong::bit) outputs.back().back() ^= std::byte{0x40};
    const auto received = verify::received_counts(c_, number_);
    for (int rank = 0; rank < c_.ranks; ++rank) {
      auto* const to = static_cast<std::byte*>(calls_[rank].output);
      if (wrong_ == Wrong::rank && rank == 1) continue;
      std::size_t written = element * verify::written_elements(c_, number_, rank);
      if (wrong_ == Wrong::guard && rank == 1) to[written] = std::byte{1};
      if (wrong_ == Wrong::tail) written -= element;
      std::copy(outputs[rank].begin(), outputs[rank].begin() + written, to);
      if (wrong_ == Wrong::input && rank == 0) {
        *static_cast<std::byte*>(const_cast<void*>(calls_[0].input)) ^= std::byte{1};
      }
      REQUIRE((calls_[rank].received_counts != nullptr) == !received.empty());
      if (received.empty()) continue;
      std::copy_n(received.begin() + rank * c_.ranks, c_.ranks, calls_[rank].received_counts);
    }
    calls_.clear();
    number_ = (number_ + 1) % static_cast<int>(c_.counts.size());
  }

  HostMachine machine_;
  HostGpuRuntime runtime_;
  const Case c_;
  const Wrong wrong_;
  int number_ = 0;                        // of the case's call
  std::vector<kernels::RankCall> calls_;  // of it, by rank
  std::vector<const void*> scratch_;
};

Case example(int ranks = 3) {
  Case c;
  c.ranks = ranks;
  c.launch.rounds = 2;
  c.counts = {40, 14, 77};
  c.arithmetic.element = model::Format::bf16;
  c.input = *reference::open_input("normal");
  return c;
}

verify::Judgement judge(Gpus& gpus, const Case& c, std::vector<int> devices = {}) {
  const auto subject = verify::gpu_subject(gpus.runtime(), std::move(devices));
  return verify::run_case(c, *subject).judgement;
}

std::string refusal(const Case& c) {
  Gpus gpus(1, c);
  return verify::gpu_subject(gpus.runtime())->cannot_run(c).value_or("");
}

}  // namespace

TEST_CASE("a GPU that computes right holds, wherever buffers lie and ranks are", "[verify]") {
  for (const Placement placement : verify::all_placements()) {
    for (const int devices : {1, 2, 3, 4}) {
      Case c = example();
      c.placement = placement;
      Gpus gpus(devices, c);
      const verify::Judgement judgement = judge(gpus, c);
      INFO(verify::name(placement) << " on " << devices << ": " << judgement.reason);
      CHECK(judgement.verdict == Verdict::ok);
      CHECK(gpus.runtime().live() == 0);
    }
  }
}

TEST_CASE("a GPU that computes any collective right holds", "[verify]") {
  using model::Collective;
  for (const Collective collective : {Collective::reduce_scatter, Collective::all_gather,
                                      Collective::all_to_all, Collective::all_to_all_v}) {
    for (const Placement placement : verify::all_placements()) {
      for (const bool graph : {false, true}) {
        Case c = example();
        c.collective = collective;
        c.placement = placement;
        c.graph = graph;
        if (graph) c.counts = {40, 40, 40};
        if (verify::validate(c)) continue;
        Gpus gpus(graph ? 1 : 2, c);
        const verify::Judgement judgement = judge(gpus, c);
        INFO(c.text() << ": " << judgement.reason);
        CHECK(judgement.verdict == Verdict::ok);
      }
    }
  }
}

TEST_CASE("replays of a graph see the inputs that were put there before each", "[verify]") {
  for (const Placement placement : verify::all_placements()) {
    Case c = example();
    c.placement = placement;
    c.graph = true;
    c.counts = {40, 40, 40};
    Gpus gpus(1, c);
    const verify::Judgement judgement = judge(gpus, c);
    INFO(judgement.reason);
    CHECK(judgement.verdict == Verdict::ok);
    CHECK(gpus.scratch().size() == 3);
  }
}

TEST_CASE("what a GPU does wrong is caught", "[verify]") {
  const std::tuple<Wrong, Detector, const char*> kWrongs[] = {
      {Wrong::bit, Detector::value, "call 0 rank 2 element 39 of 40"},
      {Wrong::tail, Detector::value, "(never written)"},
      {Wrong::rank, Detector::value, "call 0 rank 1 element 0 of 40"},
      {Wrong::guard, Detector::bounds, "guard zone"},
      {Wrong::input, Detector::bounds, "input of rank 0"},
      {Wrong::wait, Detector::hang, "rank 0, block 1, gave up waiting for rank 2"},
  };
  for (const auto& [wrong, detector, reason] : kWrongs) {
    for (const bool graph : {false, true}) {
      Case c = example();
      c.graph = graph;
      if (graph) c.counts = {40, 40};
      Gpus gpus(1, c, wrong);
      const verify::Judgement judgement = judge(gpus, c);
      INFO(reason << "; " << judgement.reason);
      CHECK(judgement.caught_by == detector);
      CHECK(judgement.reason.find(reason) != std::string::npos);
    }
  }
}

TEST_CASE("only the devices that are named are used", "[verify]") {
  const Case c = example();
  Gpus gpus(4, c);
  std::vector<int> seen;
  const auto run = std::exchange(gpus.runtime().on_launch, nullptr);
  gpus.runtime().on_launch = [&](const SeenLaunch& launch) {
    seen.push_back(launch.device);
    run(launch);
  };
  CHECK(judge(gpus, c, {1, 3}).verdict == Verdict::ok);
  CHECK(seen == std::vector{1, 3, 1, 3, 1, 3});
}

TEST_CASE("a session is kept from case to case, grows, and is given up after a hang", "[verify]") {
  Case c = example();
  Gpus gpus(1, c);
  const auto subject = verify::gpu_subject(gpus.runtime());
  const auto run = [&] { return verify::run_case(c, *subject).judgement; };
  CHECK(run().verdict == Verdict::ok);
  CHECK(run().verdict == Verdict::ok);
  const auto& scratch = gpus.scratch();
  CHECK(std::set(scratch.begin(), scratch.end()).size() == 1);
  const auto hook = std::exchange(gpus.runtime().on_launch, [](const SeenLaunch& seen) {
    seen.launch.own.stuck[0] = {1, 0, 1, 1};
  });
  CHECK(run().verdict == Verdict::hang);
  gpus.runtime().on_launch = hook;
  CHECK(run().verdict == Verdict::ok);
}

TEST_CASE("a case that does not fit into a GPU's memory is no crash", "[verify]") {
  Case c = example();
  HostMachine machine;
  HostGpuRuntime small(machine, 1, 20'000);
  const auto subject = verify::gpu_subject(small);
  const verify::Judgement judgement = verify::run_case(c, *subject).judgement;
  CHECK(judgement.verdict == Verdict::mismatch);
  c.counts = {1 << 20};
  CHECK(verify::run_case(c, *subject).judgement.verdict == Verdict::mismatch);
}

TEST_CASE("a GPU refuses what is the emulator's, and says why", "[verify]") {
  CHECK(refusal(example()) == "");
  Case c = example();
  c.fault = "no_exit_barrier";
  CHECK(refusal(c) == "faults are planted in the emulator's kernels");
  const std::string emulators = "interleavings and memory models are the emulator's";
  c = example();
  c.interleavings = 2;
  CHECK(refusal(c) == emulators);
  c = example();
  c.memory = verify::MemoryKind::gfx942;
  CHECK(refusal(c) == emulators);
  c = example();
  c.launch.blocks = 6;
  CHECK(refusal(c) ==
        "all blocks have to be on the GPU at once, which takes 16 of these for 3 ranks");
}

TEST_CASE("a subject on GPUs names those that it runs on, and versions", "[verify]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 3);
  CHECK(verify::gpu_subject(runtime)->description() == "Host x 3, host driver 1, runtime 2");
  CHECK(verify::gpu_subject(runtime, {2})->description() == "Host x 1, host driver 1, runtime 2");
  CHECK(verify::emulator_subject()->description().empty());
}

TEST_CASE("a conversion that differs is a line, and is not accepted", "[verify]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 2);
  std::ostringstream out;
  CHECK(verify::check_conversions(runtime, {}, out));
  CHECK(out.str() == "");
  runtime.conversions = {{"encode f16", 8, 0, 0}, {"decode f16", 4, 2, 0x7c01}};
  CHECK(!verify::check_conversions(runtime, {1}, out));
  CHECK(out.str() ==
        R"({"type":"conversion","device":1,"architecture":"host","conversion":"encode f16",)"
        R"("inputs":8,"different":0})"
        "\n"
        R"({"type":"conversion","device":1,"architecture":"host","conversion":"decode f16",)"
        R"("inputs":4,"different":2,"first":"0x00007c01"})"
        "\n");
}

TEST_CASE("a subject that is not there says why", "[verify]") {
  const auto unavailable = [](const verify::Hardware& hardware) {
    return verify::find_subject("gpu", hardware)->unavailable;
  };
  CHECK(unavailable({}) == "this program was built without kernels for a GPU");
  HostMachine machine;
  HostGpuRuntime none(machine, 0), two(machine, 2);
  CHECK(unavailable({&none}) == "there are no devices");
  CHECK(unavailable({&two, {0, 2}}) == "there is no device 2, but 2 beginning with 0");
  CHECK(verify::find_subject("gpu", {&two, {1}})->subject != nullptr);
  CHECK(verify::find_subject("emulator", {})->subject != nullptr);
  CHECK(!verify::find_subject("gpus", {}));
}

}  // namespace tally::test
