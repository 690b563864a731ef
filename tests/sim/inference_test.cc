// Goal: a step's time is the sum of its parts, and a bad question is told what is wrong with it.
// Method: a GPU with round facts, and collectives that cost what a formula of the test says.

#include "sim/inference.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace {

using namespace tally;
using sim::InferencePhase;
using sim::Question;

model::GpuFacts gpu() {
  model::GpuFacts facts;
  facts.arch = "gfx942";
  facts.memory_bytes_per_s = {4e12, model::Evidence::measured, ""};
  facts.memory_bytes.value = 192e9;
  facts.f16_flops.value = 1.3e15;
  facts.f8_flops.value = 2.6e15;
  facts.launch_ns.value = 5000;
  facts.graph_launch_ns.value = 1000;
  return facts;
}

// 10 us, and a microsecond for each 2^16 bytes.
model::Result<sim::Prediction> price(model::Collective, std::int64_t bytes) {
  return sim::Prediction{{10'000'000 + bytes * 1'000'000 / 65536}, "ring/ll", "hops"};
}

sim::Answer answer(const Question& question) { return *sim::infer(question, gpu(), price); }

std::string refusal(const Question& question) {
  const auto result = sim::infer(question, gpu(), price);
  REQUIRE_FALSE(result);
  return result.error().where + ": " + result.error().what;
}

}  // namespace

TEST_CASE("the time of a step is the sum of all parts, as often as they come", "[sim]") {
  for (const char* llm : {"llama3-70b", "mixtral-8x22b", "deepseek-v3"}) {
    for (const InferencePhase phase : {InferencePhase::decode, InferencePhase::prefill}) {
      const auto a = answer({.model = llm, .phase = phase, .batch = 4, .context = 1024});
      sim::Picos total, communication;
      for (const sim::Part& part : a.parts) {
        total += part.times * part.each;
        if (part.is_communication) communication += part.times * part.each;
      }
      CHECK(a.time == total);
      CHECK(a.communication == communication);
      CHECK(a.compute + a.launch + a.communication == a.time);
    }
  }
}

TEST_CASE("llama3-70b: two all-reduces a layer, nine kernels, and three at the ends", "[sim]") {
  const auto a = answer({.batch = 8});
  const std::int64_t bytes = 8 * 8192 * 2;
  CHECK(a.communication == 160 * price(model::Collective::all_reduce, bytes)->time);
  CHECK(a.launch == (80 * 9 + 3) * sim::from_nanos(1000));
  const auto eager = answer({.batch = 8, .launch = sim::Launch::process_per_gpu});
  CHECK(eager.launch == 5 * a.launch);
  CHECK(eager.compute == a.compute);
}

TEST_CASE("one matrix, by hand: bytes over bandwidth where few tokens, else operations", "[sim]") {
  const auto down = [](std::int64_t batch) {
    const auto parts = answer({.batch = batch}).parts;
    for (const sim::Part& part : parts) {
      if (part.operation == "down") return part;
    }
    return parts[0];
  };
  const double bytes = 2.0 * 3584 * 8192 + 2.0 * (3584 + 8192);
  CHECK(down(1).each == sim::from_nanos(bytes / 4e12 * 1e9) + sim::from_nanos(1000));
  CHECK(down(1).bound_by == "memory");
  const double flops = 2.0 * 4096 * 3584 * 8192;
  CHECK(down(4096).each ==
        sim::from_nanos(flops / (1.3e15 * (668.4 / 1300)) * 1e9) + sim::from_nanos(1000));
  CHECK(down(4096).bound_by == "compute");
}

TEST_CASE("tokens a second: the batch's in decode, all contexts' in prefill", "[sim]") {
  const auto decode = answer({.batch = 16});
  CHECK(decode.tokens_per_s == 16 / (decode.time.micros() / 1e6));
  const auto prefill = answer({.phase = InferencePhase::prefill, .batch = 2, .context = 512});
  CHECK(prefill.tokens_per_s == 1024 / (prefill.time.micros() / 1e6));
}

TEST_CASE("a step of more than a day is an error, not a number that has no room", "[sim]") {
  const auto endless = sim::infer({.model = "llama3-405b",
                                   .phase = InferencePhase::prefill,
                                   .batch = 1 << 20,
                                   .context = 1 << 24});
  REQUIRE_FALSE(endless);
  CHECK(endless.error().what == "a step of more than a day");
}

