#include "verify/plan.h"

#include <algorithm>

namespace tally::verify {
namespace {

constexpr double kMaxCases = 1e6;

// Nothing, one, less than a word, a unit and one more, ragged, aligned, several blocks' passes.
constexpr std::int64_t kDefaultCounts[] = {0, 1, 13, 129, 1000, 4096, 20011};

/// The sizes of the calls that follow each other in a case of `count` elements: all different, so
/// that nothing may depend on the call before having been as large. Only the first may exceed
/// `limit`, which validate() then reports. Replays of a graph are all as large.
std::vector<std::int64_t> call_counts(const Plan& plan, std::int64_t count, std::int64_t limit) {
  if (plan.graph) return std::vector<std::int64_t>(plan.calls, count);
  std::vector<std::int64_t> counts;
  for (int call = 0; call < plan.calls; ++call) {
    const std::int64_t sizes[] = {count, count / 3 + 1, count + 37};
    counts.push_back(call == 0 ? count : std::min(sizes[call % 3], limit));
  }
  return counts;
}

std::vector<std::int64_t> counts_for(const Plan& plan, const reference::Input& input,
                                     model::Format dtype) {
  if (plan.counts.empty() && plan.sizes.empty()) {
    if (input.kind == reference::InputKind::file) return {input.tensor->columns};
    return {std::begin(kDefaultCounts), std::end(kDefaultCounts)};
  }
  std::vector<std::int64_t> counts = plan.counts;
  for (const std::int64_t size : plan.sizes) counts.push_back(size / model::format(dtype).bytes());
  return counts;
}

/// How many cases the plan has; not exact beyond the limit.
double case_count(const Plan& plan) {
  double product = 1;
  for (const std::size_t factor :
       {plan.collectives.size(), plan.algorithms.size(), plan.dtypes.size(), plan.wires.size(),
        plan.ops.size(), plan.ranks.size(), plan.placements.size(), plan.inputs.size(),
        std::max(std::size(kDefaultCounts), plan.counts.size() + plan.sizes.size())}) {
    product *= static_cast<double>(factor);
  }
  return product;
}

/// The cases that differ in ranks, placement and count only.
void add_sizes(const Plan& plan, const Case& base, std::vector<Case>& all) {
  for (const std::int64_t count : counts_for(plan, base.input, base.arithmetic.element)) {
    const std::int64_t limit =
        base.input.kind == reference::InputKind::file ? base.input.tensor->columns : kMaxCount;
    for (const int ranks : plan.ranks) {
      for (const Placement placement : plan.placements) {
        Case c = base;
        c.ranks = ranks;
        c.placement = placement;
        c.counts = call_counts(plan, count, limit);
        all.push_back(std::move(c));
      }
    }
  }
}

void add_arithmetics(const Plan& plan, const Case& base, std::vector<Case>& all) {
  for (const model::Format dtype : plan.dtypes) {
    for (const model::Wire& wire : plan.wires) {
      for (const model::Op op : plan.ops) {
        Case c = base;
        c.arithmetic = {dtype, wire, op,
                        plan.accumulate.value_or(wire.is_none() ? model::Accumulate::element
                                                                : model::Accumulate::f32)};
        add_sizes(plan, c, all);
      }
    }
  }
}

}  // namespace

std::vector<Plan> default_plans() {
  Plan sum;
  sum.collectives = {model::Collective::all_reduce};
  sum.algorithms = {"ring", "flat", "tree"};
  sum.dtypes = {model::Format::f32, model::Format::bf16, model::Format::f16};
  for (const char* wire : {"none", "e4m3fn", "e4m3fnuz", "e5m2", "e4m3fn:sat", "e4m3fn:b128:f32",
                           "e4m3fn:b32:e8m0:floor"}) {
    sum.wires.push_back(*model::parse_wire(wire));
  }
  sum.ops = {model::Op::sum};
  sum.ranks = {1, 2, 3, 5, 8};
  sum.placements = all_placements();
  for (const char* input : {"order_free", "normal", "corner"}) {
    sum.inputs.push_back(*reference::open_input(input));
  }

  Plan tensors = sum;
  tensors.inputs.clear();
  tensors.with_tensors = true;
  tensors.placements = {Placement::out_of_place};
  Plan average = sum;
  average.ops = {model::Op::avg};
  average.algorithms.push_back("flat_ll");  // for short messages
  average.counts = {1, 129, 1000};
  average.inputs.erase(average.inputs.begin());
  Plan others = average;
  others.ops = {model::Op::prod, model::Op::min, model::Op::max};
  others.wires = {model::kNoWire};
  Plan graphs = sum;
  graphs.algorithms.push_back("flat_ll");
  graphs.graph = true;
  graphs.dtypes = {model::Format::bf16};
  graphs.ranks = {2, 8};
  graphs.counts = {13, 1000};
  graphs.inputs.resize(1);
  return {sum, tensors, average, others, graphs};
}

model::Result<std::vector<Case>> cases(const Plan& plan) {
  if (case_count(plan) > kMaxCases) {
    return model::Error{"command line", "asks for more than a million cases",
                        "shorter lists; --shard divides a run, not its list"};
  }
  std::vector<Case> all;
  for (const reference::Input& input : plan.inputs) {
    for (const model::Collective collective : plan.collectives) {
      for (const std::string& algorithm : plan.algorithms) {
        Case base;
        base.collective = collective;
        base.algorithm = algorithm;
        base.launch = plan.launch;
        base.graph = plan.graph;
        base.seed = plan.seed;
        base.interleavings = plan.interleavings;
        base.memory = plan.memory;
        base.fault = plan.fault;
        base.input = input;
        add_arithmetics(plan, base, all);
      }
    }
  }
  std::optional<model::Error> first_error;
  if (plan.leaves_out_disallowed) {
    std::erase_if(all, [&](const Case& c) {
      auto error = model::disallowed(c.collective, c.algorithm, c.arithmetic);
      if (error && !first_error) first_error = error;
      return error.has_value();
    });
    if (all.empty() && first_error) return *first_error;
  }
  std::vector<Case> mine;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const auto error = validate(all[i])) return *error;
    if (static_cast<int>(i % plan.shards) == plan.shard) mine.push_back(std::move(all[i]));
  }
  return mine;
}

}  // namespace tally::verify
