// Goal: backend rcclx leaves the bits of the path that RCCLX would take, without its faults: no
// lost tail, no hang where ranks' buffers are aligned differently.
// Method: virtual GPUs against reference::run, on both sides of thresholds.

#include <map>

#include "tests/kernels/comm/comm_ranks.h"
#include "tests/kernels/comm/rank_threads.h"
#include "tests/support/catch.h"

namespace tally::comm {
namespace {

using model::Accumulate, model::Collective, model::Format, model::Op;
using reference::RankBuffers;

using Environment = std::map<std::string, std::string>;

Case rcclx(const Request& request, int ranks, const Environment& environment = {}) {
  Case c{request, ranks, {}, "rcclx"};
  c.options.lookup = [environment](const std::string& name) -> std::optional<std::string> {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional(at->second);
  };
  c.options.max_message_bytes = 32 << 20;
  return c;
}

const Environment kSmall = {{"RCCL_DDA_NRANKS", "4"},
                            {"RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES", "4096"},
                            {"RCCL_DDA_ALL_REDUCE_TREE_MAX_BYTES", "8192"}};

}  // namespace

TEST_CASE("the bits change where RCCLX's path does", "[kernels]") {
  const std::pair<std::int64_t, std::string_view> counts[] = {
      {1024, "flat"}, {1028, "ring"}, {1056, "tree"}, {2048, "tree"}, {2064, "ring"}};
  for (const auto& [count, algorithm] : counts) {
    CAPTURE(count);
    const Case c = rcclx({Collective::all_reduce, count, Format::bf16}, 4,
                         {{"RCCL_DDA_NRANKS", "4"},
                          {"RCCL_DDA_ALL_REDUCE_FLAT_MAX_BYTES", "2048"},
                          {"RCCL_DDA_ALL_REDUCE_TREE_MAX_BYTES", "4096"}});
    const RankBuffers inputs = inputs_of(c), outputs = outputs_of(c, inputs);
    REQUIRE((outputs == expected(c, algorithm, {Format::bf16}, inputs)));
    // Only the ring adds in another order.
    const bool as_ring = outputs == expected(c, "ring", {Format::bf16}, inputs);
    REQUIRE(as_ring == (algorithm == "ring"));
  }
}

TEST_CASE("an average multiplies first, as RCCL does", "[kernels]") {
  const Case c = rcclx({Collective::reduce_scatter, 100, Format::bf16, Op::avg}, 3);
  const RankBuffers inputs = inputs_of(c), outputs = outputs_of(c, inputs);
  model::Arithmetic arithmetic{Format::bf16};
  arithmetic.op = Op::avg_premul;
  REQUIRE((outputs == expected(c, "flat", arithmetic, inputs)));
  arithmetic.op = Op::avg;
  REQUIRE((outputs != expected(c, "flat", arithmetic, inputs)));
}

TEST_CASE("low precision sums fp8 of the architecture, the last element too", "[kernels]") {
  for (const auto arch : {model::rcclx::Arch::gfx942, model::rcclx::Arch::gfx950}) {
    const bool is_950 = arch == model::rcclx::Arch::gfx950;
    const model::Arithmetic arithmetic{Format::f32,
                                       model::cast_wire(is_950 ? Format::e4m3fn : Format::e4m3fnuz),
                                       Op::sum, Accumulate::f32};
    // 16 MiB and an element: RCCLX loses what is beyond a multiple of 2 * 128.
    const Request request{Collective::all_reduce, (4 << 20) + 1};
    Case c = rcclx(request, 2, {{"RCCL_LOW_PRECISION_ENABLE_ALLREDUCE", "1"}});
    c.options.arch = arch;
    const RankBuffers inputs = inputs_of(c);
    REQUIRE((outputs_of(c, inputs) == expected(c, "tree", arithmetic, inputs)));
  }
}

TEST_CASE("ranks whose buffers are aligned differently take one path", "[kernels]") {
  const auto said = on_threads(4, [&](int rank) -> std::string {
    const Case c = rcclx({Collective::all_reduce, 1024}, 4, kSmall);
    const auto comm = join(c, rank);
    alignas(16) static thread_local float values[1028];
    float* const first = values + rank % 4;  // 4 bytes further on each rank
    for (int i = 0; i < 1024; ++i) first[i] = static_cast<float>(rank);
    Tensor tensor{first, 1024, Format::f32};
    const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, false);
    return work && first[0] == 6 && first[1023] == 6 ? "" : "wrong";
  });
  REQUIRE(said == std::vector<std::string>(4));
}

TEST_CASE("a switch that is no number is every rank's error", "[kernels]") {
  const auto said = on_threads(2, [](int rank) -> std::string {
    const Environment wrong = {{"RCCL_DDA_SENDBUF_BYTES", "32M"}};
    const auto comm =
        join(rcclx({Collective::all_reduce, 8}, 2, rank == 1 ? wrong : Environment()), rank);
    return comm ? "" : comm.error().where + ": " + comm.error().what;
  });
  REQUIRE(said ==
          std::vector<std::string>(2, "RCCL_DDA_SENDBUF_BYTES: rank 1: '32M' is not a number"));
}

}  // namespace tally::comm
