#pragma once

// The kernels in which faulty plans are planted.

#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

/// A faulty plan or algorithm, in one kernel without and one with a wire.
template <class Algorithm, class Plan>
void add_plan_in(KernelList& list, std::string_view fault) {
  using model::Accumulate, model::Format, model::Op;
  using Bf16 = Element<Format::bf16>;
  list.add<Algorithm, Recipe<Bf16, Sum, AccumulateElement, PlainCodec<Bf16>, Plan>>(
      {Format::bf16, model::kNoWire, Op::sum, Accumulate::element}, fault);
  using Fnuz = CastCodec<Format::e4m3fnuz, model::Beyond::special>;
  list.add<Algorithm, Recipe<Element<Format::f32>, Sum, AccumulateF32, Fnuz, Plan>>(
      {Format::f32, model::cast_wire(Format::e4m3fnuz), Op::sum, Accumulate::f32}, fault);
}

}  // namespace tally::kernels::emulator
