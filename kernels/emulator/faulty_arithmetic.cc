#include "kernels/emulator/kernel_list.h"
#include "kernels/faulty_policies.h"

namespace tally::kernels::emulator {
namespace {

using model::Beyond;
using model::Format;

using Bf16 = Element<Format::bf16>;
using F32 = Element<Format::f32>;
template <class Steps>
using Blocks = ScaledBlocks<Format::e4m3fn, Steps>;

/// A kernel that claims `wire` and the element, operation and accumulator that its policies derive
/// from, in every algorithm that there is.
template <class E, class O, class A, class C>
void add(KernelList& list, const model::Wire& wire, std::string_view fault) {
  list.add_all<Recipe<E, O, A, C, FaithfulPlan>>({E::kFormat, wire, O::kOp, A::kAccumulate}, fault);
}

template <class O>
void add_operation(KernelList& list, std::string_view fault) {
  add<F32, O, AccumulateElement, PlainCodec<F32>>(list, model::kNoWire, fault);
  add<Bf16, O, AccumulateElement, PlainCodec<Bf16>>(list, model::kNoWire, fault);
}

template <class Codec>
void add_blocks(KernelList& list, std::string_view fault) {
  const model::Wire any =
      model::block_wire(Format::e4m3fn, 32, Format::f32, model::ScaleRule::amax);
  add<F32, Sum, AccumulateF32, Codec>(list, any, fault);
  add<Bf16, Sum, AccumulateF32, Codec>(list, any, fault);
}

}  // namespace

void add_faulty_arithmetic(KernelList& list) {
  const model::Wire saturating = model::cast_wire(Format::e4m3fn, model::kSaturate);
  const model::Wire fnuz = model::cast_wire(Format::e4m3fnuz);
  for_each_reduction<Recipe<Bf16, Sum, AccumulateF32, PlainCodec<Bf16>, FaithfulPlan>>(
      [&]<class Algorithm>() {
        list.add<Algorithm, Recipe<Bf16, Sum, AccumulateF32, PlainCodec<Bf16>, FaithfulPlan>>(
            {Format::bf16, model::kNoWire, model::Op::sum, model::Accumulate::element},
            "f32_accumulation");
      });
  add<F32, Sum, AccumulateF32, CastCodec<Format::e4m3fn, Beyond::special>>(list, saturating,
                                                                           "overflow_to_nan");
  add<F32, Sum, AccumulateF32, CastCodec<Format::e4m3fnuz, Beyond::special, Format::e4m3fn>>(
      list, fnuz, "fnuz_read_as_ocp");
  // Behind a wire only flat has sums that bf16 cannot hold.
  using Truncated = Recipe<TruncatedBf16, Sum, AccumulateF32,
                           CastCodec<Format::e4m3fnuz, Beyond::special>, FaithfulPlan>;
  list.add<Flat, Truncated>({Format::bf16, fnuz, model::Op::sum, model::Accumulate::f32},
                            "bf16_truncated");
  add<TruncatedBf16, Sum, AccumulateF32, PlainCodec<TruncatedBf16>>(list, model::kNoWire,
                                                                    "bf16_truncated");
  add<F32, Sum, AccumulateF32, DoubleRounding<Format::e4m3fnuz, Beyond::special>>(
      list, fnuz, "double_rounding");
  add_operation<MinimumLosesNan>(list, "min_loses_nan");
  add_operation<MaximumLosesNan>(list, "max_loses_nan");
  add_operation<WrongDivisor>(list, "wrong_divisor");
  add_operation<IntegerLikeAverage>(list, "integer_like_average");
  add_blocks<BlockCodec<Blocks<ReciprocalScale>>>(list, "reciprocal_scale");
  add_blocks<BlockCodec<Blocks<Log2Scale>>>(list, "log2_scale");
  add_blocks<BlockCodec<Blocks<E8m0ZeroFlushed>>>(list, "e8m0_zero_flushed");
  add_blocks<BlockAcrossChunk<Blocks<FaithfulBlocks>>>(list, "block_across_chunk");
}

}  // namespace tally::kernels::emulator
