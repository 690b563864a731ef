// Goal: the models are those that were published.
// Method: their parameters, counted from the shapes, are those of the published checkpoints, to the
// last one; what a token costs in the cache is worked out by hand.

#include "sim/llm.h"

#include "tests/support/catch.h"

namespace {

using namespace tally;

sim::LlmModel llm(const char* name) { return *sim::find_llm(name); }

}  // namespace

TEST_CASE("every model has as many parameters as its published checkpoint", "[sim]") {
  // Half of total_size in model.safetensors.index.json, since the weights are bf16; for
  // deepseek-v3, whose weights are fp8, the 671 B of arXiv 2412.19437 in full.
  const std::pair<const char*, std::int64_t> published[] = {
      {"llama3-8b", 16'060'522'496 / 2},      {"llama3-70b", 141'107'412'992 / 2},
      {"llama3-405b", 811'706'777'600 / 2},   {"mixtral-8x7b", 93'405'585'408 / 2},
      {"mixtral-8x22b", 281'241'268'224 / 2},
  };
  for (const auto& [name, parameters] : published) {
    INFO(name);
    CHECK(sim::weights_per_gpu(llm(name), 1).total() == parameters);
  }
  const std::int64_t deepseek = sim::weights_per_gpu(llm("deepseek-v3"), 1).total();
  CHECK((deepseek + 500'000'000) / 1'000'000'000 == 671);
}

TEST_CASE("a token of llama3-70b takes 320 KiB of the cache, and one of deepseek-v3 68.6",
          "[sim]") {
  const auto bytes = [](const sim::LlmModel& m, int tp) {
    return m.layers * sim::kv_elements(m, tp) * 2;
  };
  CHECK(bytes(llm("llama3-70b"), 1) == 320 * 1024);
  CHECK(bytes(llm("llama3-70b"), 8) == 40 * 1024);
  CHECK(bytes(llm("llama3-70b"), 16) == 40 * 1024);
  CHECK(bytes(llm("deepseek-v3"), 1) == 61 * (512 + 64) * 2);
  CHECK(bytes(llm("deepseek-v3"), 8) == 61 * (512 + 64) * 2);
}

TEST_CASE("what GPUs hold together is the model, and what each must have", "[sim]") {
  for (const sim::LlmModel& m : sim::llm_models()) {
    for (const int tp : {2, 4, 8}) {
      INFO(m.name << " on " << tp);
      const sim::Weights one = sim::weights_per_gpu(m, 1), each = sim::weights_per_gpu(m, tp);
      const std::int64_t mixed = m.layers - m.dense_layers();
      const std::int64_t repeated =
          (tp - 1) * (mixed * m.experts.shared * 3LL * m.experts.ffn * m.hidden +
                      (m.has_latent() ? m.layers * std::int64_t{m.hidden} *
                                            (m.latent.q_rank + m.latent.kv_rank + m.latent.rope_dim)
                                      : 0));
      CHECK(each.quantisable * tp == one.quantisable + repeated);
      CHECK(each.total() * tp > one.total());
    }
  }
}

TEST_CASE("GPUs that cannot share a model are an error that says what they would share", "[sim]") {
  CHECK(sim::check_tensor_parallel(llm("llama3-70b"), 16));
  CHECK(sim::check_tensor_parallel(llm("llama3-70b"), 3).error().what ==
        "3 GPUs cannot share the 64 heads of llama3-70b");
  CHECK(sim::check_tensor_parallel(llm("mixtral-8x7b"), 16).error().what.find("8 experts") !=
        std::string::npos);
  CHECK(sim::check_tensor_parallel(llm("mixtral-8x22b"), 6).error().what.find("keys and values") !=
        std::string::npos);
  CHECK_FALSE(sim::check_tensor_parallel(llm("llama3-8b"), 0));
  CHECK(sim::find_llm("llama3-70").error().hint == "did you mean 'llama3-70b'?");
}
