#include "model/topology_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "model/suggestion.h"
#include "model/topology_parts.h"

namespace tally::model {
namespace {

constexpr int kMostNvlinks = 18;  // of a GPU, from Hopper on: NVIDIA H100 architecture white paper
constexpr int kDirectWeight = 15;

struct Line {
  int number;
  std::vector<std::string> words;
};

// Words of the lines that have some, without the escape sequences that underline a header.
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  Line line{1, {}};
  bool is_in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\x1b') {
      while (i + 1 < text.size() && text[i] != 'm' && text[i] != '\n') ++i;
      if (text[i] == '\n') --i;
    } else if (c == '\n') {
      const int next = line.number + 1;
      if (!line.words.empty()) lines.push_back(std::move(line));
      line = {next, {}};
      is_in_word = false;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      is_in_word = false;
    } else {
      if (!is_in_word) line.words.emplace_back();
      line.words.back() += c;
      is_in_word = true;
    }
  }
  if (!line.words.empty()) lines.push_back(std::move(line));
  return lines;
}

std::optional<int> parse_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string gpu_name(std::size_t i) { return "GPU" + std::to_string(i); }

// A table with a row and a column for each GPU, the same both ways.
struct Matrix {
  std::vector<Line> rows;  // words [1 + gpus or more]
  int gpus() const { return static_cast<int>(rows.size()); }
  const std::string& at(int row, int column) const { return rows[row].words[column + 1]; }
};

// The table whose header is the first line from `begin` on that starts with GPU0.
Result<Matrix> read_matrix(const std::string& file, const std::vector<Line>& lines,
                           std::size_t begin) {
  const auto where = [&](const Line& line) { return file + ":" + std::to_string(line.number); };
  while (begin < lines.size() && lines[begin].words.front() != "GPU0") ++begin;
  if (begin == lines.size()) return Error{file, "no table", "a header GPU0 GPU1 ..."};
  const Line& header = lines[begin];
  std::size_t gpus = 0;
  while (gpus < header.words.size() && header.words[gpus] == gpu_name(gpus)) ++gpus;
  if (gpus > kMostGpusOfNode) return Error{where(header), "too many GPUs", "at most 1024"};
  Matrix matrix;
  for (std::size_t i = 0; i < gpus; ++i) {
    const Line& row = lines[std::min(begin + 1 + i, lines.size() - 1)];
    if (row.words.front() != gpu_name(i)) {
      return Error{where(row), "no row " + gpu_name(i), "a row for each column"};
    }
    if (row.words.size() < gpus + 1) {
      return Error{where(row), std::to_string(row.words.size() - 1) + " cells",
                   std::to_string(gpus) + ", as the header has"};
    }
    matrix.rows.push_back(row);
  }
  for (int i = 0; i < matrix.gpus(); ++i) {
    for (int j = 0; j < i; ++j) {
      if (matrix.at(i, j) == matrix.at(j, i)) continue;
      return Error{where(matrix.rows[i]),
                   gpu_name(i) + " and " + gpu_name(j) + " do not agree: " +
                       matrix.at(i, j).substr(0, 64) + " and " + matrix.at(j, i).substr(0, 64),
                   "the same both ways"};
    }
  }
  return matrix;
}

// The vertices of a node under way, and what each GPU's NIC would be joined to.
struct Node {
  std::string arch;
  Topology topology;
  std::vector<int> hosts;
};

Node gpus_of(int gpus, std::string arch) {
  Node node{std::move(arch), {1, gpus, {}, {}}, {}};
  for (int i = 0; i < gpus; ++i) {
    node.hosts.push_back(add_vertex(node.topology, Vertex::Kind::gpu, "gpu" + std::to_string(i)));
  }
  return node;
}

Machine finish(const std::string& file, Node node, const std::string& reason, bool certain) {
  Network network = preset_for(node.arch).network;
  network.nics = std::min(network.nics, node.topology.gpus_per_node);
  add_network(node.topology, network, node.hosts);
  return {file, gpu_for(node.arch, reason, certain), std::move(node.topology)};
}

// An architecture that the text names somewhere; empty where it names none.
std::string named_arch(std::string_view text) {
  for (const char* arch : {"gfx950", "gfx942", "gfx90a", "gfx908", "gfx906"}) {
    if (text.find(arch) != std::string_view::npos) return arch;
  }
  return "";
}

void join_cpus(Topology& topology, const std::vector<int>& cpus, const LinkWorth& worth) {
  for (std::size_t a = 0; a < cpus.size(); ++a) {
    for (std::size_t b = a + 1; b < cpus.size(); ++b) {
      join(topology, cpus[a], cpus[b], worth.bytes_per_s, worth.latency_ns);
    }
  }
}

// ---- rocm-smi --showtopo

