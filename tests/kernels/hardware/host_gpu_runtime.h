#pragma once

// A GpuRuntime without a GPU: devices' memory is the host's, streams run at once, and a launch is
// handed to whoever asked to see it. It stops the program where a device would harm it: a device
// that reaches what it was not let to, memory that is freed while a peer has it open.

#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "kernels/hardware/gpu_runtime.h"

namespace tally::test {

using kernels::hardware::Event;
using kernels::hardware::Graph;
using kernels::hardware::Stream;

/// What the processes of one host share: who has whose memory open.
class HostMachine {
 public:
  void open(void* memory);
  void close(void* memory);
  bool is_open(void* memory);

 private:
  std::mutex mutex_;
  std::map<void*, int> open_;
};

/// One launch of a process.
struct SeenLaunch {
  int device = 0, blocks = 0, threads = 0, places = 0;
  kernels::Launch launch{};
};

/// One process. Its threads have one current device between them.
class HostGpuRuntime : public kernels::hardware::GpuRuntime {
 public:
  HostGpuRuntime(HostMachine& machine, int devices, std::size_t bytes_of_each = 1 << 24);
  ~HostGpuRuntime() override;

  /// What happens at a launch, and what kernels there are. Without: nothing happens, all are there.
  std::function<void(const SeenLaunch&)> on_launch;
  std::function<bool(const kernels::hardware::KernelName&)> has_kernel;
  /// Pairs of devices that cannot reach each other.
  std::set<std::pair<int, int>> apart;
  bool imports = true;
  std::vector<kernels::hardware::ConversionDifference> conversions;  // what comparing them gives

  std::size_t live() const { return memory_.size(); }
  /// Whether the current device may reach all of [first, first + bytes).
  bool reaches(const void* first, std::size_t bytes) const;

  std::span<const kernels::hardware::Device> devices() const override { return devices_; }
  const std::string& unavailable() const override { return unavailable_; }
  kernels::hardware::Versions versions() const override { return {"host", 1, 2}; }
  void use(int device) override { device_ = device; }
  void* allocate(std::size_t bytes) override;
  void* allocate_shared(std::size_t bytes) override { return allocate(bytes); }
  void free(void* memory) override;
  void* allocate_host(std::size_t bytes) override;
  void free_host(void* memory) override { free(memory); }
  bool enable_peer(int peer) override;
  kernels::hardware::MemoryHandle export_memory(void* memory) override;
  void* import_memory(const kernels::hardware::MemoryHandle& handle) override;
  void close_memory(void* imported) override;
  Stream create_stream() override;
  void destroy(Stream stream) override;
  void synchronize(Stream) override {}
  bool is_idle(Stream) override { return true; }
  Event create_event() override { return nullptr; }
  void destroy(Event) override {}
  void record(Event, Stream) override {}
  void wait(Stream, Event) override {}
  void synchronize(Event) override {}
  double microseconds(Event, Event) override { return 0; }
  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void fill(void* to, std::byte value, std::size_t bytes, Stream stream) override;
  void begin_capture(Stream stream) override;
  Graph end_capture(Stream stream) override;
  void replay(Graph graph, Stream stream) override;
  void destroy(Graph graph) override;
  const void* find_kernel(const kernels::hardware::KernelName& name) const override;
  /// One on each processor.
  int resident_blocks(const void*, int) const override { return devices_[device_].processors; }
  void launch(const void* kernel, int blocks, int threads, int places, Stream stream,
              const kernels::Launch& launch) override;
  std::vector<kernels::hardware::ConversionDifference> compare_conversions() override {
    return conversions;
  }

 private:
  static constexpr int kHost = -1;  // in the place of a device
  struct Allocation {
    int device;
    std::size_t bytes;
  };
  struct NativeStream {
    int device;
    bool is_captured = false;
    std::vector<std::function<void()>> captured;
  };
  using NativeGraph = std::vector<std::function<void()>>;

  void* allocate_on(int device, std::size_t bytes);
  /// Does the work, or captures it.
  void put(Stream stream, std::function<void()> work);
  static NativeStream& native(Stream stream) { return *reinterpret_cast<NativeStream*>(stream); }

  HostMachine& machine_;
  const std::size_t bytes_of_each_;
  std::vector<kernels::hardware::Device> devices_;
  std::string unavailable_;
  int device_ = 0;
  std::map<const std::byte*, Allocation> memory_;  // by its first byte
  std::set<std::pair<int, int>> peers_;            // who may reach whom
  std::multiset<std::pair<int, void*>> imported_;  // by whom
};

}  // namespace tally::test
