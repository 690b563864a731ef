#include "cli/verify_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/option_values.h"
#include "kernels/emulator/kernel_table.h"
#include "model/suggestion.h"
#include "verify/names.h"
#include "verify/subject.h"

namespace tally::cli {
namespace {

using model::Error;
using model::Result;
using verify::parse_integer;
using verify::Plan;

/// What was typed, before it is understood.
struct Typed {
  std::string collective, algorithm, ranks, dtype, op, wire, accumulate, count, input, placement;
  std::string premultiplier, smallest, largest, factor, calls, geometry, seed, interleavings;
  std::string memory, shard, plant, replay, devices;
  bool graph = false, time = false;
};

void declare(CLI::App& app, Typed& typed, VerifyOptions& options) {
  app.add_option("--collective", typed.collective, "list, or all");
  app.add_option("--algorithm", typed.algorithm, "list: ring, flat, flat_ll, tree; or all");
  app.add_option("--ranks", typed.ranks, "list of 1..16");
  app.add_option("-d,--dtype", typed.dtype,
                 "list: f32, bf16, f16; where nothing is computed also int8, int32, int64, f64");
  app.add_option("-o,--op", typed.op,
                 "list: sum, prod, min, max, avg, premul_sum, avg_premul (wires: sum and avg); "
                 "default: all");
  app.add_option("--factor", typed.premultiplier, "what premul_sum multiplies by (0.3)");
  app.add_option("--wire", typed.wire,
                 "list: none; e4m3fn, e5m2, e4m3fnuz, e5m2fnuz, each with or without :sat; "
                 "ELEMENT:bLENGTH:SCALE"
                 "[:RULE], as in e4m3fn:b128:f32 or e4m3fn:b32:e8m0:floor; or all");
  app.add_option("--accumulate", typed.accumulate,
                 "element or f32; default: element, f32 with a wire");
  app.add_option("-b", typed.smallest, "smallest size in bytes (K, M, G: binary)");
  app.add_option("-e", typed.largest, "largest size in bytes");
  app.add_option("-f", typed.factor, "factor between sizes");
  app.add_option("--count", typed.count, "list of element counts, instead of sizes");
  app.add_option("--input", typed.input,
                 "list of what `tally list` names, or FILE.npy [ranks, elements]");
  app.add_option("--placement", typed.placement, "list: out_of_place, in_place, misaligned");
  app.add_option("--calls", typed.calls, "calls in a row in a case, of different sizes (3)");
  app.add_flag("--graph", typed.graph,
               "capture one call and replay it with other inputs, instead of calls in a row");
  app.add_option("--geometry", typed.geometry,
                 "BLOCKSxTHREADS, with wWAVE for a wave's size and rROUNDS for the rounds of flat "
                 "algorithms, as in 2x64w64r4 (2x64)");
  app.add_option("--subject", options.subject, "emulator, gpu, nccl[=LIBRARY], mpi");
  app.add_option("--devices", typed.devices, "list of GPUs that play the ranks, beginning with 0");
  app.add_flag("--time", typed.time,
               "measure time on all GPUs, one rank on each, beside a library with NCCL's interface "
               "where there is one, instead of running cases; -b 1K -e 256M -f 4, bf16");
  app.add_flag("--conversions", options.conversions,
               "compare the GPUs' conversions with the kernels' software, for every input, "
               "instead of running cases");
  app.add_option("--seed", typed.seed, "one seed for all that is random (1)");
  app.add_option("--interleavings", typed.interleavings,
                 "orders of the threads that are tried for each case (1); with more than one, "
                 "accesses that nothing orders are failures, whatever values they gave");
  app.add_option("--memory", typed.memory,
                 "strong (the default), or gfx942: the caches of MI300X, and races are failures");
  app.add_option("--shard", typed.shard, "I/N: the I-th of N parts of the cases");
  app.add_option("--plant", typed.plant,
                 "a fault to plant in the kernels; `tally list` names them");
  app.add_option("--replay", typed.replay, "one case, as a failure printed it");
  app.add_option("--json", options.json, "JSON lines to a file, - for standard output");
  app.add_option("--csv", options.csv, "CSV to a file, - for standard output");
  app.add_option("--junit", options.junit, "JUnit XML to a file, - for standard output");
}

/// An error where something was typed that `flag` would ignore.
std::optional<Error> takes_only(const CLI::App& app, const std::string& flag, const char* what,
                                const std::vector<std::string>& names, const char* hint) {
  if (app.count(flag) == 0) return std::nullopt;
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    const bool goes_along = std::find(names.begin(), names.end(), name) != names.end();
    if (option->count() == 0 || goes_along || "--" + name == flag) continue;
    return Error{flag, std::string(what) + ", and takes no --" + name, hint};
  }
  return std::nullopt;
}

/// A replay is the whole case. An empty one, or an empty fault, is a shell variable that was not
/// set.
std::optional<Error> check_replay(const CLI::App& app) {
  for (const char* flag : {"--replay", "--plant"}) {
    const CLI::Option* option = app.get_option(flag);
    if (option->count() > 0 && option->as<std::string>().empty()) {
      return Error{flag, "is empty", "leave it out, or give it a value"};
    }
  }
  return takes_only(app, "--replay", "is a whole case",
                    {"subject", "devices", "json", "csv", "junit"}, "change it in the case's text");
}

/// What is timed is sums, as fast as they come.
std::optional<Error> check_time(const CLI::App& app) {
  return takes_only(
      app, "--time", "times sums with every algorithm and launch",
      {"subject", "devices", "collective", "dtype", "wire", "b", "e", "f", "count", "json", "csv"},
      "leave it out");
}

std::optional<Error> read_sizes(const Typed& typed, Plan& plan) {
  if (typed.smallest.empty() && typed.largest.empty() && typed.factor.empty()) return std::nullopt;
  constexpr std::int64_t kMaxBytes = verify::kMaxCount * 2;
  const auto or_default = [](const std::string& text, const char* value) {
    return text.empty() ? std::string(value) : text;
  };
  const auto smallest = number("-b", or_default(typed.smallest, "8"), 0, kMaxBytes, true);
  const auto largest = number("-e", or_default(typed.largest, "1M"), 0, kMaxBytes, true);
  const auto factor = number("-f", or_default(typed.factor, "2"), 2, 1024);
  if (!smallest) return smallest.error();
  if (!largest) return largest.error();
  if (!factor) return factor.error();
  if (*smallest > *largest) return Error{"-b", "is larger than -e", "swap the two"};
  for (std::int64_t size = *smallest; size <= *largest; size *= *factor) {
    plan.sizes.push_back(size);
    if (size == 0) size = 1;
  }
  return std::nullopt;
}

std::optional<Error> read_factor(const Typed& typed, Plan& plan) {
  plan.factor = 0.3f;
  if (typed.premultiplier.empty()) return std::nullopt;
  const auto factor = verify::parse_factor(typed.premultiplier);
  if (!factor) {
    return Error{"--factor", "'" + typed.premultiplier + "' is not a finite number", "as in 0.25"};
  }
  if (typed.op.find("premul_sum") == std::string::npos) {
    return Error{"--factor", "is premul_sum's alone", "--op premul_sum"};
  }
  plan.factor = *factor;
  return std::nullopt;
}

std::optional<Error> read_geometry(const std::string& typed, verify::LaunchShape& launch) {
  if (typed.empty()) return std::nullopt;
  const Error error{
      "--geometry", "'" + typed + "' is not BLOCKSxTHREADS[wWAVE][rROUNDS]",
      "as in 2x64w64r4: up to 304 blocks, 1024 threads, waves of 32 or 64, 256 rounds"};
  const auto parsed = verify::parse_launch(typed);
  if (!parsed) return error;
  launch = *parsed;
  return std::nullopt;
}

std::optional<Error> read_shard(const std::string& typed, Plan& plan) {
  if (typed.empty()) return std::nullopt;
  const auto pieces = verify::split(typed, '/');
  const auto part = parse_integer<int>(pieces.front()), parts = parse_integer<int>(pieces.back());
  if (pieces.size() != 2 || !part || !parts || *parts < 1 || *part < 1 || *part > *parts) {
    return Error{"--shard", "'" + typed + "' is not I/N", "1/4 is the first of four parts"};
  }
  plan.shard = *part - 1;
  plan.shards = *parts;
  return std::nullopt;
}

std::optional<Error> read_fault(const std::string& typed, Plan& plan) {
  std::vector<std::string> known;
  for (const auto& fault : kernels::emulator::planted_faults()) known.emplace_back(fault.name);
  if (!typed.empty() && std::find(known.begin(), known.end(), typed) == known.end()) {
    return Error{"--plant", "unknown fault '" + typed + "'", model::suggestion(typed, known)};
  }
  plan.fault = typed;
  return std::nullopt;
}

Result<int> device(const std::string& text) {
  const auto value = number("--devices", text, 0, 1023);
  return value ? Result<int>(static_cast<int>(*value)) : Result<int>(value.error());
}

std::optional<Error> read_memory(const std::string& typed, Plan& plan) {
  if (typed.empty()) return std::nullopt;
  const auto memory = verify::parse_memory(typed);
  if (!memory) return memory.error();
  plan.memory = *memory;
  return std::nullopt;
}

std::optional<Error> read_inputs(const Typed& typed, Plan& plan) {
  if (!typed.input.empty()) return read_list(typed.input, reference::open_input, plan.inputs);
  const auto tensors = reference::bundled_tensors();
  if (!tensors) return tensors.error();
  // With sizes asked for, only inputs that have any size.
  if (plan.with_tensors && plan.counts.empty() && plan.sizes.empty()) {
    plan.inputs.insert(plan.inputs.end(), tensors->begin(), tensors->end());
  }
  return std::nullopt;
}

std::vector<model::Collective> all_collectives() {
  std::vector<model::Collective> all;
  for (const auto& builder : model::builders()) {
    if (std::find(all.begin(), all.end(), builder.collective) == all.end()) {
      all.push_back(builder.collective);
    }
  }
  return all;
}

std::vector<std::string> all_algorithms() {
  std::vector<std::string> all;
  for (const auto& builder : model::builders()) {
    if (std::find(all.begin(), all.end(), builder.algorithm) == all.end()) {
      all.emplace_back(builder.algorithm);
    }
  }
  return all;
}

std::optional<Error> read_plan(const Typed& typed, Plan& plan) {
  const auto rank = [](const std::string& text) {
    const auto value = number("--ranks", text, 1, verify::kMaxRanks);
    return value ? Result<int>(static_cast<int>(*value)) : Result<int>(value.error());
  };
  const auto count = [](const std::string& text) {
    return number("--count", text, 0, verify::kMaxCount, true);
  };
  int seed = 1;
  std::vector<model::Accumulate> accumulate;
  std::optional<Error> error;
  const auto first = [&](std::optional<Error> found) {
    if (!error) error = std::move(found);
  };
  first(read_list_or_all(typed.collective, all_collectives(), model::parse_collective,
                         plan.collectives));
  first(read_list_or_all(typed.algorithm, all_algorithms(), verify::parse_algorithm,
                         plan.algorithms));
  first(read_list(typed.ranks, rank, plan.ranks));
  first(read_list(typed.dtype, verify::parse_element, plan.dtypes));
  first(read_list(typed.op, verify::parse_op, plan.ops));
  first(read_list_or_all(typed.wire, model::all_wires(), model::parse_wire, plan.wires));
  first(read_list(typed.accumulate, verify::parse_accumulate, accumulate));
  first(read_list(typed.count, count, plan.counts));
  first(read_list(typed.placement, verify::parse_placement, plan.placements));
  first(read_sizes(typed, plan));
  first(read_factor(typed, plan));
  first(read_number("--calls", typed.calls, 1, verify::kMaxCalls, plan.calls));
  first(read_geometry(typed.geometry, plan.launch));
  plan.graph = plan.graph || typed.graph;
  first(read_number("--seed", typed.seed, 0, 2'147'483'647, seed));
  first(read_number("--interleavings", typed.interleavings, 1, verify::kMaxInterleavings,
                    plan.interleavings));
  first(read_memory(typed.memory, plan));
  first(read_shard(typed.shard, plan));
  first(read_fault(typed.plant, plan));
  plan.leaves_out_missing = typed.wire.empty() || typed.wire == "all" || typed.algorithm.empty() ||
                            typed.algorithm == "all" || typed.collective == "all";
  if (!error) first(read_inputs(typed, plan));
  plan.seed = seed;
  if (accumulate.size() > 1) first(Error{"--accumulate", "takes one name", "element or f32"});
  if (!accumulate.empty()) plan.accumulate = accumulate.front();
  return error;
}

/// What --time times where nothing else is typed.
Plan default_timing() {
  Plan plan;
  plan.collectives = {model::Collective::all_reduce};
  plan.dtypes = {model::Format::bf16};
  plan.wires = {model::kNoWire, model::cast_wire(model::Format::e4m3fn, model::kSaturate)};
  plan.ops = {model::Op::sum};
  return plan;
}

/// Leaves out, of lists that were not chosen, or else says, what cannot be timed.
std::optional<Error> check_timed(const Typed& typed, Plan& plan) {
  using model::Collective;
  if (typed.collective == "all") std::erase(plan.collectives, Collective::all_to_all_v);
  for (const Collective collective : plan.collectives) {
    if (collective == Collective::all_to_all_v) {
      return Error{"--time", "does not time all_to_all_v, whose counts the host does not know",
                   "--collective all_to_all"};
    }
    for (const model::ElementType dtype : plan.dtypes) {
      for (const model::Wire& wire : plan.wires) {
        const auto arithmetic = model::arithmetic_of_sums(dtype, wire);
        if (auto error = model::disallowed(collective, "flat", arithmetic)) return error;
      }
    }
  }
  return std::nullopt;
}

bool is_library(std::string_view subject) {
  return subject == "nccl" || subject.starts_with("nccl=");
}

/// What a library is asked where the lists were not typed: it chooses the algorithm, has no wire
/// and no all_to_all_v, and takes one rank for each GPU.
void leave_to_library(const Typed& typed, const VerifyOptions& options, Plan& plan) {
  if (typed.algorithm.empty()) plan.algorithms = {std::string(verify::kLibrarysChoice)};
  if (typed.wire.empty()) plan.wires = {model::kNoWire};
  if (typed.collective.empty() || typed.collective == "all") {
    std::erase(plan.collectives, model::Collective::all_to_all_v);
  }
  if (!typed.ranks.empty()) return;
  const auto* gpu = kernels::hardware::linked_gpu_runtime();
  std::size_t gpus = options.devices.size();
  if (gpus == 0 && gpu != nullptr) gpus = gpu->devices().size();
  const int most = std::clamp(static_cast<int>(gpus), 1, verify::kMaxRanks);
  std::erase_if(plan.ranks, [&](int ranks) { return ranks > most; });
  if (plan.ranks.empty() || plan.ranks.back() < most) plan.ranks.push_back(most);
}

}  // namespace

Result<VerifyOptions> parse_verify(const Arguments& arguments) {
  CLI::App app("Runs cases on a subject and judges every bit against the reference.",
               "tally verify");
  Typed typed;
  VerifyOptions options;
  declare(app, typed, options);
  if (auto error = parse_arguments(app, arguments, options.help)) return *error;
  if (options.help) return options;
  if (auto error = check_outputs({options.json, options.csv, options.junit})) return *error;
  if (auto error = check_replay(app)) return *error;
  if (auto error = check_time(app)) return *error;
  if (auto error = read_list(typed.devices, device, options.devices)) return *error;
  if (!typed.replay.empty()) {
    const auto c = verify::parse_case(typed.replay);
    if (!c) return c.error();
    options.cases = {*c};
    return options;
  }
  if (typed.time) {
    options.timed = default_timing();
    if (auto error = read_plan(typed, *options.timed)) return *error;
    if (auto error = check_timed(typed, *options.timed)) return *error;
    if (options.subject != "gpu" && !is_library(options.subject)) {
      return Error{"--time", "is measured on GPUs", "--subject gpu, or nccl=LIBRARY"};
    }
    return options;
  }
  std::vector<Plan> plans = verify::default_plans();
  const bool is_chosen = !typed.op.empty() || !typed.wire.empty() || !typed.input.empty();
  if (is_chosen) plans.resize(2);  // the sums, whose lists are then replaced
  if (!typed.input.empty()) plans.resize(1);
  for (Plan& plan : plans) {
    if (auto error = read_plan(typed, plan)) return *error;
    if (is_library(options.subject)) leave_to_library(typed, options, plan);
  }
  auto cases = verify::cases(plans);
  if (!cases) return cases.error();
  options.cases = std::move(*cases);
  return options;
}

}  // namespace tally::cli
