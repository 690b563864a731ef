#include "verify/case.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "kernels/emulator/kernel_table.h"
#include "model/suggestion.h"
#include "verify/names.h"
#include "verify/send_counts.h"

namespace tally::verify {
namespace {

using model::Error;

constexpr std::pair<Placement, std::string_view> kPlacements[] = {
    {Placement::out_of_place, "out_of_place"},
    {Placement::in_place, "in_place"},
    {Placement::misaligned, "misaligned"},
};

constexpr std::size_t kFields = 15;  // and a schedule, where there is one
constexpr std::string_view kSchedule = "schedule=", kUsual = "usual";
constexpr std::string_view kGraph = ":graph";

Error bad_field(const std::string& field, const char* expected) {
  return {"--replay", "'" + field + "' is not " + expected,
          "paste the whole line that the failure printed after 'replay:'"};
}

/// What follows `key` in `field`, where it begins with it.
std::optional<std::string_view> value_of(std::string_view key, const std::string& field) {
  if (!field.starts_with(key)) return std::nullopt;
  return std::string_view(field).substr(key.size());
}

template <class Integer>
bool parse_number(std::string_view key, const std::string& field, Integer low, Integer high,
                  Integer& value) {
  const auto text = value_of(key, field);
  const auto parsed = text ? parse_integer<Integer>(*text) : std::nullopt;
  if (!parsed || *parsed < low || *parsed > high) return false;
  value = *parsed;
  return true;
}

bool parse_counts(const std::string& field, std::vector<std::int64_t>& counts) {
  const auto text = value_of("counts=", field);
  if (!text) return false;
  for (const std::string& piece : split(*text, ',')) {
    const auto count = parse_integer<std::int64_t>(piece);
    if (!count || *count < 0 || *count > kMaxCount || counts.size() == kMaxCalls) return false;
    counts.push_back(*count);
  }
  return true;
}

/// An operation, with the factor of a premul_sum: premul_sum:0.25.
std::string op_text(const model::Arithmetic& arithmetic) {
  const std::string text(model::name(arithmetic.op));
  if (arithmetic.op != model::Op::premul_sum) return text;
  return fmt::format("{}:{}", text, arithmetic.factor);
}

model::Result<std::pair<model::Op, float>> parse_op_text(const std::string& field) {
  const std::size_t colon = field.find(':');
  const auto op = parse_op(field.substr(0, colon));
  if (!op) return op.error();
  if (colon == std::string::npos) return std::pair(*op, 1.0f);
  const auto factor = parse_factor(std::string_view(field).substr(colon + 1));
  if (!factor || *op != model::Op::premul_sum) return bad_field(field, "premul_sum:FACTOR");
  return std::pair(*op, *factor);
}

/// Nothing where the field is no schedule.
std::optional<std::vector<Deviation>> parse_script(const std::string& field) {
  const auto text = value_of(kSchedule, field);
  if (!text) return std::nullopt;
  if (*text == kUsual) return std::vector<Deviation>{};
  auto script = kernels::emulator::parse_deviations(*text);
  if (!script || script->empty()) return std::nullopt;
  return script;
}

/// The fields behind the counts: how the calls are run.
std::optional<Error> parse_how(const std::vector<std::string>& fields, Case& c) {
  const auto placement = parse_placement(fields[8]);
  if (!placement) return placement.error();
  c.placement = *placement;
  std::string_view launch_text = value_of("launch=", fields[9]).value_or("");
  c.graph = launch_text.ends_with(kGraph);
  if (c.graph) launch_text.remove_suffix(kGraph.size());
  const auto launch = parse_launch(launch_text);
  if (!launch) return bad_field(fields[9], "launch=BLOCKSxTHREADSwWAVE, with or without :graph");
  c.launch = *launch;
  if (!parse_number<std::uint64_t>("seed=", fields[10], 0, ~std::uint64_t{0}, c.seed)) {
    return bad_field(fields[10], "seed=N");
  }
  if (!parse_number("interleavings=", fields[11], 1, kMaxInterleavings, c.interleavings)) {
    return bad_field(fields[11], "interleavings=N");
  }
  const auto memory_name = value_of("memory=", fields[12]);
  if (!memory_name) return bad_field(fields[12], "memory=NAME");
  const auto memory = parse_memory(*memory_name);
  if (!memory) return memory.error();
  c.memory = *memory;
  const auto fault = value_of("fault=", fields[13]);
  if (!fault) return bad_field(fields[13], "fault=NAME");
  if (*fault == "none") return std::nullopt;
  c.fault = *fault;
  std::vector<std::string> known;
  for (const auto& one : kernels::emulator::planted_faults()) known.emplace_back(one.name);
  if (std::find(known.begin(), known.end(), c.fault) != known.end()) return std::nullopt;
  return Error{"--replay", "unknown fault '" + c.fault + "'", model::suggestion(c.fault, known)};
}

}  // namespace

std::string_view name(Placement placement) {
  return kPlacements[static_cast<std::size_t>(placement)].second;
}

std::vector<Placement> all_placements() {
  return {Placement::out_of_place, Placement::in_place, Placement::misaligned};
}

model::Result<Placement> parse_placement(std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [value, placement_name] : kPlacements) {
    if (placement_name == text) return value;
    names.emplace_back(placement_name);
  }
  return Error{"--placement", "unknown name '" + std::string(text) + "'",
               model::suggestion(text, names)};
}