// The line after the one that has the title.
std::size_t after_title(const std::vector<Line>& lines, std::string_view first,
                        std::string_view second) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto& words = lines[i].words;
    const auto at = std::find(words.begin(), words.end(), first);
    if (at != words.end() && at + 1 != words.end() && at[1] == second) return i + 1;
  }
  return lines.size();
}

// From the lines "GPU[3] : (Topology) Numa Node: 1"; 0 of a GPU without.
Result<std::vector<int>> numa_nodes(const std::string& file, const std::vector<Line>& lines,
                                    int gpus) {
  std::vector<int> nodes(gpus, 0);
  for (const Line& line : lines) {
    const auto& words = line.words;
    const auto at = std::find(words.begin(), words.end(), "Node:");
    if (!words.front().starts_with("GPU[") || at == words.end()) continue;
    const auto gpu = parse_int(words.front().substr(4, words.front().find(']') - 4));
    const auto node = at + 1 == words.end() ? std::nullopt : parse_int(at[1]);
    if (!gpu || *gpu < 0 || *gpu >= gpus || !node) {
      return Error{file + ":" + std::to_string(line.number), "a NUMA node that cannot be read",
                   "GPU[0] : (Topology) Numa Node: 0"};
    }
    nodes[*gpu] = *node;
  }
  return nodes;
}

Result<Machine> parse_rocm_smi(const std::string& file, const std::vector<Line>& lines,
                               const std::string& named) {
  const auto types = read_matrix(file, lines, after_title(lines, "Link", "Type"));
  if (!types) return types.error();
  std::optional<Matrix> weights;
  if (const std::size_t begin = after_title(lines, "Weight", "between"); begin < lines.size()) {
    auto read = read_matrix(file, lines, begin);
    if (!read) return read.error();
    if (read->gpus() != types->gpus()) {
      return Error{file, "tables of different sizes", "as many GPUs in each"};
    }
    weights = std::move(*read);
  }
  const auto numas = numa_nodes(file, lines, types->gpus());
  if (!numas) return numas.error();

  Node node = gpus_of(types->gpus(), named.empty() ? "gfx942" : named);
  const LinkWorth xgmi = xgmi_link(node.arch);
  for (int i = 0; i < types->gpus(); ++i) {
    for (int j = 0; j < i; ++j) {
      const std::string& type = types->at(i, j);
      if (type != "XGMI" && type != "PCIE") {
        return Error{file + ":" + std::to_string(types->rows[i].number),
                     "unknown link type '" + type.substr(0, 64) + "'",
                     suggestion(type, {"XGMI", "PCIE"})};
      }
      const auto weight = weights ? parse_int(weights->at(i, j)) : kDirectWeight;
      if (!weight || *weight < 0) {
        return Error{file + ":" + std::to_string(weights->rows[i].number),
                     "weight '" + weights->at(i, j).substr(0, 64) + "'", "a whole number"};
      }
      if (type == "PCIE" || *weight > kDirectWeight) continue;
      join(node.topology, j, i, xgmi.bytes_per_s, xgmi.latency_ns);
    }
  }
  std::map<int, int> cpu_of;
  std::vector<int> cpus;
  for (int gpu = 0; gpu < types->gpus(); ++gpu) {
    const auto [at, is_new] = cpu_of.try_emplace(numas->at(gpu), 0);
    if (is_new) {
      at->second = add_vertex(node.topology, Vertex::Kind::cpu, "numa" + std::to_string(at->first));
      cpus.push_back(at->second);
    }
    join(node.topology, gpu, at->second, preset_for(node.arch).network.pci_bytes_per_s.value,
         pci_uplink_latency_ns());
  }
  join_cpus(node.topology, cpus, between_cpus("x86_64", "AuthenticAMD", 0));
  return finish(file, std::move(node),
                named.empty() ? "rocm-smi names no GPU" : "the text names " + named,
                !named.empty());
}

// ---- nvidia-smi topo -m

// Links of a cell NV#; nothing where it is none.
std::optional<int> nvlinks(const std::string& cell) {
  if (!cell.starts_with("NV")) return std::nullopt;
  const auto count = parse_int(cell.substr(2));
  return count && *count >= 1 && *count <= kMostNvlinks ? count : std::nullopt;
}

bool is_one_of(const std::string& cell, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), cell) != names.end();
}

std::optional<Error> unknown_relation(const std::string& file, const Matrix& matrix) {
  for (int i = 0; i < matrix.gpus(); ++i) {
    for (int j = 0; j < matrix.gpus(); ++j) {
      const std::string& cell = matrix.at(i, j);
      if (i == j || nvlinks(cell)) continue;
      if (is_one_of(cell, {"PIX", "PXB", "PHB", "NODE", "SYS"})) continue;
      return Error{file + ":" + std::to_string(matrix.rows[i].number),
                   "unknown relation '" + cell.substr(0, 64) + "'",
                   suggestion(cell, {"NV1..NV18", "PIX", "PXB", "PHB", "NODE", "SYS"})};
    }
  }
  return std::nullopt;
}

