#include "kernels/emulator/kernel_table.h"

#include <string>
#include <unordered_map>

#include "kernels/all_reduce_flat.h"
#include "kernels/all_reduce_tree.h"
#include "kernels/emulator/emulated_gpu.h"
#include "kernels/planted.h"
#include "kernels/recipes.h"
#include "model/schedule.h"

namespace tally::kernels::emulator {
namespace {

using model::Accumulate;
using model::Beyond;
using model::Format;

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
};

template <class R>
void launch_flat(Emulator& emulator, const Session& session, const Call& call) {
  for (int rank = 0; rank < session.ranks; ++rank) {
    emulator.launch(rank, session.geometry, [a = bind<R>(session, call, rank)](EmulatedGpu& gpu) {
      all_reduce_flat<R>(gpu, a);
    });
  }
}

template <class R>
void launch_tree(Emulator& emulator, const Session& session, const Call& call) {
  for (int rank = 0; rank < session.ranks; ++rank) {
    emulator.launch(rank, session.geometry, [a = bind<R>(session, call, rank)](EmulatedGpu& gpu) {
      all_reduce_tree<R>(gpu, a);
    });
  }
}

class Table {
 public:
  Table() {
    for_each_recipe([this]<class R>(const model::Arithmetic& arithmetic) { add<R>(arithmetic); });
    add_faults();
  }

  Launcher find(const KernelKey& key) const {
    const auto found = launchers_.find(name(key));
    return found == launchers_.end() ? nullptr : found->second;
  }

 private:
  static std::string name(const KernelKey& key) {
    const auto& [element, wire, op, accumulate] = key.arithmetic;
    const std::string wire_name = wire.name();
    std::string text(key.algorithm);
    for (const std::string_view part : {model::format(element).name, std::string_view(wire_name),
                                        model::name(op), model::name(accumulate), key.fault}) {
      text += '/';
      text += part;
    }
    return text;
  }

  template <class R>
  void add(const model::Arithmetic& arithmetic, std::string_view fault = "") {
    launchers_[name({"flat", arithmetic, fault})] = launch_flat<R>;
    launchers_[name({"tree", arithmetic, fault})] = launch_tree<R>;
  }

  /// A kernel that claims `accumulate` and `wire`, whatever it does.
  template <class E, class A, class C, class P = FaithfulPlan>
  void add_faulty(Accumulate accumulate, const model::Wire& wire, std::string_view fault) {
    add<Recipe<E, A, C, P>>({E::kFormat, wire, model::Op::sum, accumulate}, fault);
  }

  /// A faulty plan, in one kernel without and one with a wire.
  template <class P>
  void add_plan(std::string_view fault) {
    using Bf16 = Element<Format::bf16>;
    using F32 = Element<Format::f32>;
    add_faulty<Bf16, AccumulateElement, PlainCodec<Bf16>, P>(Accumulate::element, model::kNoWire,
                                                             fault);
    add_faulty<F32, AccumulateF32, CastCodec<Format::e4m3fnuz, Beyond::special>, P>(
        Accumulate::f32, model::cast_wire(Format::e4m3fnuz), fault);
  }

  void add_faults() {
    add_plan<TailDropped>("tail_dropped");
    add_plan<StaleScratch>("stale_scratch");
    add_plan<RankLost>("rank_lost");
    add_plan<RankDoubled>("rank_doubled");
    add_plan<OtherOrder>("other_order");
    add_plan<MissingBarrier>("missing_barrier");
    add_plan<OutputNotWritten>("output_not_written");
    add_plan<WritePastEnd>("write_past_end");
    add_plan<InputModified>("input_modified");
    using F32 = Element<Format::f32>;
    using Bf16 = Element<Format::bf16>;
    add_faulty<Bf16, AccumulateF32, PlainCodec<Bf16>>(Accumulate::element, model::kNoWire,
                                                      "f32_accumulation");
    add_faulty<F32, AccumulateF32, CastCodec<Format::e4m3fn, Beyond::special>>(
        Accumulate::f32, model::cast_wire(Format::e4m3fn, model::kSaturate), "overflow_to_nan");
    add_faulty<F32, AccumulateF32, CastCodec<Format::e4m3fnuz, Beyond::special, Format::e4m3fn>>(
        Accumulate::f32, model::cast_wire(Format::e4m3fnuz), "fnuz_read_as_ocp");
  }

  std::unordered_map<std::string, Launcher> launchers_;
};

}  // namespace

std::span<const PlantedFault> planted_faults() { return kCatalogue; }

Launcher find_kernel(const KernelKey& key) {
  static const Table table;
  return table.find(key);
}

std::size_t scratch_bytes(const model::Arithmetic& arithmetic, std::int64_t count) {
  const std::int64_t bytes = arithmetic.wire.bytes(count, arithmetic.element);
  return static_cast<std::size_t>(model::kWordBytes * model::ceil_divide(bytes, model::kWordBytes));
}

}  // namespace tally::kernels::emulator
