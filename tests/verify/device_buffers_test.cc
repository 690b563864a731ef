// Goal: a rank's buffers lie where the case says, with guards around them, and what was written
// that must not be is found. Method: layouts of every collective and placement; one byte written at
// each edge of each buffer of a rank, in a fake device's memory.

#include "verify/device_buffers.h"

#include <algorithm>
#include <cstring>

#include "tests/support/catch.h"
#include "tests/verify/fake_gpu_runtime.h"
#include "verify/send_counts.h"

namespace {

using namespace tally;
using model::Collective;
using verify::BufferLayout;
using verify::Placement;
using verify::Zone;

verify::Case small_case(Collective collective, Placement placement) {
  verify::Case c;
  c.collective = collective;
  c.placement = placement;
  c.ranks = 3;
  c.counts = {5, 0, 300};
  return c;
}

std::int64_t elements(const Zone& zone) { return static_cast<std::int64_t>(zone.bytes() / 4); }

/// The buffers of rank 1 of an all-reduce, uploaded.
struct Fixture {
  verify::Case c = small_case(Collective::all_reduce, Placement::out_of_place);
  std::unique_ptr<kernels::hardware::GpuRuntime> runtime = test::fake_gpu_runtime(1);
  kernels::hardware::Stream stream = runtime->create_stream();
  std::vector<reference::RankBuffers> inputs;
  verify::DeviceBuffers buffers{*runtime};

  Fixture() {
    for (const std::int64_t count : c.counts) {
      inputs.emplace_back(c.ranks, std::vector<std::byte>(4 * count, std::byte{7}));
    }
    REQUIRE(buffers.prepare(c, 1));
    buffers.upload(inputs, stream);
    runtime->synchronize(stream);
  }

  verify::Observation look() {
    verify::Observation seen;
    for (const std::int64_t count : c.counts) {
      seen.outputs.emplace_back(c.ranks, std::vector<std::byte>(4 * count));
    }
    buffers.download(stream);
    runtime->synchronize(stream);
    buffers.collect(inputs, seen);
    return seen;
  }
};

}  // namespace

TEST_CASE("between any two buffers lies a guard, and the arena is filled", "[verify]") {
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter,
                                      Collective::all_gather, Collective::all_to_all}) {
    for (const Placement placement : verify::all_placements()) {
      const verify::Case c = small_case(collective, placement);
      const BufferLayout layout = verify::lay_out_buffers(c, 1);
      std::size_t covered = 0;
      for (const Zone& guard : layout.guards) {
        CHECK(guard.bytes() >= verify::kGuardBytes);
        covered += guard.bytes();
      }
      for (std::size_t i = 0; i < c.counts.size(); ++i) {
        const auto& [input, output, sent, received] = layout.calls[i];
        CHECK(sent.bytes() + received.bytes() == 0);
        CHECK(elements(input) == model::input_elements(collective, 3, c.counts[i]));
        CHECK(elements(output) == model::output_elements(collective, 3, c.counts[i]));
        const bool is_apart = placement != Placement::in_place;
        covered +=
            is_apart ? input.bytes() + output.bytes() : std::max(input.bytes(), output.bytes());
        const std::size_t shift = placement == Placement::misaligned ? 4 : 0;
        if (is_apart) CHECK((input.begin % 256 == shift && output.begin % 256 == shift));
      }
      CHECK(covered == layout.bytes);
    }
  }
}

TEST_CASE("in place a rank's block lies where NCCL wants it", "[verify]") {
  const auto call = [](Collective collective) {
    return verify::lay_out_buffers(small_case(collective, Placement::in_place), 1).calls[2];
  };
  CHECK(call(Collective::all_reduce).input.begin == call(Collective::all_reduce).output.begin);
  const auto gather = call(Collective::all_gather), scatter = call(Collective::reduce_scatter);
  CHECK(gather.input.begin == gather.output.begin + 4 * 300);
  CHECK(scatter.output.begin == scatter.input.begin + 4 * 300);
}

