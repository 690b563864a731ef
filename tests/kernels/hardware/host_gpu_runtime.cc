#include "tests/kernels/hardware/host_gpu_runtime.h"

#include <cstdlib>
#include <cstring>

#include "model/check.h"

namespace tally::test {

void HostMachine::open(void* memory) {
  const std::lock_guard lock(mutex_);
  ++open_[memory];
}
void HostMachine::close(void* memory) {
  const std::lock_guard lock(mutex_);
  TALLY_CHECK(open_[memory]-- > 0, "what is closed is open");
}
bool HostMachine::is_open(void* memory) {
  const std::lock_guard lock(mutex_);
  return open_[memory] > 0;
}

HostGpuRuntime::HostGpuRuntime(HostMachine& machine, int devices, std::size_t bytes_of_each)
    : machine_(machine), bytes_of_each_(bytes_of_each) {
  for (int device = 0; device < devices; ++device) {
    devices_.push_back({"Host", "host", 16, 32, bytes_of_each});
  }
  if (devices == 0) unavailable_ = "there are no devices";
}

HostGpuRuntime::~HostGpuRuntime() {
  for (const auto& [first, allocation] : memory_) std::free(const_cast<std::byte*>(first));
}

void* HostGpuRuntime::allocate_on(int device, std::size_t bytes) {
  TALLY_CHECK(bytes > 0, "something is allocated");
  std::size_t used = 0;
  for (const auto& [first, a] : memory_) used += a.device == device ? a.bytes : 0;
  if (used + bytes > bytes_of_each_) return nullptr;
  const std::size_t padded = (bytes + 255) / 256 * 256;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(256, padded));
  std::memset(memory, 0xAB, padded);  // what another program left there
  memory_[memory] = {device, bytes};
  return memory;
}

void* HostGpuRuntime::allocate(std::size_t bytes) { return allocate_on(device_, bytes); }
void* HostGpuRuntime::allocate_host(std::size_t bytes) { return allocate_on(kHost, bytes); }

void HostGpuRuntime::free(void* memory) {
  TALLY_CHECK(!machine_.is_open(memory), "what is freed is not open elsewhere");
  TALLY_CHECK(memory_.erase(static_cast<std::byte*>(memory)) == 1, "what is freed is allocated");
  std::free(memory);
}

bool HostGpuRuntime::reaches(const void* first, std::size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(first);
  auto at = memory_.upper_bound(begin);
  if (at != memory_.begin() &&
      begin + bytes <= std::prev(at)->first + std::prev(at)->second.bytes) {
    const int owner = std::prev(at)->second.device;
    return owner == device_ || owner == kHost || peers_.count({device_, owner}) == 1;
  }
  for (const auto& [device, memory] : imported_) {  // how much of it there is, its owner knows
    if (device == device_ && begin >= static_cast<std::byte*>(memory)) return true;
  }
  return false;
}

bool HostGpuRuntime::enable_peer(int peer) {
  if (apart.count({device_, peer}) == 1) return false;
  peers_.insert({device_, peer});
  return true;
}

kernels::hardware::MemoryHandle HostGpuRuntime::export_memory(void* memory) {
  TALLY_CHECK(memory_.count(static_cast<std::byte*>(memory)) == 1,
              "a whole allocation is exported");
  kernels::hardware::MemoryHandle handle{};
  std::memcpy(&handle, &memory, sizeof memory);
  return handle;
}

void* HostGpuRuntime::import_memory(const kernels::hardware::MemoryHandle& handle) {
  if (!imports) return nullptr;
  void* memory = nullptr;
  std::memcpy(&memory, &handle, sizeof memory);
  TALLY_CHECK(memory_.count(static_cast<std::byte*>(memory)) == 0, "a process imports of others");
  machine_.open(memory);
  imported_.insert({device_, memory});
  return memory;
}

void HostGpuRuntime::close_memory(void* imported) {
  const auto found = imported_.find({device_, imported});
  TALLY_CHECK(found != imported_.end(), "a device closes what it opened");
  imported_.erase(found);
  machine_.close(imported);
}

Stream HostGpuRuntime::create_stream() {
  return reinterpret_cast<Stream>(new NativeStream{device_, false, {}});
}
void HostGpuRuntime::destroy(Stream stream) { delete &native(stream); }

void HostGpuRuntime::put(Stream stream, std::function<void()> work) {
  TALLY_CHECK(native(stream).device == device_, "a stream is used on its device");
  if (native(stream).is_captured) {
    native(stream).captured.push_back(std::move(work));
  } else {
    work();
  }
}

void HostGpuRuntime::copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  put(stream, [=] { std::memcpy(to, from, bytes); });
}
void HostGpuRuntime::fill(void* to, std::byte value, std::size_t bytes, Stream stream) {
  TALLY_CHECK(reaches(to, bytes), "a device fills what it reaches");
  put(stream, [=] { std::memset(to, std::to_integer<int>(value), bytes); });
}

void HostGpuRuntime::begin_capture(Stream stream) { native(stream).is_captured = true; }
Graph HostGpuRuntime::end_capture(Stream stream) {
  native(stream).is_captured = false;
  return reinterpret_cast<Graph>(new NativeGraph(std::exchange(native(stream).captured, {})));
}
void HostGpuRuntime::replay(Graph graph, Stream stream) {
  for (const auto& work : *reinterpret_cast<NativeGraph*>(graph)) put(stream, work);
}
void HostGpuRuntime::destroy(Graph graph) { delete reinterpret_cast<NativeGraph*>(graph); }

const void* HostGpuRuntime::find_kernel(const kernels::hardware::KernelName& name) const {
  return !has_kernel || has_kernel(name) ? this : nullptr;
}

void HostGpuRuntime::launch(const void* kernel, int blocks, int threads, int places, Stream stream,
                            const kernels::Launch& launch) {
  TALLY_CHECK(kernel == this, "a kernel is one that was found");
  const SeenLaunch seen{device_, blocks, threads, places, launch};
  put(stream, [=, this] {
    if (on_launch) on_launch(seen);
  });
}

}  // namespace tally::test
