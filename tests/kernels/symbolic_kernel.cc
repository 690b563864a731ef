#include "tests/kernels/symbolic_kernel.h"

#include <cstring>

#include "reference/provenance.h"

namespace tally::test {
namespace {

using kernels::emulator::packet_bytes_of_word;
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
    for (std::int64_t i = 0; i < how.count; ++i) symbols.push_back(pool.input(rank, i));
    const auto* bytes = reinterpret_cast<const std::byte*>(symbols.data());
    data.inputs.emplace_back(bytes, bytes + symbols.size() * sizeof(Symbol));
  }
  data.scratch_bytes = static_cast<std::size_t>(model::ceil_divide(how.count, kernel.per_word) *
                                                    static_cast<std::int64_t>(kernel.packet_bytes) +
                                                kernel.arithmetic.wire.scale_bytes(how.count));
  data.packet_bytes = packet_bytes_of_word(data.scratch_bytes) * how.ranks;
  return data;
}

std::string expression_difference(const KernelOutcome& outcome,
                                  const reference::OutputExpressions& wanted,
                                  const Expressions& pool) {
  for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
    const std::vector<Symbol> got = symbols_of(outcome.outputs[rank]);
    if (got == wanted[rank]) continue;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[rank][i]) continue;
      return "expression: output[" + std::to_string(i) + "] of rank " + std::to_string(rank) +
             " is " + pool.text(got[i]) + ", the schedule has " + pool.text(wanted[rank][i]);
    }
    return "expression: another number of elements";
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
  std::vector<std::int64_t> all = model::link_bytes(schedule);
  const std::vector<std::int64_t> words = model::link_bytes(without_scales);
  const std::int64_t more = static_cast<std::int64_t>(kernel.packet_bytes) / model::kWordBytes - 1;
  for (std::size_t link = 0; link < all.size(); ++link) all[link] += words[link] * more;
  return all;
}

}  // namespace

std::string difference(const SymbolicKernel& kernel, const KernelRun& how) {
  Expressions pool;
  const SymbolScope scope(pool);
  const KernelData data = symbolic_data(kernel, how, pool);
  const KernelOutcome outcome = run_kernel(kernel.launch, how, data);
  if (const std::string wrong = outcome.misbehaviour(); !wrong.empty()) return wrong;
  if (!how.in_place && outcome.inputs != data.inputs) return "inputs: changed";

  const model::Schedule schedule = schedule_of(kernel.algorithm, kernel.arithmetic, how);
  const auto wanted = reference::provenance(schedule, pool);
  if (const std::string wrong = expression_difference(outcome, wanted, pool); !wrong.empty()) {
    return wrong;
  }
  if (outcome.trace.link_bytes != symbolic_link_bytes(kernel, schedule)) {
    return "bytes: other than planned";
  }
  if (!meets_as_planned(outcome.trace, schedule)) return "edges: other than planned";
  return "";
}

}  // namespace tally::test
