#include "model/machine_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "model/suggestion.h"

namespace tally::model {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kEvidences[] = {"measured", "quoted", "fitted", "assumed"};
constexpr std::string_view kFabrics[] = {"mesh", "switch", "pcie"};
constexpr std::string_view kRoots[] = {"cpu", "switch"};
constexpr double kMostValue = 1e18;  // of a rate a second, an amount, or a time in nanoseconds

constexpr GpuNumber kGpuNumbers[] = {
    {"memory_bytes_per_s", &GpuFacts::memory_bytes_per_s},
    {"memory_bytes", &GpuFacts::memory_bytes},
    {"f16_flops", &GpuFacts::f16_flops},
    {"f8_flops", &GpuFacts::f8_flops},
    {"launch_ns", &GpuFacts::launch_ns},
    {"graph_launch_ns", &GpuFacts::graph_launch_ns},
    {"copy_launch_ns", &GpuFacts::copy_launch_ns},
    {"signal_ns", &GpuFacts::signal_ns},
    {"codec_bytes_per_s", &GpuFacts::codec_bytes_per_s},
};

// The members of one object. The first thing that is wrong is kept, and every answer after it is
// empty, so that a reader asks for all and looks at the error once.
class Members {
 public:
  Members(const Json& json, std::string place, std::optional<Error>& error)
      : json_(json), place_(std::move(place)), error_(error) {
    if (!json.is_object()) wrong(place_, "not an object", "{\"name\": ...}");
  }

  Members object(const std::string& key) { return {member(key), place_ + "/" + key, error_}; }

  std::string text(const std::string& key) {
    const Json& value = member(key);
    if (value.is_string() && !value.get_ref<const std::string&>().empty()) return value;
    wrong(place_ + "/" + key, "not a text", "\"...\"");
    return {};
  }

  int integer(const std::string& key, int least, int most) {
    const Json& value = member(key);
    if (value.is_number_integer()) {
      const double number = value.get<double>();
      if (number >= least && number <= most) return static_cast<int>(number);
    }
    wrong(place_ + "/" + key, "not a whole number that is allowed here",
          std::to_string(least) + ".." + std::to_string(most));
    return least;
  }

  std::vector<int> integers(const std::string& key, int most) {
    std::vector<int> values;
    const Json& list = member(key);
    for (const Json& value : list) {
      const bool is_whole = value.is_number_integer();
      const double number = is_whole ? value.get<double>() : -1;
      if (!(number >= 0 && number < most)) values.clear();
      if (!(number >= 0 && number < most)) break;
      values.push_back(static_cast<int>(number));
    }
    if (!list.is_array() || values.empty()) {
      wrong(place_ + "/" + key, "not a list of small whole numbers", "[0, 1]");
    }
    return values;
  }

  /// The position of the text among the names.
  std::size_t choice(const std::string& key, std::span<const std::string_view> names) {
    const std::string name = text(key);
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
    wrong(place_ + "/" + key, "unknown name '" + name + "'",
          suggestion(name, {names.begin(), names.end()}));
    return 0;
  }

  /// A number with its source: a time may be 0, a rate and an amount may not.
  Sourced number(const std::string& key) {
    Members members = object(key);
    const bool may_be_zero = key.ends_with("_ns");
    const Json& value = members.member("value");
    const double number = value.is_number() ? value.get<double>() : std::nan("");
    if (!(number <= kMostValue && (number > 0 || (may_be_zero && number == 0)))) {
      wrong(place_ + "/" + key + "/value", "not a number that is allowed here",
            std::string(may_be_zero ? "at least 0" : "more than 0") + ", at most 1e18");
    }
    const auto evidence = static_cast<Evidence>(members.choice("evidence", kEvidences));
    std::string source = members.text("source");
    members.finish();
    return {number, evidence, std::move(source)};
  }

  void wrong(const std::string& place, std::string what, std::string hint) {
    if (!error_) error_ = Error{place, std::move(what), std::move(hint)};
  }
  void wrong_member(const std::string& key, std::string what, std::string hint) {
    wrong(place_ + "/" + key, std::move(what), std::move(hint));
  }

  /// Members that were not asked for are not known.
  void finish() {
    if (error_) return;
    for (const auto& [key, value] : json_.items()) {
      if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
      wrong(place_, "unknown member '" + key.substr(0, 64) + "'", suggestion(key, asked_));
    }
  }