TEST_CASE("all_to_all_v has its counts in buffers of their own, which are checked", "[verify]") {
  verify::Case c = small_case(Collective::all_to_all_v, Placement::misaligned);
  c.counts = {5, 9};
  const auto runtime = test::fake_gpu_runtime(1);
  const auto stream = runtime->create_stream();
  verify::DeviceBuffers buffers(*runtime);
  std::vector<reference::RankBuffers> inputs;
  for (int call = 0; call < 2; ++call) {
    inputs.emplace_back(3, std::vector<std::byte>(4 * c.input_elements(call), std::byte{7}));
  }
  REQUIRE(buffers.prepare(c, 1));
  buffers.upload(inputs, stream);
  runtime->synchronize(stream);
  for (int call = 0; call < 2; ++call) {
    const auto sent = verify::send_counts(c, call), received = verify::received_counts(c, call);
    CHECK(std::equal(&sent[3], &sent[6], buffers.send_counts(call)));
    std::copy(&received[3], &received[6], buffers.received_counts(call));
  }
  const auto look = [&] {
    verify::Observation seen;
    seen.outputs.assign(2, reference::RankBuffers(3));
    buffers.download(stream);
    runtime->synchronize(stream);
    buffers.collect(inputs, seen);
    return seen.broken;
  };
  CHECK(look().empty());
  ++const_cast<std::int64_t*>(buffers.send_counts(0))[2];
  ++buffers.received_counts(1)[3];
  CHECK(look() == std::vector<std::string>{
                      "the send counts of rank 1 in call 0 were modified",
                      "the guard zone behind the received counts of rank 1 in call 1 was written, "
                      "0 bytes from it"});
  ++buffers.received_counts(0)[0];
  CHECK(look().size() == 3);
}

TEST_CASE("a call finds its input, and a poisoned output", "[verify]") {
  Fixture f;
  const verify::Observation seen = f.look();
  CHECK(seen.broken.empty());
  CHECK(seen.outputs[2][1] == std::vector<std::byte>(1200, verify::kPoison));
  CHECK(std::memcmp(f.buffers.input(0), f.inputs[0][1].data(), 20) == 0);
}

TEST_CASE("one byte beyond a buffer, before it, or in an input is found and told", "[verify]") {
  const auto told = [](auto where) {
    Fixture f;
    *where(f) = std::byte{0};
    const verify::Observation seen = f.look();
    return seen.broken.size() == 1 ? seen.broken[0] : "";
  };
  const auto output = [](Fixture& f, int call) {
    return static_cast<std::byte*>(f.buffers.output(call));
  };
  const auto input = [](Fixture& f, int call) {
    return static_cast<std::byte*>(f.buffers.input(call));
  };
  CHECK(told([&](Fixture& f) { return output(f, 0) + 20; }) ==
        "the guard zone behind the output of rank 1 in call 0 was written, 0 bytes from it");
  CHECK(told([&](Fixture& f) { return output(f, 0) - 1; }) ==
        "the guard zone before the output of rank 1 in call 0 was written, 1 bytes from it");
  CHECK(told([&](Fixture& f) { return input(f, 0) - 1; }) ==
        "the guard zone before the input of rank 1 in call 0 was written, 1 bytes from it");
  CHECK(told([&](Fixture& f) { return output(f, 2) + 1200; }) ==
        "the guard zone behind the output of rank 1 in call 2 was written, 0 bytes from it");
  CHECK(told([&](Fixture& f) { return input(f, 2) + 5; }) ==
        "the input of rank 1 in call 2 was modified");
}

TEST_CASE("the arena grows, is used again, and says when it cannot grow", "[verify]") {
  const auto runtime = test::fake_gpu_runtime(1, 100'000);
  verify::DeviceBuffers buffers(*runtime);
  verify::Case c = small_case(Collective::all_reduce, Placement::out_of_place);
  CHECK(buffers.prepare(c, 0));
  c.counts = {1000};
  CHECK(buffers.prepare(c, 0));
  c.counts = {100'000};
  CHECK_FALSE(buffers.prepare(c, 0));
  c.counts = {10};
  CHECK(buffers.prepare(c, 0));
}
