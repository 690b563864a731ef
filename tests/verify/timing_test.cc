// Goal: a timed row holds every launch that was tried, and knows the fastest of ours and of the
// library's.
// Method: devices on which a kernel takes a microsecond for each of its blocks, and a library in
// host memory; then devices that cannot run anything, and calls that do not fit.

#include "verify/timing.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/verify/fake_gpu_runtime.h"

namespace tally::verify {
namespace {

using model::Collective;
using model::Format;

TimedCall call_of(Collective collective, std::int64_t count, const model::Wire& wire) {
  return {collective, model::arithmetic_of_sums(Format::bf16, wire), count};
}

std::vector<TimedRow> rows(const std::vector<TimedCall>& calls,
                           const kernels::hardware::nccl::Api* library,
                           std::size_t memory_bytes = std::size_t{1} << 30) {
  const auto runtime = test::fake_gpu_runtime(3, memory_bytes);
  std::vector<TimedRow> all;
  // Not the first device: ranks 0 and 1 are devices 2 and 1.
  time_calls(*runtime, {2, 1}, library, calls, 1e9,
             [&](const TimedRow& row) { all.push_back(row); });
  return all;
}

}  // namespace

TEST_CASE("the fastest launch of ours is the one with the fewest blocks here", "[verify]") {
  const auto library = kernels::hardware::nccl::Api::open(TALLY_FAKE_NCCL);
  REQUIRE(library);
  for (const Collective collective : {Collective::all_reduce, Collective::reduce_scatter,
                                      Collective::all_gather, Collective::all_to_all}) {
    CAPTURE(std::string(model::name(collective)));
    const TimedRow row = rows({call_of(collective, 4096, model::kNoWire)}, library->get()).at(0);
    CHECK(row.ranks == 2);
    CHECK(row.size_bytes == 2 * 4096 * (collective == Collective::all_reduce ? 1 : 2));
    REQUIRE(row.best_of_ours() != nullptr);
    CHECK(row.best_of_ours()->launch->blocks == 1);
    CHECK(row.best_of_ours()->microseconds == 1.0);
    const bool has_larger = std::any_of(row.all.begin(), row.all.end(), [](const Timed& one) {
      return one.launch && one.microseconds == 16.0 && one.launch->blocks == 16;
    });
    CHECK(has_larger);
    REQUIRE(row.best_of_library() != nullptr);
    CHECK(row.best_of_library()->algorithm == "library");
    CHECK(row.floor_microseconds == 2 * 4096 / 1e9 * 1e6);
  }
}

TEST_CASE("a library is not timed with a wire, and nothing that has no room", "[verify]") {
  const auto library = kernels::hardware::nccl::Api::open(TALLY_FAKE_NCCL);
  REQUIRE(library);
  const model::Wire fp8 = model::cast_wire(Format::e4m3fn, model::kSaturate);
  // Buffers take 4 bytes an element; staging and packets 9 with FP8, 18 without, and little more.
  const auto all = rows({call_of(Collective::all_reduce, 100'000, fp8),
                         call_of(Collective::all_reduce, 100'000, model::kNoWire)},
                        library->get(), 1'800'000);
  CHECK(all[0].best_of_library() == nullptr);
  CHECK(all[0].best_of_ours() != nullptr);
  CHECK(all[1].best_of_ours() == nullptr);
  CHECK(all[1].best_of_library() != nullptr);
}

}  // namespace tally::verify