// For each GPU the first one that it is joined to by these relations, over others too.
std::vector<int> groups_by(const Matrix& matrix,
                           std::initializer_list<std::string_view> relations) {
  std::vector<int> first(matrix.gpus());
  std::iota(first.begin(), first.end(), 0);
  for (int i = 0; i < matrix.gpus(); ++i) {
    for (int j = 0; j < i; ++j) {
      if (!is_one_of(matrix.at(i, j), relations) || first[i] == first[j]) continue;
      const auto [low, high] = std::minmax({first[i], first[j]});
      std::replace(first.begin(), first.end(), int{high}, int{low});
    }
  }
  return first;
}

void join_by_pcie(const Matrix& matrix, Node& node) {
  const MachineFile& preset = preset_for(node.arch);
  const bool is_pcie = preset.fabric.kind == Fabric::Kind::pcie;
  const double rate =
      is_pcie ? preset.fabric.link_bytes_per_s.value : preset.network.pci_bytes_per_s.value;
  const auto by_switch = groups_by(matrix, {"PIX", "PXB"});
  const auto by_cpu = groups_by(matrix, {"PIX", "PXB", "PHB", "NODE"});
  std::map<int, int> cpu_of, switch_of;
  std::vector<int> cpus;
  for (int gpu = 0; gpu < matrix.gpus(); ++gpu) {
    const auto [cpu, is_new_cpu] = cpu_of.try_emplace(by_cpu[gpu], 0);
    if (is_new_cpu) {
      cpu->second =
          add_vertex(node.topology, Vertex::Kind::cpu, "cpu" + std::to_string(cpus.size()));
      cpus.push_back(cpu->second);
    }
    const auto in_switch = std::count(by_switch.begin(), by_switch.end(), by_switch[gpu]);
    if (in_switch == 1) {
      join(node.topology, gpu, cpu->second, rate, pci_uplink_latency_ns());
      continue;
    }
    const auto [pci, is_new_switch] = switch_of.try_emplace(by_switch[gpu], 0);
    if (is_new_switch) {
      pci->second = add_vertex(node.topology, Vertex::Kind::pci, "switch");
      join(node.topology, pci->second, cpu->second, rate, pci_uplink_latency_ns());
    }
    join(node.topology, gpu, pci->second, rate, pci_latency_ns());
    node.hosts[gpu] = pci->second;
  }
  // The table does not name the CPU.
  join_cpus(node.topology, cpus, between_cpus("x86_64", "GenuineIntel", 0x8F));
}

Result<Machine> parse_nvidia_smi(const std::string& file, const std::vector<Line>& lines) {
  const auto matrix = read_matrix(file, lines, 0);
  if (!matrix) return matrix.error();
  if (const auto error = unknown_relation(file, *matrix)) return *error;
  const int gpus = matrix->gpus();
  std::vector<int> sum(gpus), most(gpus);
  bool has_pcie = false;
  for (int i = 0; i < gpus; ++i) {
    for (int j = 0; j < gpus; ++j) {
      if (i == j) continue;
      const int links = nvlinks(matrix->at(i, j)).value_or(0);
      has_pcie = has_pcie || links == 0;
      sum[i] += links;
      most[i] = std::max(most[i], links);
    }
  }
  const bool is_switched = *std::max_element(sum.begin(), sum.end()) > kMostNvlinks;
  const auto& links_of = is_switched ? most : sum;
  const int links = *std::max_element(links_of.begin(), links_of.end());
  const std::string arch = links == 0    ? "sm_120"
                           : links <= 6  ? "sm_70"
                           : links <= 12 ? "sm_80"
                                         : "sm_90";
  Node node = gpus_of(gpus, arch);
  const LinkWorth worth = nvlink(arch);
  const int middle =
      is_switched ? add_vertex(node.topology, Vertex::Kind::gpu_switch, "nvswitch") : -1;
  for (int i = 0; i < gpus; ++i) {
    if (is_switched && most[i] > 0) {
      join(node.topology, i, middle, most[i] * worth.bytes_per_s, worth.latency_ns / 2);
    }
    for (int j = 0; j < i && !is_switched; ++j) {
      const auto count = nvlinks(matrix->at(i, j));
      if (count) join(node.topology, j, i, *count * worth.bytes_per_s, worth.latency_ns);
    }
  }
  if (has_pcie) join_by_pcie(*matrix, node);
  return finish(file, std::move(node),
                "nvidia-smi names no GPU, and " + std::to_string(links) + " NVLinks are as " +
                    arch + " has them",
                false);
}

}  // namespace

Result<Machine> parse_topology_text(const std::string& file, std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  if (after_title(lines, "Link", "Type") < lines.size()) {
    return parse_rocm_smi(file, lines, named_arch(text));
  }
  return parse_nvidia_smi(file, lines);
}

}  // namespace tally::model
