#include "cli/tuning_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/sim_rows.h"
#include "model/rcclx.h"
#include "model/schedule.h"

namespace tally::cli {
namespace {

namespace rcclx = model::rcclx;
using model::Collective;
using rcclx::Path;
using rcclx::Switch;
using study::TableRow;

bool has_name(const TableRow& row, std::string_view name) {
  const std::string& path = row.at_last.prediction.path;
  return path == name || path == "dda/" + std::string(name);
}

/// The path of RCCLX that runs what a row runs; what it has no other path for is RCCL's own.
Path path_of(const TableRow& row) {
  if (row.at_last.prediction.path == "low_precision") return Path::low_precision;
  if (has_name(row, "flat")) return Path::dda_flat;
  return has_name(row, "tree") ? Path::dda_tree : Path::ring;
}

struct Variables {
  Collective collective;
  Switch enable, low_precision, most_bytes;
};
constexpr Variables kVariables[] = {
    {Collective::all_reduce, Switch::dda_all_reduce, Switch::low_precision_all_reduce,
     Switch::tree_all_reduce_bytes},
    {Collective::reduce_scatter, Switch::dda_reduce_scatter, Switch::low_precision_reduce_scatter,
     Switch::reduce_scatter_bytes},
    {Collective::all_gather, Switch::dda_all_gather, Switch::low_precision_all_gather,
     Switch::all_gather_bytes},
    {Collective::all_to_all, Switch::dda_all_to_all, Switch::low_precision_all_to_all,
     Switch::all_to_all_bytes},
};

/// What was set, and what RCCLX decides by then.
struct Settings {
  rcclx::Switches switches;
  std::map<Switch, std::int64_t> set;
  void put(Switch which, std::int64_t value) {
    switches.set(which, value);
    set[which] = value;
  }
};

/// Each threshold is the largest size that a row with its path has.
void set_thresholds(std::span<const TableRow> rows, const Variables& names, Settings& settings) {
  std::int64_t flat = 0, dda = 0;
  bool is_here = false, is_low = false;
  for (const TableRow& row : rows) {
    if (row.scenario.collective != names.collective) continue;
    is_here = true;
    const Path path = path_of(row);
    is_low |= path == Path::low_precision;
    if (path == Path::dda_flat) flat = std::max(flat, row.last_bytes);
    if (path == Path::dda_flat || path == Path::dda_tree) dda = std::max(dda, row.last_bytes);
  }
  if (!is_here) return;
  settings.put(names.enable, dda > 0 ? 1 : 0);
  if (names.collective == Collective::all_reduce) {
    settings.put(Switch::flat_all_reduce_bytes, flat);
  }
  settings.put(names.most_bytes, dda);
  if (is_low) settings.put(names.low_precision, 1);
  if (dda > settings.switches[Switch::dda_staging_bytes]) {
    settings.put(Switch::dda_staging_bytes, dda);
  }
}

/// Whether RCCLX then runs a row's path for its smallest and largest message that DDA can take: of
/// whole words for every rank.
bool is_chosen(const TableRow& row, const rcclx::Switches& switches) {
  const sim::Scenario& s = row.scenario;
  const std::int64_t grain = model::kWordBytes * s.ranks;
  const std::int64_t first = model::ceil_divide(row.first_bytes, grain) * grain;
  const std::int64_t last = row.last_bytes / grain * grain;
  for (const std::int64_t bytes : {first, last}) {
    if (bytes < row.first_bytes || bytes > row.last_bytes) continue;
    rcclx::Call call{s.collective, bytes / sim::unit_bytes(s), s.dtype};
    call.ranks = s.ranks;
    call.nodes = s.nodes;
    const Path chosen = rcclx::choose(call, switches).path;
    const bool is_own = chosen == Path::ring || chosen == Path::direct;
    if (chosen != path_of(row) && !(is_own && path_of(row) == Path::ring)) return false;
  }
  return true;
}

std::string said(const TableRow& row, const char* why) {
  return fmt::format("# {}: {} from {} to {} bytes: {} ({})\n", why,
                     model::name(row.scenario.collective), row.first_bytes, row.last_bytes,
                     choice_text(row.scenario), row.at_last.prediction.path);
}

/// NCCL's words for a path such as "ring/ll"; nothing where it has none.
struct NcclPath {
  std::string algorithm, protocol;
};
std::optional<NcclPath> nccl_path(const TableRow& row) {
  if (row.scenario.library != "nccl" && row.scenario.library != "rccl") return std::nullopt;
  const std::string& path = row.at_last.prediction.path;
  const std::size_t slash = path.find('/');
  NcclPath found{path.substr(0, slash), slash == std::string::npos ? "" : path.substr(slash + 1)};
  if (found.protocol == "simple_large")
    found.protocol = "simple";  // the same protocol, priced apart
  if (found.protocol.empty() && found.algorithm.starts_with("nvls")) found.protocol = "simple";
  const auto is_one_of = [](const std::string& text, std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  if (!is_one_of(found.protocol, {"ll", "ll128", "simple"}) ||
      !is_one_of(found.algorithm,
                 {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"})) {
    return std::nullopt;
  }
  return found;
}

const char* nccl_name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "allreduce";
    case Collective::reduce_scatter:
      return "reducescatter";
    case Collective::all_gather:
      return "allgather";
    default:
      return "";  // the plugin is not asked about sends and receives
  }
}

}  // namespace

std::string rcclx_environment(std::span<const TableRow> rows) {
  if (rows.empty()) return "";
  Settings settings;
  settings.switches.flavour = rcclx::Flavour::meta_internal;  // DDA of every collective
  settings.put(Switch::dda_ranks, rows[0].scenario.ranks);
  for (const Variables& names : kVariables) set_thresholds(rows, names, settings);
  std::string text;
  for (const auto& [which, value] : settings.set) {
    text += fmt::format("{}={}\n", rcclx::variable(which).name, value);
  }
  for (const TableRow& row : rows) {
    if (!is_chosen(row, settings.switches)) text += said(row, "RCCLX will not choose");
  }
  return text;
}

std::string nccl_tuner_csv(std::span<const TableRow> rows) {
  std::string text =
      "# collective,minBytes,maxBytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,"
      "regBuff\n";
  for (const TableRow& row : rows) {
    const auto path = nccl_path(row);
    const std::string_view collective = nccl_name(row.scenario.collective);
    if (!path || collective.empty()) {
      text += said(row, "not an algorithm of NCCL's");
      continue;
    }
    text +=
        fmt::format("{},{},{},{},{},-1,{},{},-1,-1\n", collective, row.first_bytes, row.last_bytes,
                    path->algorithm, path->protocol, row.scenario.nodes, row.scenario.ranks);
  }
  return text;
}

}  // namespace tally::cli