std::string LaunchShape::text() const {
  return std::to_string(blocks) + "x" + std::to_string(threads) + "w" + std::to_string(wave) +
         (rounds > 1 ? "r" + std::to_string(rounds) : "");
}

std::optional<LaunchShape> parse_launch(std::string_view text) {
  const std::size_t r = text.find('r');
  const auto rounds = r == text.npos ? 1 : parse_integer<int>(text.substr(r + 1));
  if (!rounds || *rounds < 1 || *rounds > kMaxRounds) return std::nullopt;
  text = text.substr(0, r);
  const std::size_t x = text.find('x'), w = text.find('w');
  if (x == std::string_view::npos) return std::nullopt;
  const auto blocks = parse_integer<int>(text.substr(0, x));
  const auto threads =
      parse_integer<int>(text.substr(x + 1, w == std::string_view::npos ? w : w - x - 1));
  const auto wave = w == std::string_view::npos ? 64 : parse_integer<int>(text.substr(w + 1));
  if (!blocks || *blocks < 1 || *blocks > kMaxBlocks) return std::nullopt;
  if (!threads || *threads < 1 || *threads > kMaxThreads) return std::nullopt;
  if (!wave || (*wave != 32 && *wave != 64)) return std::nullopt;
  return LaunchShape{*blocks, *threads, *wave, *rounds};
}

std::string Case::text() const {
  std::string list;
  for (const std::int64_t count : counts) {
    list += (list.empty() ? "" : ",") + std::to_string(count);
  }
  std::string text(model::name(collective));
  for (const std::string& part : {
           algorithm,
           std::string(arithmetic.element.name()),
           arithmetic.wire.name(),
           op_text(arithmetic),
           std::string(model::name(arithmetic.accumulate)),
           "ranks=" + std::to_string(ranks),
           "counts=" + list,
           std::string(name(placement)),
           "launch=" + launch.text() + std::string(graph ? kGraph : ""),
           "seed=" + std::to_string(seed),
           "interleavings=" + std::to_string(interleavings),
           "memory=" + std::string(memory_name(memory)),
           "fault=" + (fault.empty() ? "none" : fault),
       }) {
    text += "/" + part;
  }
  if (script) {
    text += "/" + std::string(kSchedule);
    text += script->empty() ? kUsual : kernels::emulator::text(*script);
  }
  return text + "/input=" + input.name;
}

