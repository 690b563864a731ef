// Goal: a layer asks of a GPU what its shapes say.
// Method: one layer of llama3-70b on eight GPUs is worked out by hand; mixtures of experts and
// latent attention by their own formulas; splitting and growing are properties of all models.

#include "sim/layer_work.h"

#include "tests/support/catch.h"
#include "tests/support/property.h"

namespace {

using namespace tally;
using sim::Exchange;
using sim::Kernel;

std::vector<sim::Block> work(const char* llm, const sim::Step& step) {
  return sim::work_of(*sim::find_llm(llm), step);
}

template <class T>
T operation(const sim::Block& block, std::string_view name) {
  for (const sim::Operation& each : block.operations) {
    const T* found = std::get_if<T>(&each);
    if (found != nullptr && found->name == name) return *found;
  }
  FAIL("no " << name << " in " << block.name);
  return {};
}

double sum(const std::vector<sim::Block>& blocks, double Kernel::* member) {
  double total = 0;
  for (const sim::Block& block : blocks) {
    for (const sim::Operation& each : block.operations) {
      if (const auto* kernel = std::get_if<Kernel>(&each)) total += block.times * kernel->*member;
    }
  }
  return total;
}

void check(const Kernel& kernel, double flops, double bytes) {
  INFO(kernel.name);
  CHECK(kernel.flops == flops);
  CHECK(kernel.bytes == bytes);
}

}  // namespace

TEST_CASE("a decode layer of llama3-70b on 8 GPUs is what one works out by hand", "[sim]") {
  const auto blocks = work("llama3-70b", {.tp = 8, .batch = 3, .context = 2048});
  REQUIRE(blocks.size() == 2);
  const sim::Block& layer = blocks[0];
  CHECK(layer.times == 80);
  // A GPU has 8 heads of 128 and one head of keys and one of values; 3 tokens; 2 bytes an element.
  check(operation<Kernel>(layer, "norm"), 0, 4 * 3 * 8192 * 2);
  check(operation<Kernel>(layer, "query, key, value"), 2.0 * 3 * 8192 * 1280,
        2 * 8192 * 1280 + 2 * 3 * (8192 + 1280));
  check(operation<Kernel>(layer, "rotary and cache"), 0, 2 * 2 * 3 * 1280 + 2 * 3 * 256);
  check(operation<Kernel>(layer, "attention"), 2.0 * 2 * 1024 * 2048 * 3,
        2 * 3 * 2048 * 256 + 2 * 2 * 3 * 1024);
  check(operation<Kernel>(layer, "output"), 2.0 * 3 * 1024 * 8192,
        2 * 1024 * 8192 + 2 * 3 * (1024 + 8192));
  check(operation<Kernel>(layer, "gate and up"), 2.0 * 3 * 8192 * 7168,
        2 * 8192 * 7168 + 2 * 3 * (8192 + 7168));
  check(operation<Kernel>(layer, "activation"), 0, 2 * 3 * 3 * 3584);
  check(operation<Kernel>(layer, "down"), 2.0 * 3 * 3584 * 8192,
        2 * 3584 * 8192 + 2 * 3 * (3584 + 8192));
  for (const char* sum : {"attention's sum", "network's sum"}) {
    CHECK(operation<Exchange>(layer, sum).collective == model::Collective::all_reduce);
    CHECK(operation<Exchange>(layer, sum).bytes == 3 * 8192 * 2);
  }
  CHECK(layer.operations.size() == 11);
  check(operation<Kernel>(blocks[1], "head"), 2.0 * 3 * 8192 * 16032,
        2 * 8192 * 16032 + 2 * 3 * (8192 + 16032));
}

TEST_CASE("prefill attends to n (n + 1) / 2 pairs, and its sums carry every token", "[sim]") {
  const auto blocks =
      work("llama3-70b", {.tp = 8, .batch = 2, .new_tokens = 4096, .context = 4096});
  CHECK(operation<Kernel>(blocks[0], "attention").flops == 4.0 * 1024 * 2 * (4096.0 * 4097 / 2));
  CHECK(operation<Exchange>(blocks[0], "network's sum").bytes == 2 * 4096 * 8192 * 2);
}