TEST_CASE("one GPU has no communication, and two take half the compute", "[sim]") {
  Question question{
      .model = "llama3-8b", .tp = 1, .phase = InferencePhase::prefill, .context = 8192};
  const auto one = answer(question);
  CHECK(one.communication == sim::Picos{0});
  question.tp = 2;
  const auto two = answer(question);
  for (std::size_t i = 0; i < one.parts.size(); ++i) {
    const auto same = std::find_if(two.parts.begin(), two.parts.end(), [&](const auto& part) {
      return part.operation == one.parts[i].operation && part.block == one.parts[i].block;
    });
    REQUIRE(same != two.parts.end());
    CHECK((one.parts[i].bound_by != "compute" || same->flops * 2 == one.parts[i].flops));
  }
}

TEST_CASE("what does not fit is said, and what fits is counted by hand", "[sim]") {
  const auto a = answer({.batch = 64, .context = 8192});
  // Norms are whole on each GPU, the vocabulary is split, and 8 of 64 heads are here.
  const std::int64_t layer = 8192LL * 1280 + 1024LL * 8192 + 3LL * 3584 * 8192;
  CHECK(a.memory.weights == 2 * (80 * layer + 80 * 2 * 8192 + 8192 + 2LL * 16032 * 8192));
  CHECK(a.memory.kv_cache == 64LL * 8192 * 40 * 1024);
  CHECK(a.memory.activations == 64 * 2 * (2 * 8192 + 2 * 3584));
  CHECK(a.memory.fits());
  CHECK_FALSE(answer({.batch = 1024, .context = 8192}).memory.fits());
  CHECK_FALSE(answer({.model = "llama3-405b", .tp = 1}).memory.fits());
}

TEST_CASE("a step", "[sim]") {
  test::property("takes no less time for a larger batch or a longer context", [] {
    const auto llms = sim::llm_models();
    Question question{
        .model = std::string(llms[*rc::gen::inRange<std::size_t>(0, llms.size()).as("model")].name),
        .tp = *rc::gen::element(1, 2, 4, 8).as("tp"),
        .phase = *rc::gen::element(InferencePhase::decode, InferencePhase::prefill).as("phase"),
        .batch = *rc::gen::inRange(1, 300).as("batch"),
        .context = *rc::gen::inRange(1, 10000).as("context")};
    const auto one = answer(question).time;
    ++question.batch;
    RC_ASSERT(answer(question).time >= one);
    --question.batch;
    ++question.context;
    RC_ASSERT(answer(question).time >= one);
  });
}

TEST_CASE("a question that cannot be is an error that names the flag", "[sim]") {
  CHECK(refusal({.model = "llama4"}) == "--model: unknown model 'llama4'");
  CHECK(refusal({.tp = 3}) == "--tp: 3 GPUs cannot share the 64 heads of llama3-70b");
  CHECK(refusal({.batch = 0}) == "--batch: 0 sequences");
  CHECK(refusal({.context = 1 << 25}) == "--context: 33554432 tokens");
  CHECK(refusal({.dtype = model::Format::f32}) == "--dtype: f32 activations");
  CHECK(sim::parse_phase("decod").error().hint == "did you mean 'decode'?");
  const auto unknown = [](model::Collective, std::int64_t) -> model::Result<sim::Prediction> {
    return model::Error{"--library", "unknown", ""};
  };
  CHECK(sim::infer({}, gpu(), unknown).error().where == "--library");
  CHECK(sim::infer({.tp = 1}, gpu(), unknown));
}

TEST_CASE("on a preset, with predict(): nobody has more GPUs than are there", "[sim]") {
  const auto a = sim::infer(Question{});
  REQUIRE(a);
  const auto sum = sim::predict({.ranks = 8,
                                 .library = "rccl",
                                 .version = "",
                                 .wire = {},
                                 .dtype = model::Format::bf16,
                                 .launch = sim::Launch::graph,
                                 .in_place = true},
                                8192 * 2);
  REQUIRE(sum);
  CHECK(a->communication == 160 * sum->time);
  CHECK(a->memory.capacity == 192LL << 30);
  CHECK(sim::infer(Question{.tp = 16}).error().what == "16 GPUs, and mi300x has 8");
  CHECK(sim::infer(Question{.nodes = 2, .tp = 16}));
  CHECK_FALSE(sim::infer(Question{.machine = "mi301x"}));
}
