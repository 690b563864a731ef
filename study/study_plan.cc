#include "study/study_plan.h"

#include <algorithm>
#include <optional>

#include "model/builders.h"

namespace tally::study {
namespace {

using model::Error;

// A cell takes a kilobyte while it is measured.
constexpr std::size_t kMaxCells = 1'000'000;

/// Adds the accumulators that the cell's wire and algorithm allow; the error of the last one where
/// that is none.
std::optional<Error> add_accumulates(const Plan& plan, Cell cell, std::vector<Cell>& all) {
  using model::Accumulate;
  std::vector<Accumulate> asked = plan.accumulates;
  if (asked.empty()) {
    asked = {cell.arithmetic.wire.is_none() ? Accumulate::element : Accumulate::f32};
  }
  std::optional<Error> error;
  bool is_any = false;
  for (const Accumulate accumulate : asked) {
    cell.arithmetic.accumulate = accumulate;
    error = model::disallowed(model::Collective::all_reduce, cell.algorithm, cell.arithmetic);
    if (error) continue;
    all.push_back(cell);
    is_any = true;
  }
  return is_any ? std::nullopt : error;
}

/// Adds what is measured on one draw of inputs: all wires, algorithms and accumulators.
std::optional<Error> add_wires(const Plan& plan, Cell cell, std::vector<Cell>& all) {
  if (auto error = reference::too_small(cell.input, cell.ranks, cell.count)) return error;
  for (const model::Wire& wire : plan.wires) {
    cell.arithmetic.wire = wire;
    for (const std::string& algorithm : plan.algorithms) {
      cell.algorithm = algorithm;
      if (auto error = add_accumulates(plan, cell, all)) return error;
    }
  }
  return std::nullopt;
}

double cell_count(const Plan& plan) {
  double product = 1;
  for (const std::size_t length :
       {plan.inputs.size(), plan.dtypes.size(), plan.counts.size(), plan.ranks.size(),
        plan.wires.size(), plan.algorithms.size(), plan.accumulates.size()}) {
    product *= static_cast<double>(std::max<std::size_t>(length, 1));
  }
  return product;
}

}  // namespace

Plan default_plan() {
  Plan plan;
  plan.inputs = {*reference::open_input("normal"), *reference::open_input("outliers")};
  plan.dtypes = {model::Format::f32};
  plan.ranks = {8};
  for (const char* wire : {"none", "e4m3fnuz", "e4m3fn", "e4m3fn:b128:f32"}) {
    plan.wires.push_back(*model::parse_wire(wire));
  }
  plan.algorithms = {"flat", "tree", "ring"};
  return plan;
}

model::Result<std::vector<Cell>> cells(const Plan& plan) {
  if (cell_count(plan) > static_cast<double>(kMaxCells)) {
    return Error{"command line", "asks for more than a million cells", "shorter lists"};
  }
  std::vector<Cell> all;
  Cell cell;
  for (const reference::Input& input : plan.inputs) {
    cell.input = input;
    std::vector<std::int64_t> counts = plan.counts;
    if (counts.empty()) counts = {input.tensor ? input.tensor->columns : kDefaultCount};
    for (const model::Format dtype : plan.dtypes) {
      cell.arithmetic.element = dtype;
      for (const std::int64_t count : counts) {
        cell.count = count;
        for (const int ranks : plan.ranks) {
          cell.ranks = ranks;
          if (auto error = add_wires(plan, cell, all)) return *error;
        }
      }
    }
  }
  return all;
}

}  // namespace tally::study
