#include "tests/kernels/sequence.h"

#include <algorithm>
#include <ostream>

#include "kernels/recipes.h"
#include "model/builders.h"

namespace tally::test {
namespace {

using kernels::emulator::KernelKey;
using model::Collective;

constexpr int kMostElements = 2000;

bool is_same(const KernelKey& a, const KernelKey& b) {
  return a.algorithm == b.algorithm &&
         kernels::kernel_name(a.collective, a.algorithm, a.arithmetic) ==
             kernels::kernel_name(b.collective, b.algorithm, b.arithmetic);
}

int below(int limit) { return *rc::gen::inRange(0, limit); }

std::int64_t any_count(int ranks) {
  if (below(2) == 0) return below(kMostElements + 1);
  const int units[] = {4, 8, 16, 128, 128 * ranks};
  const int unit = units[below(std::size(units))];
  const int multiple = unit * below(kMostElements / unit + 1);
  return std::clamp(multiple + below(3) - 1, 0, kMostElements);
}

Step any_step(const Sequence& sequence, const std::vector<KernelKey>& kernels) {
  Step step;
  step.kernel = kernels[below(static_cast<int>(kernels.size()))];
  step.count = any_count(sequence.ranks);
  step.is_in_place = below(2) == 1 && step.kernel.collective != Collective::all_to_all_v;
  step.stream = below(2);
  step.replays = std::max(0, below(6) - 2);
  if (below(3) == 0) step.delay = Delay{below(sequence.ranks), below(sequence.geometry.blocks)};
  return step;
}

/// All that can be plainer about one call, the largest changes first.
std::vector<Step> plainer(const Step& step, const KernelKey& plainest) {
  std::vector<Step> all;
  const auto with = [&](auto Step::* member, const auto& value) {
    all.emplace_back(step).*member = value;
  };
  if (!is_same(step.kernel, plainest)) with(&Step::kernel, plainest);
  if (step.delay) with(&Step::delay, std::nullopt);
  if (step.replays > 0) with(&Step::replays, 0);
  if (step.replays > 1) with(&Step::replays, step.replays - 1);
  if (step.stream > 0) with(&Step::stream, 0);
  if (step.is_in_place) with(&Step::is_in_place, false);
  for (std::int64_t less = step.count; less > 0; less /= 2) with(&Step::count, step.count - less);
  return all;
}

std::vector<Sequence> plainer(const Sequence& sequence, const KernelKey& plainest) {
  std::vector<Sequence> all;
  const int calls = static_cast<int>(sequence.steps.size());
  for (int chunk = calls / 2; chunk > 0; chunk /= 2) {
    for (int first = 0; first + chunk <= calls; first += chunk) {
      auto& steps = all.emplace_back(sequence).steps;
      steps.erase(steps.begin() + first, steps.begin() + first + chunk);
    }
  }
  if (sequence.ranks > 2) --all.emplace_back(sequence).ranks;
  if (sequence.geometry.blocks > 1) all.emplace_back(sequence).geometry.blocks = 1;
  if (sequence.geometry.rounds > 1) all.emplace_back(sequence).geometry.rounds = 1;
  if (sequence.geometry.threads > 1) --all.emplace_back(sequence).geometry.threads;
  for (int i = 0; i < calls; ++i) {
    for (const Step& step : plainer(sequence.steps[i], plainest)) {
      all.emplace_back(sequence).steps[i] = step;
    }
  }
  for (Sequence& one : all) {
    for (Step& step : one.steps) {
      const auto [ranks, geometry] = std::pair(one.ranks, one.geometry);
      if (step.delay) step.delay = {step.delay->rank % ranks, step.delay->block % geometry.blocks};
    }
  }
  return all;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Step& step) {
  const auto& [element, wire, op, accumulate, factor] = step.kernel.arithmetic;
  if (step.kernel.collective != Collective::all_reduce) {
    out << model::name(step.kernel.collective) << ' ';
  }
  out << step.kernel.algorithm << ' ' << model::format(element).name << ' ' << model::name(op)
      << ' ' << wire.name() << " count=" << step.count << " stream " << step.stream;
  if (step.is_in_place) out << ", in place";
  if (step.replays > 0) out << ", replay x" << step.replays;
  if (step.delay) out << ", delay rank " << step.delay->rank << " block " << step.delay->block;
  return out;
}

std::ostream& operator<<(std::ostream& out, const Sequence& sequence) {
  out << sequence.ranks << " ranks, blocks x threads " << sequence.geometry.blocks << 'x'
      << sequence.geometry.threads << ", seed " << sequence.seed;
  if (sequence.geometry.rounds > 1) out << ", rounds " << sequence.geometry.rounds;
  for (std::size_t i = 0; i < sequence.steps.size(); ++i) {
    out << "\ncall " << i + 1 << ": " << sequence.steps[i];
  }
  return out;
}

std::vector<KernelKey> kernels_with(const std::vector<model::Arithmetic>& arithmetics,
                                    std::string_view fault) {
  std::vector<KernelKey> all;
  for (const auto& [algorithm, collective, build] : model::builders()) {
    for (const model::Arithmetic& arithmetic : arithmetics) {
      const KernelKey key{algorithm, arithmetic, fault, collective};
      if (model::disallowed(collective, algorithm, arithmetic)) continue;
      if (find_binder(key) != nullptr) all.push_back(key);
    }
  }
  std::stable_partition(all.begin(), all.end(), [](const KernelKey& key) {
    return key.collective == Collective::all_reduce && key.algorithm == "flat";
  });
  return all;
}

rc::Gen<Sequence> any_sequence(std::vector<KernelKey> kernels) {
  const auto draw = [kernels] {
    Sequence sequence;
    sequence.ranks = 2 + below(3);
    sequence.geometry = {1 + below(2), 1 + below(4), 64, 1 + below(3)};
    sequence.seed = below(1'000'000);
    for (int left = 1 + below(8); left > 0; --left) {
      sequence.steps.push_back(any_step(sequence, kernels));
    }
    return sequence;
  };
  // Large from the first one on, and shrunk by what is above alone.
  const auto any = rc::gen::noShrink(rc::gen::resize(rc::kNominalSize, rc::gen::exec(draw)));
  return rc::gen::shrink(any, [kernels](const Sequence& sequence) {
    return rc::seq::fromContainer(plainer(sequence, kernels[0]));
  });
}

}  // namespace tally::test
