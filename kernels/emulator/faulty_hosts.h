#pragma once

// The kernels in which faulty plans are planted.

#include "kernels/emulator/kernel_list.h"

namespace tally::kernels::emulator {

/// A faulty plan or algorithm, in one kernel with a wire.
template <class Algorithm, class Plan>
void add_plan_with_wire(KernelList& list, std::string_view fault) {
  using model::Format;
  using Fnuz = CastCodec<Format::e4m3fnuz, model::Beyond::special>;
  list.add<Algorithm, Recipe<Element<Format::f32>, Sum, AccumulateF32, Fnuz, Plan>>(
      {Format::f32, model::cast_wire(Format::e4m3fnuz), model::Op::sum, model::Accumulate::f32},
      fault);
}

/// The same, and in one kernel without.
template <class Algorithm, class Plan>
void add_plan_in(KernelList& list, std::string_view fault) {
  using Bf16 = Element<model::Format::bf16>;
  list.add<Algorithm, Recipe<Bf16, Sum, AccumulateElement, PlainCodec<Bf16>, Plan>>(
      {model::Format::bf16, model::kNoWire, model::Op::sum, model::Accumulate::element}, fault);
  add_plan_with_wire<Algorithm, Plan>(list, fault);
}

}  // namespace tally::kernels::emulator
