#include <algorithm>
#include <charconv>
#include <functional>

#include "kernels/comm/agreement.h"
#include "kernels/comm/comm.h"
#include "kernels/comm/emulator_backend.h"
#include "kernels/comm/gpu_backend.h"
#include "model/suggestion.h"

namespace tally::comm {
namespace {

constexpr std::int64_t kEmulatorMessage = 1 << 20, kGpuMessage = 64 << 20;
constexpr std::int64_t kMostMessage = std::int64_t{1} << 40;

bool is_known(const std::string& backend) {
  return backend == "emulator" || backend == "gpu" || backend == "rcclx";
}

/// What new_comm() was asked for, as a backend takes it. The first thing that is wrong is kept, so
/// that a rank can tell the others before it gives up.
class Plan {
 public:
  Plan(const std::string& backend, const Device& device, const std::string& name,
       const Options& options, const World& world)
      : on_gpu_(device.kind == Device::Kind::gpu) {
    read_backend(backend);
    if (world.size > kernels::kMaxRanks) {
      complain("WORLD_SIZE", std::to_string(world.size) + " ranks are too many",
               "at most " + std::to_string(kernels::kMaxRanks));
    }
    read_chooser(backend, options);
    capacity_.message_bytes =
        options.max_message_bytes.value_or(on_gpu_ ? kGpuMessage : kEmulatorMessage);
    // A piece has to hold a unit of every rank.
    const std::int64_t least = 8 * world.size * std::max<std::int64_t>(options.wire.unit(), 128);
    if (capacity_.message_bytes < least || capacity_.message_bytes > kMostMessage) {
      complain("Options::max_message_bytes", "it is " + std::to_string(capacity_.message_bytes),
               std::to_string(least) + " bytes or more");
    }
    if (chooser) {
      capacity_.low_latency_bytes = std::min(chooser->low_latency_bytes(), capacity_.message_bytes);
    }
    gpu.name = emulator.name = name;
    gpu.capacity = emulator.capacity = capacity_;
    gpu.timeout = emulator.timeout = options.timeout;
    gpu.device = device.index;
    gpu.check_calls = options.check_calls;
    gpu.stream = options.stream;
    read_hints(options.hints);
    gpu.max_blocks = gpu.grid.blocks;
    for (const AlgorithmRow& row : options.algorithms) {
      gpu.max_blocks = std::max(gpu.max_blocks, row.grid.blocks);
    }
    if (on_gpu_) complain(gpu_unavailable(device.index));
    settings = {"backend=" + backend, "device=" + std::string(on_gpu_ ? "gpu" : "virtual_gpu"),
                "max_message_bytes=" + std::to_string(capacity_.message_bytes),
                "check_calls=" + std::to_string(options.check_calls)};
    for (const auto& [hint, value] : options.hints) settings.push_back(hint + "=" + value);
    if (!chooser) return;
    const Settings more = chooser->settings();
    settings.insert(settings.end(), more.begin(), more.end());
  }

  const std::optional<model::Error>& error() const { return error_; }
  bool on_gpu() const { return on_gpu_; }
  const Capacity& capacity() const { return capacity_; }

  std::unique_ptr<Chooser> chooser;
  EmulatorOptions emulator;
  GpuOptions gpu;
  Settings settings;

 private:
  void complain(std::string where, std::string what, std::string hint) {
    if (!error_) error_ = model::Error{std::move(where), std::move(what), std::move(hint)};
  }

  void complain(const std::optional<model::Error>& error) {
    if (!error_) error_ = error;
  }

  void read_backend(const std::string& backend) {
    if (!is_known(backend)) {
      complain("backend", "unknown backend '" + backend + "'",
               model::suggestion(backend, {"emulator", "gpu", "rcclx"}));
    }
    if ((backend == "gpu" && !on_gpu_) || (backend == "emulator" && on_gpu_)) {
      complain("device", "backend '" + backend + "' has no such device",
               on_gpu_ ? "Device::Kind::virtual_gpu" : "Device::Kind::gpu");
    }
  }

  void read_chooser(const std::string& backend, const Options& options) {
    if (backend != "rcclx") {
      chooser = choose_by_table(options.algorithms, options.wire, options.accumulate);
      return;
    }
    auto switches = model::rcclx::read_switches(options.lookup);
    if (!switches) return complain(switches.error());
    switches->arch = options.arch;
    switches->flavour = options.flavour;
    chooser = choose_as_rcclx(*switches);
  }

  void read_hints(const std::map<std::string, std::string>& hints) {
    using Read = std::function<void(const std::string&, const std::string&)>;
    const auto number = [this](auto& to) {
      return [this, &to](const std::string& name, const std::string& text) {
        const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), to);
        if (fault != std::errc() || end != text.data() + text.size() || to < 1) {
          complain("hint '" + name + "'", "'" + text + "' is not a number", "1 or more");
        }
      };
    };
    std::map<std::string, Read> known;
    if (on_gpu_) {
      known = {{"blocks", number(gpu.grid.blocks)},
               {"threads", number(gpu.grid.threads)},
               {"rounds", number(gpu.grid.rounds)}};
    } else {
      known = {
          {"blocks", number(emulator.geometry.blocks)},
          {"threads", number(emulator.geometry.threads)},
          {"wave", number(emulator.geometry.wave)},
          {"rounds", number(emulator.geometry.rounds)},
          {"seed", number(emulator.seed)},
          {"memory", [this](const std::string&, const std::string& text) { read_memory(text); }}};
    }
    std::vector<std::string> names;
    for (const auto& [name, read] : known) names.push_back(name);
    for (const auto& [name, text] : hints) {
      if (const auto at = known.find(name); at != known.end()) {
        at->second(name, text);
      } else {
        complain("hint '" + name + "'", "there is none of that name",
                 model::suggestion(name, names));
      }
    }
  }

  void read_memory(const std::string& text) {
    using kernels::emulator::MemoryKind;
    if (text == "gfx942") {
      emulator.memory = MemoryKind::gfx942;
    } else if (text != "strong") {
      complain("hint 'memory'", "'" + text + "' is no memory model", "strong or gfx942");
    }
  }

  const bool on_gpu_;
  Capacity capacity_;
  std::optional<model::Error> error_;
};

}  // namespace

model::Result<std::shared_ptr<Communicator>> new_comm(const std::string& backend,
                                                      const Device& device, const std::string& name,
                                                      const Options& options) {
  World world;
  if (options.world) {
    world = *options.world;
    if (world.size < 1 || world.rank < 0 || world.rank >= world.size) {
      return model::Error{
          "Options::world",
          "rank " + std::to_string(world.rank) + " of " + std::to_string(world.size),
          "ranks are numbered from 0"};
    }
  } else {
    const auto found = world_from_environment(options.lookup);
    if (!found) return found.error();
    world = *found;
  }
  Plan plan(backend, device, name, options, world);
  const Joining joining{name, world, options.timeout};
  auto rendezvous = plan.on_gpu() ? join_over_tcp(joining) : join_in_process(joining);
  if (!rendezvous) return rendezvous.error();
  if (const auto wrong = agree(**rendezvous, name, plan.settings, plan.error())) return *wrong;
  const Capacity capacity = plan.capacity();
  auto made = plan.on_gpu() ? gpu_backend(plan.gpu, world.rank, world.size, std::move(*rendezvous))
                            : emulator_backend(plan.emulator, world.rank, world.size, **rendezvous);
  if (!made) return made.error();
  return std::shared_ptr<Communicator>(
      new Communicator(backend, name, world, capacity, std::move(plan.chooser), std::move(*made)));
}

}  // namespace tally::comm
