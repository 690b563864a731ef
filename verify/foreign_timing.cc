#include "verify/foreign_timing.h"

namespace tally::verify {
namespace {

using namespace kernels::hardware;

/// Communicators of all devices, and what they register.
class Library {
 public:
  Library(GpuRuntime& runtime, const nccl::Api& api, const std::vector<int>& devices)
      : runtime_(runtime),
        api_(api),
        f_(api.functions()),
        devices_(devices),
        comms_(devices.size()) {
    is_well_ = f_.CommInitAll(comms_.data(), static_cast<int>(devices.size()), devices.data()) ==
               nccl::kSuccess;
  }
  ~Library() {
    if (!is_well_) return;
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      f_.optional.CommWindowDeregister(comms_[i % comms_.size()], windows_[i]);
    }
    for (const nccl::Comm comm : comms_) f_.CommDestroy(comm);
    for (void* memory : memory_) f_.optional.MemFree(memory);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool is_well() const { return is_well_; }

  /// A buffer on each device that all have registered; empty where the library cannot.
  std::vector<void*> symmetric(std::size_t bytes) {
    const auto& has = f_.optional;
    if (has.MemAlloc == nullptr || has.CommWindowRegister == nullptr) return {};
    std::vector<void*> all(comms_.size());
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      runtime_.use(devices_[i]);
      if (has.MemAlloc(&all[i], bytes) != nccl::kSuccess) return {};
      memory_.push_back(all[i]);
    }
    std::vector<nccl::Window> windows(comms_.size());
    f_.GroupStart();
    bool is_registered = true;
    for (std::size_t i = 0; i < comms_.size(); ++i) {
      runtime_.use(devices_[i]);
      is_registered = has.CommWindowRegister(comms_[i], all[i], bytes, &windows[i],
                                             nccl::kSymmetricWindow) == nccl::kSuccess &&
                      is_registered;
    }
    if (f_.GroupEnd() != nccl::kSuccess || !is_registered) return {};
    for (const nccl::Window window : windows) {
      if (window == nullptr) return {};
    }
    windows_.insert(windows_.end(), windows.begin(), windows.end());
    return all;
  }

  /// One call on all devices.
  void put(const TimedCall& call, const std::vector<RankMemory>& memory, ReplayClock& clock) {
    f_.GroupStart();
    for (int rank = 0; rank < clock.ranks(); ++rank) {
      runtime_.use(devices_[rank]);
      const nccl::Outcome outcome = api_.enqueue(call.collective, call.arithmetic.element,
                                                 nccl::kSum, static_cast<std::size_t>(call.count),
                                                 {comms_[rank], clock.ranks(), memory[rank].input,
                                                  memory[rank].output, clock.stream(rank)})
                                        .outcome;
      is_well_ = outcome == nccl::kSuccess && is_well_;
    }
    is_well_ = f_.GroupEnd() == nccl::kSuccess && is_well_;
  }

 private:
  GpuRuntime& runtime_;
  const nccl::Api& api_;
  const nccl::Functions& f_;
  const std::vector<int> devices_;
  std::vector<nccl::Comm> comms_;
  std::vector<nccl::Window> windows_;
  std::vector<void*> memory_;
  bool is_well_ = false;
};

}  // namespace

std::vector<Timed> time_library(GpuRuntime& runtime, ReplayClock& clock, const nccl::Api& api,
                                const TimedCall& call) {
  std::vector<Timed> all;
  Library library(runtime, api, clock.devices());
  if (!library.is_well()) return all;
  std::vector<RankMemory> memory;
  for (int rank = 0; rank < clock.ranks(); ++rank) memory.push_back(clock.memory(rank));
  const auto time = [&](const char* name) {
    library.put(call, memory, clock);  // what a library does the first time is no part of a graph
    for (int rank = 0; rank < clock.ranks(); ++rank) {
      runtime.use(clock.devices()[rank]);
      runtime.synchronize(clock.stream(rank));
    }
    if (!library.is_well()) return;
    const double microseconds = clock.median([&] { library.put(call, memory, clock); });
    if (library.is_well()) all.push_back({name, std::nullopt, microseconds});
  };
  time("library");
  const int ranks = clock.ranks();
  const std::int64_t element = call.arithmetic.element.bytes();
  const auto inputs = library.symmetric(
      static_cast<std::size_t>(element * input_elements(call.collective, ranks, call.count)) + 16);
  const auto outputs = library.symmetric(
      static_cast<std::size_t>(element * output_elements(call.collective, ranks, call.count)) + 16);
  if (inputs.empty() || outputs.empty()) return all;
  for (int rank = 0; rank < ranks; ++rank) {
    runtime.use(clock.devices()[rank]);
    runtime.copy(
        inputs[rank], memory[rank].input,
        static_cast<std::size_t>(element * input_elements(call.collective, ranks, call.count)),
        clock.stream(rank));
    memory[rank] = {inputs[rank], outputs[rank]};
  }
  time("library, symmetric windows");
  return all;
}

}  // namespace tally::verify
