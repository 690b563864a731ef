#include "model/topology_xml.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <pugixml.hpp>
#include <set>
#include <vector>

#include "model/suggestion.h"
#include "model/topology_parts.h"

namespace tally::model {
namespace {

constexpr int kMostCpus = 256, kMostDepth = 64, kMostLinks = 1024;
constexpr double kMostMegabits = 1e9;
constexpr double kUsualMegabits = 10'000;  // of a net that does not say; as NCCL has it

// What may be inside of what.
struct Nesting {
  std::string_view parent;
  std::vector<std::string> children;
};
const Nesting kNestings[] = {
    {"system", {"cpu"}},
    {"cpu", {"pci", "nic"}},
    {"pci", {"pci", "gpu", "nic", "pcilink"}},
    {"gpu", {"xgmi", "nvlink", "c2c"}},
    {"nic", {"net"}},
    {"net", {}},
    {"xgmi", {}},
    {"nvlink", {}},
    {"c2c", {}},
    {"pcilink", {}},
};

// Transfers a second and lane, and the share of its bits that are data: 8b/10b to PCIe 2, 128b/130b
// to PCIe 5, and 242 of the 256 bytes of a flit in PCIe 6.
struct PciSpeed {
  double gigatransfers, payload;
};
constexpr PciSpeed kPciSpeeds[] = {{2.5, 0.8},        {5, 0.8},          {8, 128.0 / 130},
                                   {16, 128.0 / 130}, {32, 128.0 / 130}, {64, 242.0 / 256}};
constexpr PciSpeed kUsualPciSpeed = kPciSpeeds[2];  // of a bridge that does not say; as NCCL has it

std::optional<double> parse_double(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// RCCL names architectures by gfx number (gfx942), older files by number alone (910 is MI200).
std::string arch_of(pugi::xml_node gpu) {
  const std::string gcn = gpu.attribute("gcn").as_string();
  if (gcn.empty() || gcn == "0") return "sm_" + std::string(gpu.attribute("sm").as_string("0"));
  if (gcn == "910") return "gfx90a";
  return gcn.starts_with("gfx") ? gcn : "gfx" + gcn;
}

class TopologyReader {
 public:
  TopologyReader(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  Result<Machine> read(pugi::xml_node system) {
    check_nesting(system, 0);
    if (!error_) number_gpus();
    if (!error_) {
      for (const pugi::xml_node cpu : system.children("cpu")) read_cpu(cpu);
      join_gpus();
      join_nics();
    }
    if (error_) return *error_;
    return Machine{file_, gpu_for(arch_, "the file names " + arch_ + " and no more", true),
                   std::move(topology_)};
  }

 private:
  struct Gpu {
    pugi::xml_node element;
    std::string address;
    int rank;
  };

  void wrong(pugi::xml_node at, std::string what, std::string hint) {
    if (error_) return;
    const auto offset = std::min(
        static_cast<std::size_t>(std::max<std::ptrdiff_t>(at.offset_debug(), 0)), text_.size());
    const auto line = 1 + std::count(text_.begin(), text_.begin() + offset, '\n');
    error_ = Error{file_ + ":" + std::to_string(line), std::move(what), std::move(hint)};
  }

  // Also finds the GPUs.
  void check_nesting(pugi::xml_node parent, int depth) {
    if (depth > kMostDepth) return wrong(parent, "elements nested too deeply", "at most 64");
    const auto* nesting = std::find_if(std::begin(kNestings), std::end(kNestings),
                                       [&](auto& row) { return row.parent == parent.name(); });
    for (const pugi::xml_node child : parent.children()) {
      if (child.type() != pugi::node_element) {
        return wrong(child, "text between elements", "only elements");
      }
      const std::string name = child.name();
      const auto& names = nesting->children;
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        return wrong(child, "'" + name.substr(0, 64) + "' in '" + parent.name() + "'",
                     names.empty() ? "nothing" : suggestion(name, names));
      }
      if (name == "gpu") found_gpu(child);
      check_nesting(child, depth + 1);
      if (error_) return;
    }
  }

  void found_gpu(pugi::xml_node gpu) {
    Gpu found{gpu, gpu.parent().attribute("busid").as_string(), -1};
    if (found.address.empty()) return wrong(gpu, "a GPU without an address", "busid on its pci");
    if (gpu.attribute("rank")) found.rank = integer(gpu, "rank", 0, kMostGpus, 0);
    gpus_.push_back(std::move(found));
    if (gpus_.size() > kMostGpusOfNode) wrong(gpu, "too many GPUs", "at most 1024");
  }

  void number_gpus() {
    if (gpus_.empty()) {
      error_ = Error{file_, "no GPU", "a file that NCCL_TOPO_DUMP_FILE wrote has <gpu> elements"};
      return;
    }
    const bool has_ranks = gpus_.front().rank >= 0;
    std::set<int> ranks;
    arch_ = arch_of(gpus_.front().element);
    for (const Gpu& gpu : gpus_) {
      if ((gpu.rank >= 0) != has_ranks) wrong(gpu.element, "only some have ranks", "all or none");
      if (has_ranks && !ranks.insert(gpu.rank).second) {
        wrong(gpu.element, "a second rank " + std::to_string(gpu.rank), "each rank once");
      }
      if (arch_of(gpu.element) != arch_) {
        wrong(gpu.element, "GPUs of two kinds, " + arch_ + " and " + arch_of(gpu.element),
              "one kind");
      }
    }
    if (has_ranks) {
      std::sort(gpus_.begin(), gpus_.end(),
                [](const Gpu& a, const Gpu& b) { return a.rank < b.rank; });
    }
    topology_.gpus_per_node = static_cast<int>(gpus_.size());
    for (int i = 0; i < topology_.gpus_per_node; ++i) {
      add_vertex(topology_, Vertex::Kind::gpu, "gpu" + std::to_string(i));
      if (!gpu_at_.emplace(gpus_[i].address, i).second) {
        wrong(gpus_[i].element, "a second GPU at " + gpus_[i].address, "each address once");
      }
    }
  }

  void read_cpu(pugi::xml_node cpu) {
    const std::string numa = cpu.attribute("numaid").as_string();
    if (!numas_.insert(numa).second) wrong(cpu, "a second CPU '" + numa + "'", "another numaid");
    if (cpus_.size() >= kMostCpus) return wrong(cpu, "too many CPUs", "at most 256");
    const int vertex = add_vertex(topology_, Vertex::Kind::cpu, "cpu" + numa.substr(0, 8));
    const LinkWorth worth =
        between_cpus(cpu.attribute("arch").as_string(), cpu.attribute("vendor").as_string(),
                     cpu.attribute("modelid").as_int());
    for (const int other : cpus_)
      join(topology_, other, vertex, worth.bytes_per_s, worth.latency_ns);
    cpus_.push_back(vertex);
    read_inside(cpu, vertex, pci_uplink_latency_ns());
  }

  void read_inside(pugi::xml_node parent, int vertex, double latency_ns) {
    for (const pugi::xml_node child : parent.children()) {
      const std::string_view name = child.name();
      if (name == "pci") read_pci(child, vertex, latency_ns);
      if (name == "nic") read_nic(child, vertex);
      if (error_) return;
    }
  }

  void read_pci(pugi::xml_node pci, int parent, double latency_ns) {
    const double rate = pci_rate(pci);
    const auto gpu = gpu_at_.find(pci.attribute("busid").as_string());
    const bool is_gpu = pci.child("gpu") && gpu != gpu_at_.end();
    const int vertex = is_gpu ? gpu->second : add_vertex(topology_, Vertex::Kind::pci, "pci");
    join(topology_, vertex, parent, rate, latency_ns);
    if (is_gpu) read_links(pci.child("gpu"), gpu->second);
    read_inside(pci, vertex, pci_latency_ns());
  }

  double pci_rate(pugi::xml_node pci) {
    const int width = integer(pci, "link_width", 0, 32, 0);
    const std::string speed = pci.attribute("link_speed").as_string();
    PciSpeed found = kUsualPciSpeed;
    if (!speed.empty() && !speed.starts_with("Unknown")) {
      const auto number = parse_double(speed.substr(0, speed.find(' ')));
      const auto* row =
          std::find_if(std::begin(kPciSpeeds), std::end(kPciSpeeds),
                       [&](const PciSpeed& known) { return number == known.gigatransfers; });
      if (row == std::end(kPciSpeeds) || speed.find("GT/s") == std::string::npos) {
        wrong(pci, "link_speed '" + speed.substr(0, 64) + "'", "2.5, 5, 8, 16, 32 or 64 GT/s");
        return 1;
      }
      found = *row;
    }
    return found.gigatransfers * 1e9 * found.payload * (width == 0 ? 16 : width) / 8;
  }

  void read_nic(pugi::xml_node nic, int host) {
    for (const pugi::xml_node net : nic.children("net")) {
      const std::string text = net.attribute("speed").as_string();
      const auto megabits = text.empty() ? kUsualMegabits : parse_double(text);
      if (!megabits || !(*megabits > 0 && *megabits <= kMostMegabits)) {
        return wrong(net, "speed '" + text.substr(0, 64) + "'", "megabits a second, above 0");
      }
      const int vertex =
          add_vertex(topology_, Vertex::Kind::nic, net.attribute("name").as_string("nic"));
      join(topology_, vertex, host, *megabits * 1e6 / 8, 0);
      nics_.push_back({vertex, *megabits * 1e6 / 8});
    }
  }

  void read_links(pugi::xml_node gpu, int from) {
    for (const pugi::xml_node link : gpu.children()) {
      const std::string_view name = link.name();
      if (name != "xgmi" && name != "nvlink") continue;
      const std::string target = link.attribute("target").as_string();
      const int count = integer(link, "count", 1, kMostLinks, 1);
      const std::string_view kind = link.attribute("tclass").as_string();
      const int to = kind.starts_with("0x0680") ? kToSwitch : gpu_index(link, target);
      if (error_) return;
      if (to == from) return wrong(link, "a link from a GPU to itself", "another target");
      const LinkWorth worth = name == "xgmi" ? xgmi_link(arch_) : nvlink(arch_);
      if (to == kToSwitch) {  // one vertex stands for all switches, as in NCCL
        switched_[from] += count * worth.bytes_per_s;
      } else if (!direct_.emplace(std::pair(from, to), Direct{link, count, worth}).second) {
        return wrong(link, "a second link to " + target, "its count");
      }
    }
  }

  int gpu_index(pugi::xml_node link, const std::string& target) {
    const auto at = gpu_at_.find(target);
    if (at != gpu_at_.end()) return at->second;
    std::vector<std::string> known;
    for (const auto& [address, index] : gpu_at_) known.push_back(address);
    wrong(link, "no GPU at '" + target.substr(0, 64) + "'", suggestion(target, known));
    return 0;
  }

  void join_gpus() {
    if (error_) return;
    for (const auto& [ends, link] : direct_) {
      const auto back = direct_.find({ends.second, ends.first});
      if (back == direct_.end() || back->second.count != link.count) {
        return wrong(link.element, "a link that its target does not have", "the same count there");
      }
      topology_.links.push_back(
          {ends.first, ends.second, link.count * link.worth.bytes_per_s, link.worth.latency_ns});
    }
    if (switched_.empty()) return;
    const int middle = add_vertex(topology_, Vertex::Kind::gpu_switch, "nvswitch");
    for (const auto& [gpu, rate] : switched_) {
      join(topology_, gpu, middle, rate, nvlink(arch_).latency_ns / 2);
    }
  }

  void join_nics() {
    if (error_ || nics_.empty()) return;
    const int network = add_vertex(topology_, Vertex::Kind::network, "network");
    const double latency_ns = preset_for(arch_).network.nic_latency_ns.value;
    for (const auto& [nic, rate] : nics_) join(topology_, nic, network, rate, latency_ns);
  }

  /// `if_absent` where there is no such attribute.
  int integer(pugi::xml_node element, const char* name, int least, int most, int if_absent) {
    const pugi::xml_attribute attribute = element.attribute(name);
    const std::string_view text = attribute.as_string();
    if (!attribute || (text.empty() && if_absent == 0)) return if_absent;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= least &&
        value <= most) {
      return value;
    }
    wrong(element, std::string(name) + " '" + std::string(text.substr(0, 64)) + "'",
          std::to_string(least) + ".." + std::to_string(most));
    return least;
  }

  struct Direct {
    pugi::xml_node element;
    int count;
    LinkWorth worth;
  };
  static constexpr int kToSwitch = -1;

  const std::string& file_;
  std::string_view text_;
  std::optional<Error> error_;
  std::vector<Gpu> gpus_;
  std::map<std::string, int> gpu_at_;  // by address
  std::string arch_;
  Topology topology_;
  std::set<std::string> numas_;
  std::vector<int> cpus_;                         // vertices
  std::vector<std::pair<int, double>> nics_;      // vertex and rate
  std::map<std::pair<int, int>, Direct> direct_;  // by GPUs, from and to
  std::map<int, double> switched_;                // rate of a GPU to its switches
};

}  // namespace

Result<Machine> parse_topology_xml(const std::string& file, std::string_view text) {
  pugi::xml_document document;
  const auto parsed =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    const auto end =
        std::min(static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0)), text.size());
    const auto line = 1 + std::count(text.begin(), text.begin() + end, '\n');
    return Error{file + ":" + std::to_string(line), std::string("not XML: ") + parsed.description(),
                 "a file that NCCL_TOPO_DUMP_FILE wrote"};
  }
  const pugi::xml_node system = document.child("system");
  if (!system) {
    const std::string root = document.document_element().name();
    return Error{file, "no <system> but <" + root.substr(0, 64) + ">",
                 "a file that NCCL_TOPO_DUMP_FILE wrote"};
  }
  return TopologyReader(file, text).read(system);
}

}  // namespace tally::model
