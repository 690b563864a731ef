// Goal: claims are computed from the world that is asked, and from nothing else.
// Method: invented worlds, of which the answer to every claim follows.

#include "sim/claims.h"

#include <algorithm>

#include "sim/inference.h"
#include "tests/support/catch.h"

namespace {

using namespace tally;
using sim::Claim;
using sim::Picos;

model::Result<model::Machine> machine(const std::string& name) {
  const double speed = name == "g7e" ? 2 : 1;
  model::Machine m;
  m.name = name;
  m.gpu.arch = name == "mi300x" ? "gfx942" : name == "mi350x" ? "gfx950" : "sm_89";
  m.gpu.memory_bytes_per_s = {speed * 1e12, model::Evidence::measured, ""};
  m.gpu.memory_bytes.value = 1e12;
  m.gpu.f16_flops.value = speed * 1e15;
  m.gpu.f8_flops.value = speed * 2e15;
  // Two ways from GPU 0 to 1, of which the one through a switch is wider.
  m.topology.vertices.resize(3);
  m.topology.links = {{2, 1, 3e9, 0}, {0, 1, 2e9, 0}, {0, 2, speed * 3e9, 0}, {2, 1, 12e9, 0}};
  return m;
}

// What a call costs in which RCCL and RCCLX do not differ: 20 us, and 2 for each 2^16 bytes.
Picos base(std::int64_t bytes) { return {20'000'000 + bytes / 65536 * 2'000'000}; }

sim::World world(std::function<Picos(const sim::Scenario&, std::int64_t)> time) {
  return {machine, [=](const sim::Scenario& scenario, std::int64_t bytes) {
            return sim::Prediction{time(scenario, bytes), scenario.library, "link"};
          }};
}

Claim claim(const sim::World& world, const std::string& what) {
  const auto all = sim::claims(world);
  REQUIRE(all);
  const auto found = std::find_if(all->begin(), all->end(),
                                  [&](const Claim& c) { return c.what.starts_with(what); });
  REQUIRE(found != all->end());
  return *found;
}

const char* const kGains[] = {"DDA against RCCL, all-reduces of decode",
                              "DDA against RCCL, all-reduces of prefill", "RCCLX against RCCL",
                              "low precision, latency", "low precision, tokens"};

}  // namespace

TEST_CASE("where libraries and wires do not differ nothing is gained", "[sim]") {
  const auto same = world([](const sim::Scenario&, std::int64_t bytes) { return base(bytes); });
  for (const char* what : kGains) {
    const Claim none = claim(same, what);
    CHECK(none.least() == 0);
    CHECK(none.most() == 0);
  }
  CHECK(claim(same, "low precision, takes less time").least() == 1024);  // never
}