TEST_CASE(
    "experts: tokens are copied to their experts and back, and only those are read that "
    "have tokens",
    "[sim]") {
  const auto expert = [](std::int64_t tokens) {
    const auto blocks = work("mixtral-8x7b", {.tp = 4, .batch = tokens, .context = 100});
    REQUIRE(blocks.size() == 2);
    CHECK(blocks[0].times == 32);
    return blocks[0];
  };
  // One token goes to 2 of 8 experts: a quarter of those of every GPU, in the mean.
  const double matrix = 2.0 * 4096 * 2 * 14336, token = 2 * (4096 + 2 * 14336);
  const Kernel one = operation<Kernel>(expert(1), "experts' gate and up");
  CHECK(one.flops == 2.0 * (2.0 / 4) * 4096 * 2 * 14336);
  // 1 - (1 - 1/4) through expm1 and log1p, each within one rounding of double.
  const double want = 2 * 0.25 * matrix + 0.5 * token;
  CHECK(std::abs(one.bytes - want) <= 4 * 0x1p-53 * want);
  // So many tokens leave no expert without one, to the last bit of a double.
  CHECK(operation<Kernel>(expert(400), "experts' gate and up").bytes == 2 * matrix + 200 * token);
  for (const char* way : {"dispatch", "combine"}) {
    CHECK(operation<Exchange>(expert(16), way).collective == model::Collective::all_to_all);
    CHECK(operation<Exchange>(expert(16), way).bytes == 4 * 2 * 4096 * 2);  // 4 tokens, 2 copies
    CHECK(operation<Exchange>(expert(1), way).bytes == 4 * 4096 * 2);       // a block for each GPU
  }
  CHECK(operation<Exchange>(expert(16), "attention's sum").bytes == 16 * 4096 * 2);
}

TEST_CASE("latents: decode reads 576 numbers a token for all heads, prefill expands them",
          "[sim]") {
  const auto decode = work("deepseek-v3", {.tp = 8, .context = 1000});
  REQUIRE(decode.size() == 3);
  CHECK(decode[0].times == 3);
  CHECK(decode[1].times == 58);
  const double passed = 16 * (512 + 64) + 16 * 512;
  check(operation<Kernel>(decode[1], "attention"), 2 * passed * 1000, 1000 * 576 * 2 + 2 * passed);
  const auto prefill = work("deepseek-v3", {.tp = 8, .new_tokens = 1000, .context = 1000});
  const double expanded = 16 * (128 + 64) + 16 * 128;
  check(operation<Kernel>(prefill[1], "attention"), 2 * expanded * (1000.0 * 1001 / 2),
        2 * 2 * 1000 * expanded);
}

TEST_CASE("narrow weights and caches are read in their own bytes; only fp8 weights compute in fp8",
          "[sim]") {
  const auto blocks = work("llama3-70b", {.tp = 8,
                                          .context = 2048,
                                          .weights = *model::parse_wire_size("mxfp4"),
                                          .kv_cache = *model::parse_wire_size("e4m3fn")});
  check(operation<Kernel>(blocks[0], "output"), 2.0 * 1024 * 8192,
        1024 * 8192 / 2 + 1024 * 8192 / 32 + 2 * (1024 + 8192));
  CHECK(operation<Kernel>(blocks[0], "attention").bytes == 2048 * 256 + 2 * 2 * 1024);
  CHECK_FALSE(operation<Kernel>(blocks[0], "output").is_f8);
  const auto f8 = work("llama3-70b", {.tp = 8, .weights = *model::parse_wire_size("e4m3fn")});
  CHECK(operation<Kernel>(f8[0], "output").is_f8);
  CHECK_FALSE(operation<Kernel>(f8[0], "attention").is_f8);
  CHECK_FALSE(operation<Kernel>(f8[1], "head").is_f8);
}

TEST_CASE("two GPUs have half the operations of one each, and one has nothing to exchange",
          "[sim]") {
  for (const char* llm : {"llama3-8b", "llama3-70b", "llama3-405b"}) {
    const auto one = work(llm, {.tp = 1, .batch = 5, .context = 777});
    const auto two = work(llm, {.tp = 2, .batch = 5, .context = 777});
    CHECK(sum(two, &Kernel::flops) * 2 == sum(one, &Kernel::flops));
    CHECK(one[0].operations.size() + 2 == two[0].operations.size());
  }
}

TEST_CASE("a model's step", "[sim]") {
  test::property("asks for no less of a larger batch or a longer context", [] {
    const auto llms = sim::llm_models();
    const auto& llm = llms[*rc::gen::inRange<std::size_t>(0, llms.size()).as("model")];
    sim::Step step{.tp = *rc::gen::element(1, 2, 4, 8).as("tp"),
                   .batch = *rc::gen::inRange(1, 300).as("batch"),
                   .context = *rc::gen::inRange(2, 10000).as("context")};
    if (*rc::gen::element(false, true).as("prefill")) step.new_tokens = step.context;
    sim::Step larger = step, longer = step;
    ++larger.batch;
    ++longer.context;
    if (step.new_tokens > 1) ++longer.new_tokens;
    for (const auto member : {&Kernel::flops, &Kernel::bytes}) {
      RC_ASSERT(sum(sim::work_of(llm, larger), member) > sum(sim::work_of(llm, step), member));
      RC_ASSERT(sum(sim::work_of(llm, longer), member) > sum(sim::work_of(llm, step), member));
    }
  });
}
