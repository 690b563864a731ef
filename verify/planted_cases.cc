#include "verify/planted_cases.h"

namespace tally::verify {
namespace {

// clang-format off
constexpr PlantedCase kPlantedCases[] = {
    {"tail_dropped",
     "all_reduce/tree/f32/e4m3fnuz/sum/f32/ranks=8/counts=1025/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=tail_dropped/input=normal",
     "never written"},
    {"stale_scratch",
     "all_reduce/tree/f32/e4m3fnuz/sum/f32/ranks=8/counts=1025/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=stale_scratch/input=normal",
     "got"},
    {"rank_lost",
     "all_reduce/flat/bf16/none/sum/element/ranks=3/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=rank_lost/input=order_free",
     "got"},
    {"rank_doubled",
     "all_reduce/flat/bf16/none/sum/element/ranks=3/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=rank_doubled/input=order_free",
     "got"},
    {"other_order",
     "all_reduce/flat/bf16/none/sum/element/ranks=8/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=other_order/input=normal",
     "got"},
    {"f32_accumulation",
     "all_reduce/tree/bf16/none/sum/element/ranks=8/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=f32_accumulation/input=normal",
     "got"},
    {"overflow_to_nan",
     "all_reduce/flat/f32/e4m3fn:sat/sum/f32/ranks=2/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=overflow_to_nan/input=corner",
     "nan want"},
    {"fnuz_read_as_ocp",
     "all_reduce/flat/f32/e4m3fnuz/sum/f32/ranks=2/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=fnuz_read_as_ocp/input=order_free",
     "got"},
    {"missing_barrier",
     "all_reduce/flat/bf16/none/sum/element/ranks=2/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=missing_barrier/input=order_free",
     "got"},
    {"output_not_written",
     "all_reduce/tree/bf16/none/sum/element/ranks=2/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=output_not_written/input=order_free",
     "never written"},
    {"write_past_end",
     "all_reduce/flat/bf16/none/sum/element/ranks=2/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=write_past_end/input=order_free",
     "guard zone"},
    {"input_modified",
     "all_reduce/flat/bf16/none/sum/element/ranks=2/counts=1000/out_of_place/launch=2x64w64/seed=1/interleavings=1/fault=input_modified/input=order_free",
     "was modified"},
};
// clang-format on

}  // namespace

std::span<const PlantedCase> planted_cases() { return kPlantedCases; }

}  // namespace tally::verify
