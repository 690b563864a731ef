#pragma once

// GpuRuntime, over HIP's names; on CUDA, nvidia/hip_on_cuda.h says what they are. The source that
// includes this is compiled for one vendor's devices, and describes the vendor:
//
//   Gpu                                         the kernels' own
//   kName                                       cuda, hip
//   std::string architecture(properties)        "sm_90"
//   bool has_code_for(properties)               whether the kernels are compiled for such a device
//   hipError_t allocate_shared(void**, bytes)   memory whose stores and polls cross between GPUs

#include <cstring>
#include <unordered_map>

#include "kernels/gpu_call.cuh"
#include "kernels/hardware/compare_conversions.cuh"
#include "kernels/hardware/gpu_runtime.h"
#include "kernels/launch.cuh"

namespace tally::kernels::hardware {

inline hipStream_t native(Stream stream) { return reinterpret_cast<hipStream_t>(stream); }
inline hipEvent_t native(Event event) { return reinterpret_cast<hipEvent_t>(event); }
inline hipGraphExec_t native(Graph graph) { return reinterpret_cast<hipGraphExec_t>(graph); }

template <class Vendor>
class DeviceRuntime : public GpuRuntime {
 public:
  DeviceRuntime() {
    find_devices();
    for (const CompiledKernel& k : compiled_kernels<typename Vendor::Gpu>()) {
      kernels_[k.name] = k.function;
    }
  }

  std::span<const Device> devices() const override { return devices_; }
  const std::string& unavailable() const override { return unavailable_; }
  Versions versions() const override {
    Versions found{Vendor::kName};
    TALLY_GPU_CALL(hipDriverGetVersion(&found.driver));
    TALLY_GPU_CALL(hipRuntimeGetVersion(&found.runtime));
    return found;
  }
  void use(int device) override { TALLY_GPU_CALL(hipSetDevice(device)); }

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    return TALLY_GPU_CALL_SUCCEEDED(hipErrorOutOfMemory, hipMalloc(&memory, bytes)) ? memory
                                                                                    : nullptr;
  }
  void* allocate_shared(std::size_t bytes) override {
    void* memory = nullptr;
    return TALLY_GPU_CALL_SUCCEEDED(hipErrorOutOfMemory, Vendor::allocate_shared(&memory, bytes))
               ? memory
               : nullptr;
  }
  void free(void* memory) override { TALLY_GPU_CALL(hipFree(memory)); }
  void* allocate_host(std::size_t bytes) override {
    void* memory = nullptr;
    return TALLY_GPU_CALL_SUCCEEDED(hipErrorOutOfMemory,
                                    hipHostMalloc(&memory, bytes, hipHostMallocPortable))
               ? memory
               : nullptr;
  }
  void free_host(void* memory) override { TALLY_GPU_CALL(hipHostFree(memory)); }

  bool enable_peer(int peer) override {
    int device = 0, is_possible = 0;
    TALLY_GPU_CALL(hipGetDevice(&device));
    if (device == peer) return true;
    TALLY_GPU_CALL(hipDeviceCanAccessPeer(&is_possible, device, peer));
    if (is_possible == 0) return false;
    static_cast<void>(TALLY_GPU_CALL_SUCCEEDED(hipErrorPeerAccessAlreadyEnabled,
                                               hipDeviceEnablePeerAccess(peer, 0)));
    return true;
  }
  MemoryHandle export_memory(void* memory) override {
    hipIpcMemHandle_t native;
    TALLY_GPU_CALL(hipIpcGetMemHandle(&native, memory));
    MemoryHandle handle;
    static_assert(sizeof native == sizeof handle);
    std::memcpy(&handle, &native, sizeof handle);
    return handle;
  }
  void* import_memory(const MemoryHandle& handle) override {
    hipIpcMemHandle_t native;
    std::memcpy(&native, &handle, sizeof native);
    void* memory = nullptr;
    if (hipIpcOpenMemHandle(&memory, native, hipIpcMemLazyEnablePeerAccess) == hipSuccess) {
      return memory;
    }
    static_cast<void>(hipGetLastError());
    return nullptr;
  }
  void close_memory(void* imported) override { TALLY_GPU_CALL(hipIpcCloseMemHandle(imported)); }

