#include "sim/predict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/suggestion.h"
#include "sim/choice.h"

namespace tally::sim {
namespace {

using model::Error;
using model::Result;

// Machines are asked for by name, many times over.
const Result<model::Machine>& machine_named(const std::string& name, int nodes) {
  static std::map<std::pair<std::string, int>, Result<model::Machine>> known;
  const auto key = std::pair(name, nodes);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  return known.emplace(key, model::find_machine(name, nodes)).first->second;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Loads and stores reach the memory of a node's own GPUs alone.
bool spans_nodes(const Scenario& scenario) {
  const std::string& library = scenario.library;
  if (library == "tally") return scenario.algorithm == "hierarchical";
  return library == "rccl" || library == "rcclx" || library == "nccl";
}

bool runs_on(std::string_view library, std::string_view arch) {
  const bool is_amd = arch.starts_with("gfx");
  if (library == "nccl") return !is_amd;
  return is_amd || (library != "rccl" && library != "rcclx" && library != "quickreduce");
}

bool encodes(std::string_view library) {
  return library == "tally" || library == "rcclx" || library == "quickreduce";
}

// What of the scenario nothing is known of.
std::optional<Error> unknown(const Scenario& scenario) {
  if (!contains(libraries(), scenario.library)) {
    return Error{"library", "unknown library '" + scenario.library + "'",
                 model::suggestion(scenario.library, libraries())};
  }
  const auto algorithms = algorithms_of(scenario.library);
  if (!contains(algorithms, scenario.algorithm)) {
    return Error{"algorithm", scenario.library + " has no algorithm '" + scenario.algorithm + "'",
                 model::suggestion(scenario.algorithm, algorithms)};
  }
  if (!scenario.wire.is_none() && !encodes(scenario.library)) {
    return Error{"wire", scenario.library + " sends elements as they are",
                 "tally, rcclx, quickreduce"};
  }
  return std::nullopt;
}

// Schedules that are proved and priced, but that no kernel carries out.
bool has_no_kernel(std::string_view algorithm) {
  return algorithm == "halving_doubling" || algorithm == "hierarchical";
}

std::optional<Error> cannot_be_built(const Scenario& scenario) {
  if (scenario.collective != model::Collective::all_reduce) {
    return Error{"algorithm", scenario.algorithm + " is an all_reduce",
                 "flat, for " + std::string(model::name(scenario.collective))};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> libraries() {
  return {"tally", "rccl", "rcclx", "nccl", "mscclpp", "quickreduce", "vllm", "p2p_oneshot"};
}

std::vector<std::string> algorithms_of(std::string_view library) {
  if (library == "tally")
    return {"auto", "flat", "flat_ll", "tree", "ring", "halving_doubling", "hierarchical"};
  if (library == "rccl" || library == "rcclx") return {"auto", "dda", "flat", "tree", "ring"};
  if (library == "nccl") return {"auto", "ring", "nvls"};
  if (library == "quickreduce") return {"auto", "tree"};
  return {"auto", "flat", "tree"};
}

Result<Predictor> Predictor::of(const Scenario& scenario, const Parameters& parameters) {
  if (const auto error = unknown(scenario)) return *error;
  const Result<model::Machine>& machine = machine_named(scenario.machine, scenario.nodes);
  if (!machine) return machine.error();
  if (!runs_on(scenario.library, machine->gpu.arch)) {
    return Error{"library", scenario.library + " does not run on " + machine->gpu.name,
                 machine->gpu.arch.starts_with("gfx") ? "rccl, rcclx, mscclpp, vllm, tally"
                                                      : "nccl, mscclpp, vllm, tally"};
  }
  if (scenario.nodes > 1 && !spans_nodes(scenario)) {
    return Error{"nodes", scenario.library + " " + scenario.algorithm + " is of one node",
                 scenario.library == "tally" ? "hierarchical" : "rccl, rcclx or nccl"};
  }
  const int gpus = machine->topology.nodes * machine->topology.gpus_per_node;
  if (scenario.ranks < 1 || scenario.ranks > gpus) {
    return Error{"ranks",
                 std::to_string(scenario.ranks) + " ranks on " + std::to_string(gpus) +
                     " GPUs of " + scenario.machine,
                 "1.." + std::to_string(gpus) + ", or more nodes"};
  }
  Predictor predictor;
  predictor.scenario_ = scenario;
  predictor.arch_ = machine->gpu.arch;
  predictor.ports_ = ports_of(machine->topology);
  predictor.paths_ = paths_of(scenario, *machine, parameters);
  if (has_no_kernel(scenario.algorithm)) {
    if (const auto error = cannot_be_built(scenario)) return *error;
    predictor.terms_ = terms_of(scenario, *machine, 0);
    return predictor;
  }
  if (choices(scenario, predictor.arch_, predictor.ports_, 0).empty()) {
    return Error{"algorithm",
                 scenario.library + " has no " + scenario.algorithm + " for " +
                     std::string(model::name(scenario.collective)),
                 "auto, or another collective"};
  }
  return predictor;
}

const Path& Predictor::choose(std::int64_t bytes) const {
  const Path* best = nullptr;
  for (const std::string_view name : choices(scenario_, arch_, ports_, bytes)) {
    const auto path =
        std::find_if(paths_.begin(), paths_.end(), [&](const Path& p) { return p.name == name; });
    TALLY_CHECK(path != paths_.end(), "a choice is a path of the library");
    if (best == nullptr || path->micros(double(bytes)) < best->micros(double(bytes))) {
      best = &*path;
    }
  }
  TALLY_CHECK(best != nullptr, "every size has a path");
  return *best;
}

Picos Predictor::form_time(std::int64_t bytes) const {
  const Terms terms = with_bytes(*terms_, scenario_, bytes);
  return scenario_.algorithm == "hierarchical" ? hierarchical_time(terms)
                                               : halving_doubling_time(terms);
}

double Predictor::micros(std::int64_t bytes) const {
  if (terms_) return form_time(bytes).micros();
  return choose(bytes).micros(static_cast<double>(bytes));
}

Prediction Predictor::operator()(std::int64_t bytes) const {
  TALLY_CHECK(bytes >= 0, "a size");
  if (terms_) {
    const Picos time = form_time(bytes), alone = form_time(0);
    return {time, scenario_.algorithm, 2 * alone > time ? "hops" : "link"};
  }
  const Path& path = choose(bytes);
  const auto n = static_cast<double>(bytes);
  return {from_nanos(path.micros(n) * 1e3), std::string(path.name), std::string(path.bound_by(n))};
}

Result<Prediction> predict(const Scenario& scenario, std::int64_t bytes) {
  const auto predictor = Predictor::of(scenario);
  if (!predictor) return predictor.error();
  return (*predictor)(bytes);
}

}  // namespace tally::sim
