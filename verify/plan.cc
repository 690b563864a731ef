#include "verify/plan.h"

#include <algorithm>
#include <filesystem>

namespace tally::verify {
namespace {

constexpr double kMaxCases = 1e6;

// Nothing, one, less than a word, a unit and one more, ragged, aligned, several blocks' passes.
constexpr std::int64_t kDefaultCounts[] = {0, 1, 13, 129, 1000, 4096, 20011};

/// The sizes of the calls that follow each other in a case of `count` elements: all different, so
/// that nothing may depend on the call before having been as large. Only the first may exceed
/// `limit`, which validate() then reports.
std::vector<std::int64_t> call_counts(std::int64_t count, int calls, std::int64_t limit) {
  std::vector<std::int64_t> counts;
  for (int call = 0; call < calls; ++call) {
    const std::int64_t sizes[] = {count, count / 3 + 1, count + 37};
    counts.push_back(call == 0 ? count : std::min(sizes[call % 3], limit));
  }
  return counts;
}

std::vector<std::int64_t> counts_for(const Plan& plan, const Input& input, model::Format dtype) {
  if (plan.counts.empty() && plan.sizes.empty()) {
    if (input.kind == InputKind::file) return {input.tensor->columns};
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
        base.input.kind == InputKind::file ? base.input.tensor->columns : kMaxCount;
    for (const int ranks : plan.ranks) {
      for (const Placement placement : plan.placements) {
        Case c = base;
        c.ranks = ranks;
        c.placement = placement;
        c.counts = call_counts(count, plan.calls, limit);
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

Plan default_plan() {
  Plan plan;
  plan.collectives = {model::Collective::all_reduce};
  plan.algorithms = {"flat", "tree"};
  plan.dtypes = {model::Format::f32, model::Format::bf16, model::Format::f16};
  for (const char* wire : {"none", "e4m3fn", "e4m3fnuz", "e5m2", "e4m3fn:sat"}) {
    plan.wires.push_back(*model::parse_wire(wire));
  }
  plan.ops = {model::Op::sum};
  plan.ranks = {1, 2, 3, 5, 8};
  plan.placements = all_placements();
  plan.inputs = {*open_input("order_free"), *open_input("normal"), *open_input("corner")};
  return plan;
}

model::Result<std::vector<Input>> bundled_tensors() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(TALLY_SOURCE_DIR) / "tests/data";
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const fs::path file = entry.path().filename();
    if (file.extension() == ".npy") names.push_back("tests/data/" + file.string());
  }
  if (names.empty()) {
    return model::Error{"tests/data", "holds no .npy file",
                        "the source folder that Tally was built from is incomplete"};
  }
  std::sort(names.begin(), names.end());
  std::vector<Input> inputs;
  for (const std::string& name : names) {
    const auto input = open_input(name);
    if (!input) return input.error();
    inputs.push_back(*input);
  }
  return inputs;
}

model::Result<std::vector<Case>> cases(const Plan& plan) {
  if (case_count(plan) > kMaxCases) {
    return model::Error{"command line", "asks for more than a million cases",
                        "shorter lists; --shard divides a run, not its list"};
  }
  std::vector<Case> all;
  for (const Input& input : plan.inputs) {
    for (const model::Collective collective : plan.collectives) {
      for (const std::string& algorithm : plan.algorithms) {
        Case base;
        base.collective = collective;
        base.algorithm = algorithm;
        base.launch = plan.launch;
        base.seed = plan.seed;
        base.interleavings = plan.interleavings;
        base.fault = plan.fault;
        base.input = input;
        add_arithmetics(plan, base, all);
      }
    }
  }
  std::vector<Case> mine;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const auto error = validate(all[i])) return *error;
    if (static_cast<int>(i % plan.shards) == plan.shard) mine.push_back(std::move(all[i]));
  }
  return mine;
}

}  // namespace tally::verify