 private:
  const Json& member(const std::string& key) {
    static const Json none;
    asked_.push_back(key);
    if (json_.is_object() && json_.contains(key)) return json_.at(key);
    wrong(place_, "no member '" + key + "'", "model/machines has examples");
    return none;
  }

  const Json& json_;
  std::string place_;
  std::optional<Error>& error_;
  std::vector<std::string> asked_;
};

GpuFacts read_gpu(Members members) {
  GpuFacts gpu;
  gpu.name = members.text("name");
  gpu.arch = members.text("arch");
  for (const GpuNumber& row : kGpuNumbers) gpu.*row.member = members.number(std::string(row.name));
  members.finish();
  return gpu;
}

void read_pcie(Members& members, Fabric& fabric) {
  fabric.switch_roots = members.integers("switch_roots", kMostGpusOfNode);
  fabric.roots_are_switches = members.choice("root_kind", kRoots) == 1;
  fabric.uplink_bytes_per_s = members.number("uplink_bytes_per_s");
  fabric.uplink_latency_ns = members.number("uplink_latency_ns");
  if (fabric.switch_roots.empty()) return;
  const auto most = std::max_element(fabric.switch_roots.begin(), fabric.switch_roots.end());
  if (*most > 0) {
    fabric.root_bytes_per_s = members.number("root_bytes_per_s");
    fabric.root_latency_ns = members.number("root_latency_ns");
  }
  if (static_cast<std::size_t>(*most) >= fabric.switch_roots.size()) {
    members.wrong_member("switch_roots", "roots without a switch", "number them 0, 1, ...");
  }
  if (fabric.gpus % static_cast<int>(fabric.switch_roots.size()) != 0) {
    members.wrong_member("switch_roots", "GPUs that cannot be shared out evenly",
                         "a divisor of gpus_per_node, which is " + std::to_string(fabric.gpus));
  }
}

Fabric read_fabric(Members members) {
  Fabric fabric;
  fabric.kind = static_cast<Fabric::Kind>(members.choice("kind", kFabrics));
  fabric.gpus = members.integer("gpus_per_node", 1, kMostGpusOfNode);
  fabric.link_peak_bytes_per_s = members.number("link_peak_bytes_per_s");
  fabric.link_bytes_per_s = members.number("link_bytes_per_s");
  fabric.link_latency_ns = members.number("link_latency_ns");
  if (fabric.link_bytes_per_s.value > fabric.link_peak_bytes_per_s.value) {
    members.wrong_member("link_bytes_per_s", "faster than the link's peak",
                         "at most link_peak_bytes_per_s");
  }
  if (fabric.kind == Fabric::Kind::pcie) read_pcie(members, fabric);
  members.finish();
  return fabric;
}

Network read_network(Members members, int gpus) {
  Network network;
  network.nics = members.integer("nics_per_node", 1, gpus);
  network.nic_bytes_per_s = members.number("nic_bytes_per_s");
  network.nic_latency_ns = members.number("nic_latency_ns");
  network.pci_bytes_per_s = members.number("pci_bytes_per_s");
  network.pci_latency_ns = members.number("pci_latency_ns");
  members.finish();
  return network;
}

}  // namespace

std::string_view name(Evidence evidence) { return kEvidences[static_cast<std::size_t>(evidence)]; }

std::span<const GpuNumber> gpu_numbers() { return kGpuNumbers; }

Result<MachineFile> parse_machine_file(const std::string& file, std::string_view text) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(error.byte, text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + end, '\n');
    return Error{file + ":" + std::to_string(line), "not JSON", "a comma, a quote or a brace"};
  } catch (const Json::exception&) {
    return Error{file, "a number that no double holds", "at most 1e18"};
  }
  std::optional<Error> error;
  MachineFile machine;
  Members members(json, file + ": ", error);
  machine.name = members.text("name");
  machine.gpu = read_gpu(members.object("gpu"));
  machine.fabric = read_fabric(members.object("fabric"));
  if (json.is_object() && json.contains("network")) {
    machine.network = read_network(members.object("network"), machine.fabric.gpus);
  }
  members.finish();
  if (!error) return machine;
  if (error->where == file + ": ") error->where = file;
  return *error;
}

}  // namespace tally::model
