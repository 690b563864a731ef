#pragma once

// A machine, as data: its GPUs, what joins them, and what each of its numbers rests on.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/result.h"

namespace tally::model {

/// measured: somebody ran it and printed the figure. quoted: a data sheet or an author says so.
/// fitted: `tally sim --calibrate` found it. assumed: nobody says; the source says why this value.
enum class Evidence : std::uint8_t { measured, quoted, fitted, assumed };
std::string_view name(Evidence evidence);

/// A number with its source. The unit is the suffix of the member's, and of the file's, name.
struct Sourced {
  double value = 0;
  Evidence evidence = Evidence::assumed;
  std::string source;
};

/// One direction of a connection between two vertices. A transfer takes its bandwidth from every
/// link on its way. The rate is what one transfer alone gets, not the peak of a data sheet.
struct Link {
  int from, to;
  double bytes_per_s;
  double latency_ns;
};

struct Vertex {
  enum class Kind : std::uint8_t { gpu, gpu_switch, pci, cpu, nic, network };
  Kind kind;
  int node;
  std::string name;
};

/// Vertices 0 .. nodes * gpus_per_node - 1 are the GPUs, by node, in the order of the ranks.
struct Topology {
  int nodes = 1, gpus_per_node = 1;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
};

/// What holds of every GPU of a machine.
struct GpuFacts {
  std::string name, arch;
  Sourced memory_bytes_per_s;   // copy, read and write together
  Sourced memory_bytes;         // what it holds
  Sourced f16_flops, f8_flops;  // dense peaks of matrix units, per second
  Sourced launch_ns;            // a kernel started by the host, until its first instruction
  Sourced graph_launch_ns;      // the same as a node of a replayed graph
  Sourced copy_launch_ns;       // a copy enqueued by the host before a kernel
  Sourced signal_ns;          // a flag stored into a peer's memory, until its poll sees it, beside
                              // the latencies of the links on its way
  Sourced codec_bytes_per_s;  // elements through an encoder or a decoder
};

struct Machine {
  std::string name;  // as `--machine` spells it
  GpuFacts gpu;
  Topology topology;
};

/// The presets, in the order of `tally list`.
std::vector<std::string> machine_names();

/// The preset of that name with `nodes` nodes (1..65536; 0: as many as the preset or file says), or
/// the machine in the file of that name: Tally's own JSON, RCCL/NCCL topology XML, or the text of
/// `rocm-smi --showtopo` or `nvidia-smi topo -m`. The error names the place in the file.
Result<Machine> find_machine(const std::string& name_or_file, int nodes = 0);

}  // namespace tally::model
