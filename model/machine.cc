#include "model/machine.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "model/machine_presets.h"
#include "model/suggestion.h"
#include "model/topology_text.h"
#include "model/topology_xml.h"

namespace tally::model {
namespace {

constexpr int kMostNodes = 65536;

Result<std::string> read_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    return Error{"--machine", "no machine and no file '" + path + "'",
                 suggestion(path, machine_names())};
  }
  if (std::filesystem::file_size(path, failure) > kMostFileBytes || failure) {
    return Error{path, "longer than 64 MiB", "a topology takes a few KiB"};
  }
  std::ostringstream text;
  std::ifstream file(path, std::ios::binary);
  text << file.rdbuf();
  if (!file) return Error{path, "cannot be read", "look at its permissions"};
  return text.str();
}

Result<Machine> with_nodes(Machine machine, int nodes) {
  if (nodes < 0 || nodes > kMostNodes) {
    return Error{"--nodes", std::to_string(nodes) + " nodes", "1..65536"};
  }
  if (nodes <= 1) return machine;
  if (nodes > kMostGpus / machine.topology.gpus_per_node) {
    return Error{"--nodes", "more than 1048576 GPUs", "fewer nodes"};
  }
  if (machine.topology.vertices.back().kind != Vertex::Kind::network) {
    return Error{"--nodes", machine.name + " has no network between nodes", "1"};
  }
  machine.topology = repeat(machine.topology, nodes);
  return machine;
}

Machine machine_of(const MachineFile& file) {
  return {file.name, file.gpu, lay_out(file.fabric, file.network)};
}

// What kind of file it is shows at its beginning.
Result<Machine> parse_machine(const std::string& file, std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const char first = begin == std::string_view::npos ? ' ' : text[begin];
  if (first == '<') return parse_topology_xml(file, text);
  if (first == '{') {
    const auto parsed = parse_machine_file(file, text);
    if (!parsed) return parsed.error();
    return machine_of(*parsed);
  }
  if (text.find("GPU0") != std::string_view::npos) return parse_topology_text(file, text);
  return Error{file, "no machine that is known",
               "JSON as in model/machines, topology XML of RCCL or NCCL, or the text of "
               "rocm-smi --showtopo or nvidia-smi topo -m"};
}

}  // namespace

std::vector<std::string> machine_names() {
  std::vector<std::string> names;
  for (const EmbeddedText& preset : preset_texts()) names.emplace_back(preset.name);
  return names;
}

Result<Machine> find_machine(const std::string& name_or_file, int nodes) {
  if (const MachineFile* preset = find_preset(name_or_file)) {
    return with_nodes(machine_of(*preset), nodes);
  }
  const auto text = read_file(name_or_file);
  if (!text) return text.error();
  const auto machine = parse_machine(name_or_file, *text);
  if (!machine) return machine.error();
  return with_nodes(*machine, nodes);
}

}  // namespace tally::model
