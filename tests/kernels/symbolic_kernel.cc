#include "tests/kernels/symbolic_kernel.h"

#include <cstring>

#include "reference/provenance.h"
#include "tests/reference/rank_buffers.h"

namespace tally::test {
namespace {

using kernels::packet_bytes_of_word;
using kernels::emulator::Symbol;
using kernels::emulator::SymbolScope;
using model::Expressions;

std::vector<Symbol> symbols_of(const std::vector<std::byte>& bytes) {
  std::vector<Symbol> symbols(bytes.size() / sizeof(Symbol));
  if (!symbols.empty()) std::memcpy(symbols.data(), bytes.data(), bytes.size());
  return symbols;
}

/// Inputs that name themselves.
KernelData symbolic_data(const SymbolicKernel& kernel, const KernelRun& how, Expressions& pool) {
  KernelData data;
  data.stale = static_cast<std::uint32_t>(pool.input(-1, 0));  // what no rank has
  for (int rank = 0; rank < how.ranks; ++rank) {
    std::vector<Symbol> symbols;
    const std::int64_t elements = model::input_elements(how.collective, how.ranks, how.count);
    for (std::int64_t i = 0; i < elements; ++i) symbols.push_back(pool.input(rank, i));
    const auto* bytes = reinterpret_cast<const std::byte*>(symbols.data());
    data.inputs.emplace_back(bytes, bytes + symbols.size() * sizeof(Symbol));
  }
  const model::Wire& wire = kernel.arithmetic.wire;
  const std::int64_t in_scratch =
      kernels::scratch_elements(how.collective, wire, how.ranks, how.count);
  data.scratch_bytes = static_cast<std::size_t>(model::ceil_divide(in_scratch, kernel.per_word) *
                                                    static_cast<std::int64_t>(kernel.packet_bytes) +
                                                wire.scale_bytes(in_scratch));
  data.element_bytes = sizeof(Symbol);
  data.packet_bytes = packet_bytes_of_word(data.scratch_bytes) * how.ranks;
  return data;
}

/// Elements behind those that the schedule writes have to be what they were.
std::string expression_difference(const KernelOutcome& outcome, const model::Schedule& schedule,
                                  Symbol stale, Expressions& pool) {
  const auto wanted = reference::provenance(schedule, pool);
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const std::vector<Symbol> got = symbols_of(outcome.outputs[rank]);
    if (got.size() != wanted[rank].size()) return "expression: another number of elements";
    const std::int64_t used = model::used_outputs(schedule, rank);
    for (std::int64_t i = 0; i < std::ssize(got); ++i) {
      const Symbol want = i < used ? wanted[rank][i] : stale;
      if (got[i] == want) continue;
      return "expression: output[" + std::to_string(i) + "] of rank " + std::to_string(rank) +
             " is " + pool.text(got[i]) + ", the schedule has " + pool.text(want);
    }
  }
  return "";
}

/// The schedule's bytes, where a packet of symbols stands for each word; scales are what they are.
std::vector<std::int64_t> symbolic_link_bytes(const SymbolicKernel& kernel,
                                              const model::Schedule& schedule) {
  model::Schedule without_scales = schedule;
  if (kernel.arithmetic.wire.is_block()) {
    without_scales.arithmetic.wire = model::cast_wire(kernel.arithmetic.wire.format);
  }
  std::vector<std::int64_t> all = planned_link_bytes(schedule);
  const std::vector<std::int64_t> words = model::link_bytes(without_scales);
  const std::int64_t more = static_cast<std::int64_t>(kernel.packet_bytes) / model::kWordBytes - 1;
  for (std::size_t link = 0; link < all.size(); ++link) all[link] += words[link] * more;
  return all;
}

}  // namespace

std::string difference(const SymbolicKernel& kernel, KernelRun how) {
  how.collective = kernel.collective;
  if (how.collective == model::Collective::all_to_all_v) {
    how.in_place = false;
    if (how.send_counts.empty()) {
      how.send_counts = ragged_counts(how.ranks, how.count, how.seed);
    }
  }
  Expressions pool;
  const SymbolScope scope(pool);
  const KernelData data = symbolic_data(kernel, how, pool);
  const KernelOutcome outcome = run_kernel(kernel.launch, how, data);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (!how.in_place && outcome.inputs != data.inputs) return "inputs: changed";

  const model::Schedule schedule = schedule_of(kernel.algorithm, kernel.arithmetic, how);
  const std::string wrong =
      expression_difference(outcome, schedule, static_cast<Symbol>(data.stale), pool);
  if (!wrong.empty()) return wrong;
  if (!was_told_what_was_sent(outcome, how)) return "counts: other than sent";
  if (outcome.trace.link_bytes != symbolic_link_bytes(kernel, schedule)) {
    return "bytes: other than planned";
  }
  if (!meets_as_planned(outcome.trace, schedule)) return "edges: other than planned";
  return "";
}

}  // namespace tally::test
