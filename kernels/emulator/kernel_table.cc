#include "kernels/emulator/kernel_table.h"

#include "kernels/emulator/kernel_list.h"
#include "model/schedule.h"

namespace tally::kernels::emulator {
namespace {

constexpr PlantedFault kCatalogue[] = {
    {"tail_dropped", "the last count % (128 * ranks) elements are never exchanged",
     "RCCLX low-precision all-reduce, low_precision_allreduce.cc (meta-pytorch/torchcomms)"},
    {"stale_scratch", "the last elements show what an earlier call left in the staging buffer",
     "RCCLX low-precision all-reduce, low_precision_allreduce.cc (meta-pytorch/torchcomms)"},
    {"rank_lost", "the last rank is not added", "MSCCLang Check: missing contribution"},
    {"rank_doubled", "rank 0 is added twice", "MSCCLang Check: duplicate contribution"},
    {"other_order", "ranks are added in descending order", "vllm-project/vllm#57042"},
    {"f32_accumulation", "a sum due in the element type is rounded once, at the end",
     "RCCLX DDA all-reduce rounds after every addition, CollCommon.cuh"},
    {"overflow_to_nan", "a wire that should saturate overflows to NaN", "ROCm/rocm-libraries#8667"},
    {"fnuz_read_as_ocp", "codes written as e4m3fnuz are read as e4m3fn", "ROCm/rocm-systems#10374"},
    {"missing_barrier", "the staging of peers is read before they have staged",
     "vllm-project/vllm#8404"},
    {"output_not_written", "the last output element is not stored", "NVIDIA/nccl#1950"},
    {"write_past_end", "one element behind the output is stored",
     "NVIDIA/nccl-tests: no guard zone would see it"},
    {"input_modified", "the result is also stored over the input", "pytorch/pytorch#21480"},
    {"bf16_truncated", "bf16 results are truncated, not rounded",
     "RCCLX low-precision all-reduce (meta-pytorch/torchcomms)"},
    {"double_rounding", "values are rounded to f16 on the way to the wire",
     "triton-lang/triton#10846"},
    {"reciprocal_scale", "elements are multiplied by a scale's reciprocal, not divided by it",
     "arch-hdl-lang/arch-com#905"},
    {"log2_scale", "a scale's exponent is the floor of a rounded logarithm", "higham/chop#5"},
    {"block_across_chunk", "blocks longer than 128 cross the edges of chunks and parts",
     "meta-pytorch/torchcomms#3988"},
    {"e8m0_zero_flushed", "the e8m0 scale with code 0, 2^-127, is read as zero",
     "NVIDIA/TransformerEngine#3262"},
    {"min_loses_nan", "a minimum drops NaN", "ml-explore/mlx#4072"},
    {"max_loses_nan", "a maximum drops NaN", "ml-explore/mlx#4072"},
    {"wrong_divisor", "an average divides by the number of elements",
     "meta-pytorch/torchcomms#287"},
    {"integer_like_average", "an average is truncated to an integer",
     "meta-pytorch/torchcomms#287"},
    {"other_ranks_scale", "codes of other ranks are decoded with the own scales",
     "vllm-project/vllm#54683"},
    {"owner_keeps_unquantised", "the owner of a chunk outputs its sum, its peers what they decode",
     "local-inference-lab/b12x#44"},
};

}  // namespace

std::span<const PlantedFault> planted_faults() { return kCatalogue; }

Launcher find_kernel(const KernelKey& key) {
  static const KernelList list = [] {
    KernelList all;
    add_f32_kernels(all);
    add_f16_kernels(all);
    add_bf16_kernels(all);
    add_faulty_plans(all);
    add_faulty_arithmetic(all);
    return all;
  }();
  const Launch launch = list.find(key);
  if (launch == nullptr) return nullptr;
  return [launch, wire = key.arithmetic.wire](Emulator& emulator, const Session& session,
                                              const Call& call) {
    launch(emulator, session, call, wire);
  };
}

bool can_launch(const model::Arithmetic& arithmetic, const Geometry& geometry) {
  return kernels::can_launch(arithmetic.wire, geometry.threads, geometry.wave);
}

std::size_t scratch_bytes(const model::Arithmetic& arithmetic, std::int64_t count) {
  const model::Wire& wire = arithmetic.wire;
  const std::int64_t words =
      model::ceil_divide(wire.code_bytes(count, arithmetic.element), model::kWordBytes);
  const std::int64_t more = model::ceil_divide(wire.scale_bytes(count), model::kWordBytes);
  return static_cast<std::size_t>(model::kWordBytes * (words + more));
}

}  // namespace tally::kernels::emulator