TEST_CASE("where communication is free it has no share", "[sim]") {
  const auto all_free = world([](const sim::Scenario&, std::int64_t) { return Picos{0}; });
  CHECK(claim(all_free, "all-reduce, share").most() == 0);
  const auto slow = world([](const sim::Scenario&, std::int64_t) { return Picos{10'000'000'000}; });
  CHECK(claim(slow, "all-reduce, share").least() > 50);
}

TEST_CASE("DDA in half the time is 100 % faster, and takes half of a step's communication",
          "[sim]") {
  const auto half = world([](const sim::Scenario& scenario, std::int64_t bytes) {
    const Picos time = base(bytes);
    return scenario.library == "rcclx" ? Picos{time.n / 2} : time;
  });
  for (const char* what : {kGains[0], kGains[1]}) {
    CHECK(claim(half, what).least() == 100);
    CHECK(claim(half, what).most() == 100);
  }
  const auto step = *sim::infer(
      {.batch = 16}, machine("mi300x")->gpu,
      [](model::Collective, std::int64_t bytes) { return sim::Prediction{base(bytes), "", ""}; });
  const double want = 100 * (1 - static_cast<double>(step.time.n - step.communication.n / 2) /
                                     static_cast<double>(step.time.n));
  const Claim less = claim(half, "RCCLX against RCCL");
  const auto same = std::find_if(less.samples.begin(), less.samples.end(), [](const auto& sample) {
    return sample.setting == "llama3-70b, batch 16, graph";
  });
  REQUIRE(same != less.samples.end());
  CHECK(same->value == want);
}

TEST_CASE("DDA is asked for where RCCLX takes it, and low precision from its own threshold",
          "[sim]") {
  std::int64_t most_dda = 0, least_fp8 = 1 << 30;
  const auto watched = world([&](const sim::Scenario& scenario, std::int64_t bytes) {
    if (!scenario.wire.is_none() && scenario.launch == sim::Launch::process_per_gpu &&
        scenario.dtype == model::Format::bf16) {
      CHECK(scenario.wire.name == (scenario.machine == "mi300x" ? "e4m3fnuz" : "e4m3fn"));
    }
    if (!scenario.wire.is_none()) least_fp8 = std::min(least_fp8, bytes);
    return base(bytes);
  });
  const Claim prefill = claim(watched, kGains[1]);
  for (const sim::Sample& sample : prefill.samples) {
    const std::int64_t tokens =
        std::stoll(sample.setting.substr(sample.setting.find("prompt") + 6));
    const std::int64_t hidden = sample.setting.starts_with("llama3-70b") ? 8192 : 16384;
    most_dda = std::max(most_dda, tokens * hidden * 2);
  }
  CHECK(most_dda == 16 << 20);  // the largest of the prompts below 29 MiB
  CHECK(least_fp8 == 16 << 20);
}

TEST_CASE("low precision pays from where its curve crosses", "[sim]") {
  // fp8 saves 1 us of every 65536 bytes and costs a little less than 48 MiB of that.
  const auto crossing = world([](const sim::Scenario& scenario, std::int64_t bytes) {
    if (scenario.wire.is_none()) return base(bytes);
    return Picos{base(bytes / 2).n + (std::int64_t{48} << 20) / 65536 * 1'000'000};
  });
  const Claim from = claim(crossing, "low precision, takes less time");
  CHECK(from.least() == 64);
  CHECK(from.most() == 64);
  CHECK(from.differs_by() == 48);
}

TEST_CASE("G7e against G6e: memory, the widest way between two GPUs, and both in throughput",
          "[sim]") {
  const auto twice = world([](const sim::Scenario& scenario, std::int64_t bytes) {
    return scenario.machine == "g7e" ? base(bytes) : 2 * base(bytes);
  });
  CHECK(claim(twice, "G7e against G6e, memory").most() == 2);
  CHECK(claim(twice, "G7e against G6e, bandwidth").most() == 2);
  for (const char* what :
       {"G7e against G6e, tokens a second on one", "G7e against G6e, tokens a second on 2"}) {
    const Claim throughput = claim(twice, what);
    // Steps of at least a millisecond, of less than 2^10 kernels, each to the nearest picosecond.
    const double rounding = 2 * 0x1p9 / 1e9;
    CHECK(throughput.least() >= 2 - rounding);
    CHECK(throughput.most() <= 2 + rounding);
  }
}

TEST_CASE("a claim differs by how far its samples are from it", "[sim]") {
  Claim range{
      "", "", "", "%", sim::Claimed::within, 10, 50, {{5, "", ""}, {20, "", ""}, {70, "", ""}}, ""};
  CHECK(range.median() == 20);
  CHECK(range.differs_by() == 0);
  CHECK(range.nearest().value == 20);
  range.claimed_low = 30;
  CHECK(range.differs_by() == -10);
  CHECK(range.nearest().value == 20);
  range.kind = sim::Claimed::at_most;
  CHECK(range.differs_by() == 20);
  CHECK(range.nearest().value == 70);
  range.samples.pop_back();
  CHECK(range.median() == 5);
  CHECK(range.differs_by() == -30);
}

TEST_CASE("what the world does not know is the claims' error", "[sim]") {
  auto lost = world([](const sim::Scenario&, std::int64_t bytes) { return base(bytes); });
  lost.machine = [](const std::string& name) -> model::Result<model::Machine> {
    if (name == "g6e") return model::Error{"g6e", "unknown", "none"};
    return machine(name);
  };
  CHECK(sim::claims(lost).error().where == "g6e");
  lost = world([](const sim::Scenario&, std::int64_t bytes) { return base(bytes); });
  lost.predict = [](const sim::Scenario&, std::int64_t) -> model::Result<sim::Prediction> {
    return model::Error{"predict", "unknown", "none"};
  };
  CHECK(sim::claims(lost).error().where == "predict");
}