model::Schedule Case::schedule(int call) const {
  const model::Builder* builder = model::find_builder(collective, algorithm);
  TALLY_CHECK(builder != nullptr, "a case names a built-in algorithm");
  return builder->build({ranks, counts[call], launch.blocks, placement == Placement::in_place,
                         arithmetic, launch.rounds,
                         is_refused(*this, call) ? std::vector<std::int64_t>(ranks * ranks, 0)
                                                 : send_counts(*this, call)});
}

model::Result<Case> parse_case(const std::string& text) {
  std::vector<std::string> fields = split(text, '/');
  Case result;
  if (fields.size() >= kFields && fields[kFields - 1].starts_with(kSchedule)) {
    result.script = parse_script(fields[kFields - 1]);
    if (!result.script) return bad_field(fields[kFields - 1], "schedule=CHOICE:CHOSEN,...");
    fields.erase(fields.begin() + kFields - 1);
  }
  while (fields.size() > kFields) {  // the input comes last, and may be a path
    fields[kFields - 1] += "/" + fields[kFields];
    fields.erase(fields.begin() + kFields);
  }
  if (fields.size() != kFields) return bad_field(text, "a case");
  const auto collective = model::parse_collective(fields[0]);
  const auto algorithm = parse_algorithm(fields[1]);
  const auto dtype = parse_element(fields[2]);
  const auto wire = model::parse_wire(fields[3]);
  const auto op = parse_op_text(fields[4]);
  const auto accumulate = parse_accumulate(fields[5]);
  if (!collective) return collective.error();
  if (!algorithm) return algorithm.error();
  if (!dtype) return dtype.error();
  if (!wire) return wire.error();
  if (!op) return op.error();
  if (!accumulate) return accumulate.error();
  result.collective = *collective;
  result.algorithm = *algorithm;
  result.arithmetic = {*dtype, *wire, op->first, *accumulate, op->second};
  if (!parse_number("ranks=", fields[6], 1, kMaxRanks, result.ranks)) {
    return bad_field(fields[6], "ranks=1..16");
  }
  if (!parse_counts(fields[7], result.counts)) return bad_field(fields[7], "counts=N,N,...");
  if (auto error = parse_how(fields, result)) return *error;
  const auto input_name = value_of("input=", fields[14]);
  if (!input_name) return bad_field(fields[14], "input=NAME");
  const auto input = reference::open_input(std::string(*input_name));
  if (!input) return input.error();
  result.input = *input;
  if (auto error = validate(result)) return *error;
  return result;
}

bool finds_races(const Case& c) {
  return c.memory != MemoryKind::strong || c.interleavings > 1 || c.script;
}

std::optional<model::Error> missing(const Case& c) {
  const std::string collective(model::name(c.collective));
  if (c.algorithm != kLibrarysChoice && !model::find_builder(c.collective, c.algorithm)) {
    return Error{"--algorithm", c.algorithm + " is no algorithm of " + collective,
                 "`tally list` names those that there are"};
  }
  if (c.collective == model::Collective::all_to_all_v && c.placement == Placement::in_place) {
    return Error{"--placement", "in_place does not go with all_to_all_v",
                 "its blocks have other places in the output: out_of_place or misaligned"};
  }
  return model::disallowed(c.collective, c.algorithm, c.arithmetic);
}

std::optional<model::Error> validate(const Case& c) {
  if (c.script && c.interleavings != 1) {
    return Error{"--replay", "a case with a schedule has one interleaving", "interleavings=1"};
  }
  if (c.graph && std::set(c.counts.begin(), c.counts.end()).size() > 1) {
    return Error{"--graph", "a graph is replayed with the count that it was captured with",
                 "counts that are all equal"};
  }
  if (auto error = missing(c)) return error;
  for (std::size_t call = 0; call < c.counts.size(); ++call) {
    const std::int64_t elements = c.input_elements(static_cast<int>(call));
    if (auto error = reference::too_small(c.input, c.ranks, elements)) return error;
  }
  return std::nullopt;
}

}  // namespace tally::verify
