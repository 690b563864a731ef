#include "cli/sim_scenarios.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/option_values.h"
#include "model/suggestion.h"

namespace tally::cli {
namespace {

using model::Error;
using model::Result;
using sim::Scenario;

constexpr int kMaxRanks = 1 << 16;
constexpr int kRanksOfNode = 8;
constexpr std::size_t kMaxScenarios = 10'000;

/// The lists that are multiplied out.
struct Lists {
  std::vector<model::Collective> collectives;
  std::vector<std::string> machines, libraries, algorithms;
  std::vector<int> nodes, ranks;
  std::vector<model::ElementType> dtypes;
  std::vector<model::WireSize> wires;
  std::vector<sim::Launch> launches;
};

Result<std::string> name_in(const char* what, const std::string& name,
                            const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  return Error{what, "unknown name '" + name + "'", model::suggestion(name, known)};
}

std::vector<std::string> algorithms_of_any(const std::vector<std::string>& libraries) {
  std::vector<std::string> all;
  for (const std::string& library : libraries) {
    for (std::string& algorithm : sim::algorithms_of(library)) {
      if (std::find(all.begin(), all.end(), algorithm) == all.end()) all.push_back(algorithm);
    }
  }
  return all;
}

std::optional<Error> read_lists(const TypedScenarios& typed, Lists& lists) {
  const auto integer = [](const char* flag) {
    return [flag](const std::string& text) {
      const auto value = number(flag, text, 1, kMaxRanks);
      return value ? Result<int>(static_cast<int>(*value)) : Result<int>(value.error());
    };
  };
  const auto any_name = [](const std::string& text) -> Result<std::string> {
    if (text.empty()) return Error{"--machine", "an empty name", "a preset or a file"};
    return text;
  };
  const auto library = [](const std::string& text) {
    return name_in("--library", text, sim::libraries());
  };
  const auto collective = [](const std::string& text) -> Result<model::Collective> {
    const auto found = model::parse_collective(text);
    if (!found || *found != model::Collective::all_to_all_v) return found;
    return Error{"--collective", "of all_to_all_v no time is predicted: counts decide it",
                 "--collective all_to_all"};
  };
  std::vector<model::WireSize> all_wires;
  for (const model::Wire& wire : model::all_wires()) all_wires.push_back(model::size_of(wire));
  using model::Collective;
  const std::vector<Collective> all_collectives = {Collective::all_reduce,
                                                   Collective::reduce_scatter,
                                                   Collective::all_gather, Collective::all_to_all};
  std::optional<Error> error;
  const auto first = [&](std::optional<Error> found) {
    if (!error) error = std::move(found);
  };
  lists.libraries = {"tally"};
  first(read_list_or_all(typed.collective, all_collectives, collective, lists.collectives));
  first(read_list(typed.machine, any_name, lists.machines));
  first(read_list(typed.nodes, integer("--nodes"), lists.nodes));
  first(read_list(typed.ranks, integer("--ranks"), lists.ranks));
  first(read_list(typed.dtype, verify::parse_element, lists.dtypes));
  first(read_list_or_all(typed.library, sim::libraries(), library, lists.libraries));
  first(read_list_or_all(typed.wire, all_wires, model::parse_wire_size, lists.wires));
  first(read_list(typed.launch, sim::parse_launch, lists.launches));
  if (error) return error;
  const std::vector<std::string> known = algorithms_of_any(lists.libraries);
  const auto algorithm = [&](const std::string& text) {
    return name_in("--algorithm", text, known);
  };
  lists.algorithms = known;
  if (typed.algorithm.empty() || typed.algorithm == "all") return std::nullopt;
  return read_list(typed.algorithm, algorithm, lists.algorithms);
}

/// One task's choices, appended to `scenarios`.
void add_choices(const Lists& lists, Scenario scenario, std::vector<Scenario>& scenarios) {
  for (const std::string& library : lists.libraries) {
    const auto known = sim::algorithms_of(library);
    for (const std::string& algorithm : lists.algorithms) {
      if (std::find(known.begin(), known.end(), algorithm) == known.end()) continue;
      for (const model::WireSize& wire : lists.wires) {
        for (const sim::Launch launch : lists.launches) {
          scenario.library = library;
          scenario.algorithm = algorithm;
          scenario.wire = wire;
          scenario.launch = launch;
          if (scenarios.size() < kMaxScenarios) scenarios.push_back(scenario);
        }
      }
    }
  }
}

Result<std::vector<Scenario>> multiply(const Lists& lists, Scenario scenario) {
  std::vector<Scenario> scenarios;
  for (const model::Collective collective : lists.collectives) {
    for (const std::string& machine : lists.machines) {
      for (const int nodes : lists.nodes) {
        const std::vector<int> usual = {nodes * kRanksOfNode};
        for (const int ranks : lists.ranks.empty() ? usual : lists.ranks) {
          if (ranks % nodes != 0) {
            return Error{"--ranks",
                         std::to_string(ranks) + " ranks are not alike on " +
                             std::to_string(nodes) + " nodes",
                         "a multiple of --nodes"};
          }
          for (const model::ElementType dtype : lists.dtypes) {
            scenario.collective = collective;
            scenario.machine = machine;
            scenario.nodes = nodes;
            scenario.ranks = ranks;
            scenario.dtype = dtype;
            add_choices(lists, scenario, scenarios);
          }
        }
      }
    }
  }
  if (scenarios.size() == kMaxScenarios) {
    return Error{"command line", "the lists make too many choices",
                 "fewer than " + std::to_string(kMaxScenarios)};
  }
  return scenarios;
}

}  // namespace

void declare_scenarios(CLI::App& app, TypedScenarios& typed) {
  app.add_option("--collective", typed.collective,
                 "list: all_reduce, reduce_scatter, all_gather, all_to_all; or all");
  app.add_option("--machine", typed.machine, "list of presets or files (mi300x)");
  app.add_option("--nodes", typed.nodes, "list (1)");
  app.add_option("--ranks", typed.ranks, "list; default: 8 on each node");
  app.add_option("-d,--dtype", typed.dtype, "list: f32, bf16, f16 (f32)");
  app.add_option("--library", typed.library, "list, or all (tally)");
  app.add_option("--version", typed.version, "of the library, as manifests spell it");
  app.add_option("--algorithm", typed.algorithm,
                 "list of what the library has, or all; default: auto, what the library would "
                 "choose; of --sweep and --tune all");
  app.add_option("--wire", typed.wire,
                 "list of wires as of `tally verify`, also int4, int6, int8, mxfp4, nvfp4 (none)");
  app.add_option("--launch", typed.launch,
                 "list: single_process, process_per_gpu, graph (process_per_gpu)");
  app.add_flag("--in-place", typed.in_place, "input and output share memory");
}

Result<std::vector<Scenario>> read_scenarios(const TypedScenarios& typed) {
  Lists lists;
  if (auto error = read_lists(typed, lists)) return *error;
  Scenario scenario;
  scenario.version = typed.version;
  scenario.in_place = typed.in_place;
  return multiply(lists, scenario);
}

}  // namespace tally::cli
