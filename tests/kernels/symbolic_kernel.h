#pragma once

// A kernel on symbols, and how it differs from the schedule that it claims to be.

#include "kernels/algorithms.h"
#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/symbolic.h"
#include "tests/kernels/run_helper.h"

namespace tally::test {

struct SymbolicKernel {
  model::Collective collective;
  std::string_view algorithm;
  model::Arithmetic arithmetic;  // scales of block wires are f32, which a symbol is as long as
  std::size_t packet_bytes;
  std::int64_t per_word;
  Launch launch;
};

/// A recipe of SymbolElement: `element` and `wire` are what its symbols stand for.
template <class Algorithm, class Operation, class Accumulator, class Codec,
          class Plan = kernels::FaithfulPlan>
SymbolicKernel symbolic(model::Format element, const model::Wire& wire) {
  using namespace kernels::emulator;
  using R = kernels::Recipe<SymbolElement, Operation, Accumulator, Codec, Plan>;
  const model::Arithmetic arithmetic{element, wire, Operation::kOp, Accumulator::kAccumulate};
  const Launch launch = [arithmetic](Emulator& emulator, const Session& session, const Call& call) {
    for (int rank = 0; rank < session.ranks; ++rank) {
      emulator.launch(rank, session.geometry,
                      [a = bind<R>(session, call, rank, arithmetic)](EmulatedGpu& gpu) {
                        Algorithm::template run<R>(gpu, a);
                      });
    }
  };
  return {Algorithm::kCollective,         Algorithm::kName, arithmetic,
          sizeof(typename Codec::Packet), Codec::kPerWord,  launch};
}

/// How the kernel differs from its schedule: in its outputs' expressions, the bytes on its links or
/// its edges, or by what no kernel may do; "" where it does not.
std::string difference(const SymbolicKernel& kernel, KernelRun how);

}  // namespace tally::test