  Stream create_stream() override {
    hipStream_t stream;
    TALLY_GPU_CALL(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    return reinterpret_cast<Stream>(stream);
  }
  void destroy(Stream stream) override { TALLY_GPU_CALL(hipStreamDestroy(native(stream))); }
  void synchronize(Stream stream) override { TALLY_GPU_CALL(hipStreamSynchronize(native(stream))); }
  bool is_idle(Stream stream) override {
    return TALLY_GPU_CALL_SUCCEEDED(hipErrorNotReady, hipStreamQuery(native(stream)));
  }
  Event create_event() override {
    hipEvent_t event;
    TALLY_GPU_CALL(hipEventCreate(&event));
    return reinterpret_cast<Event>(event);
  }
  void destroy(Event event) override { TALLY_GPU_CALL(hipEventDestroy(native(event))); }
  void record(Event event, Stream stream) override {
    TALLY_GPU_CALL(hipEventRecord(native(event), native(stream)));
  }
  void wait(Stream stream, Event event) override {
    TALLY_GPU_CALL(hipStreamWaitEvent(native(stream), native(event), 0));
  }
  void synchronize(Event event) override { TALLY_GPU_CALL(hipEventSynchronize(native(event))); }
  double microseconds(Event begin, Event end) override {
    float milliseconds = 0;
    TALLY_GPU_CALL(hipEventElapsedTime(&milliseconds, native(begin), native(end)));
    return 1000.0 * static_cast<double>(milliseconds);
  }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    TALLY_GPU_CALL(hipMemcpyAsync(to, from, bytes, hipMemcpyDefault, native(stream)));
  }
  void fill(void* to, std::byte value, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return;
    TALLY_GPU_CALL(hipMemsetAsync(to, std::to_integer<int>(value), bytes, native(stream)));
  }

  void begin_capture(Stream stream) override {
    // Relaxed, since a thread captures the streams of several devices, and instantiates the graph
    // of one while it captures the next.
    TALLY_GPU_CALL(hipStreamBeginCapture(native(stream), hipStreamCaptureModeRelaxed));
  }
  Graph end_capture(Stream stream) override {
    hipGraph_t graph;
    hipGraphExec_t executable;
    TALLY_GPU_CALL(hipStreamEndCapture(native(stream), &graph));
    TALLY_GPU_CALL(hipGraphInstantiateWithFlags(&executable, graph, 0));
    TALLY_GPU_CALL(hipGraphDestroy(graph));
    return reinterpret_cast<Graph>(executable);
  }
  void replay(Graph graph, Stream stream) override {
    TALLY_GPU_CALL(hipGraphLaunch(native(graph), native(stream)));
  }
  void destroy(Graph graph) override { TALLY_GPU_CALL(hipGraphExecDestroy(native(graph))); }

  const void* find_kernel(const KernelName& name) const override {
    const auto found = kernels_.find(text(name));
    return found == kernels_.end() ? nullptr : found->second;
  }
  int resident_blocks(const void* kernel, int threads) const override {
    int device = 0, of_processor = 0;
    TALLY_GPU_CALL(hipGetDevice(&device));
    TALLY_GPU_CALL(hipOccupancyMaxActiveBlocksPerMultiprocessor(&of_processor, kernel, threads, 0));
    return of_processor * devices_[device].processors;
  }
  void launch(const void* kernel, int blocks, int threads, int places, Stream stream,
              const Launch& launch) override {
    Launch copy = launch;
    void* arguments[] = {&copy};
    TALLY_GPU_CALL(
        hipLaunchKernel(kernel, dim3(blocks, places), dim3(threads), arguments, 0, native(stream)));
  }

  std::vector<ConversionDifference> compare_conversions() override {
    return hardware::compare_conversions<typename Vendor::Gpu>();
  }

 private:
  /// What is there and has code: all devices, or none and why.
  void find_devices() {
    int count = 0;
    const hipError_t error = hipGetDeviceCount(&count);
    if (error != hipSuccess) {
      unavailable_ = std::string("no GPU: ") + hipGetErrorString(error);
      static_cast<void>(hipGetLastError());
      return;
    }
    if (count == 0) unavailable_ = "no GPU: there are no devices";
    for (int device = 0; device < count; ++device) {
      hipDeviceProp_t p;
      TALLY_GPU_CALL(hipGetDeviceProperties(&p, device));
      devices_.push_back(
          {p.name, Vendor::architecture(p), p.multiProcessorCount, p.warpSize, p.totalGlobalMem});
      if (Vendor::has_code_for(p)) continue;
      unavailable_ = "device " + std::to_string(device) + " is " + Vendor::architecture(p) +
                     ", for which this program has no kernels";
      devices_.clear();
      return;
    }
  }
  static std::string text(const KernelName& name) {
    return kernel_name(name.collective, name.algorithm, name.arithmetic);
  }

  std::vector<Device> devices_;
  std::string unavailable_;
  std::unordered_map<std::string, const void*> kernels_;
};

}  // namespace tally::kernels::hardware
