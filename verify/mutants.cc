#include "verify/mutants.h"

#include "kernels/emulator/kernel_table.h"

namespace tally::verify {
namespace {

using namespace kernels::emulator;

/// Two blocks, that they may be on two XCDs; in each two waves, here of two threads, that one may
/// be ahead of another; three calls, that one rank may be a call ahead. The other collectives'
/// lines are those of all_reduce's barrier, and take no long search.
Case case_of(const model::Builder& kernel) {
  Case c;
  c.collective = kernel.collective;
  c.algorithm = kernel.algorithm;
  c.arithmetic = {model::Format::bf16, model::kNoWire, model::Op::sum, model::Accumulate::element};
  c.ranks = 2;
  c.counts = {600, 300, 520};
  c.launch = {2, 4, 2};
  c.memory = MemoryKind::gfx942;
  c.interleavings = kernel.collective == model::Collective::all_reduce ? 400 : 100;
  return c;
}

/// The lines that order something in a run of the healthy kernel. Where there are counts, they are
/// all zero: all lines are passed nevertheless.
std::set<Site> sites_of(const Case& c) {
  const Geometry geometry{c.launch.blocks, c.launch.threads, c.launch.wave};
  const std::size_t input = 2 * c.input_elements(0), output = 2 * c.output_elements(0),
                    counts = sizeof(std::int64_t) * c.ranks;
  const std::size_t scratch =
      kernels::scratch_bytes(c.collective, c.arithmetic, c.ranks, c.counts[0]);
  const std::size_t packets =
      kernels::packet_bytes(c.algorithm, c.arithmetic, c.ranks, c.counts[0]);
  Memory memory(c.ranks, Memory::room(input) + Memory::room(output) + 2 * Memory::room(counts) +
                             Session::room(geometry, scratch, packets));
  const Session session(memory, c.ranks, geometry, scratch, packets);
  Call call{c.counts[0], {}, {}};
  const auto allocate = [&](int rank, const char* name, std::size_t bytes) {
    return memory.allocate(rank, name, bytes, std::byte{}).first;
  };
  for (int rank = 0; rank < c.ranks; ++rank) {
    call.inputs.push_back(allocate(rank, "input", input));
    call.outputs.push_back(allocate(rank, "output", output));
    auto* const sent = allocate(rank, "send counts", counts);
    auto* const received = allocate(rank, "received counts", counts);
    call.send_counts.push_back(reinterpret_cast<std::int64_t*>(sent));
    call.received_counts.push_back(reinterpret_cast<std::int64_t*>(received));
  }
  Scripted usual({});
  Emulator emulator(memory, c.ranks, usual, {.keeps_log = true});
  find_kernel({c.algorithm, c.arithmetic, "", c.collective})(emulator, session, call);
  return emulator.run().sites;
}

/// Whether the line would be another.
bool changes(const Site& site, Change change) {
  switch (change) {
    case Change::drop:
      return true;
    case Change::relax:  // a relaxed fence is none, and so is a barrier
      return site.order != Order::relaxed && site.ordering != Ordering::fence &&
             site.ordering != Ordering::block_barrier;
    case Change::narrow:
      return site.scope == Scope::system;
  }
  return false;
}

/// Changes that a program with LLVM's memory model does not notice, and where that is proved.
std::string proof_of(const Mutant& mutant) {
  const auto& [site, change] = mutant.mutation;
  const bool is_proved = site.file == "kernels/barrier.h" && site.ordering == Ordering::fence &&
                         change == Change::narrow;
  return is_proved ? "docs/memory_model.md, The fence" : "";
}

}  // namespace

std::string Mutant::name() const {
  constexpr std::string_view kOrderings[] = {"fence", "store_flag", "wait", "block_barrier"};
  constexpr std::string_view kChanges[] = {"drop", "relax", "narrow"};
  const Site& site = mutation.site;
  std::string text = kernel_label(*kernel) + ' ' + site.file.substr(site.file.rfind('/') + 1) +
                     ':' + std::to_string(site.line) + ' ';
  text += kOrderings[static_cast<int>(site.ordering)];
  text += ' ';
  text += kChanges[static_cast<int>(mutation.change)];
  return text;
}

std::vector<Mutant> mutants() {
  std::vector<Mutant> all;
  for (const model::Builder& kernel : model::builders()) {
    for (const Site& site : sites_of(case_of(kernel))) {
      for (const Change change : {Change::drop, Change::relax, Change::narrow}) {
        if (changes(site, change)) all.push_back({&kernel, {site, change}});
      }
    }
  }
  return all;
}

Detection detect(const Mutant& mutant) {
  const Case c = case_of(*mutant.kernel);
  const auto search = [&](const Gfx942& machine) {
    return detect(c, *emulator_subject({.gfx942 = machine, .mutation = mutant.mutation}));
  };
  Detection found = search({});
  if (found.caught_by != Detector::none) return found;
  Detection without_wait = search({.release_covers_workgroup = false});
  without_wait.interleavings += found.interleavings;
  if (without_wait.caught_by != Detector::none) {
    without_wait.under = "compilers before LLVM pull request 178316";
  }
  return without_wait;
}

std::vector<Exhibit> mutant_exhibits() {
  std::vector<Exhibit> all;
  for (const Mutant& mutant : mutants()) {
    all.push_back({mutant.name(), std::string(kGenerated), "mutant", proof_of(mutant),
                   [mutant] { return detect(mutant); }});
  }
  return all;
}

}  // namespace tally::verify
