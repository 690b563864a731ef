#include "tests/verify/fake_gpu_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "model/check.h"
#include "tests/verify/fake_stream.h"

namespace tally::test {
namespace {

using namespace kernels::hardware;

class FakeGpuRuntime : public GpuRuntime {
 public:
  FakeGpuRuntime(int devices, std::size_t memory_bytes)
      : devices_(devices, Device{"host memory", "none", 1, 64, memory_bytes}) {}

  std::span<const Device> devices() const override { return devices_; }
  const std::string& unavailable() const override { return unavailable_; }
  Versions versions() const override { return {"fake", 1, 1}; }
  void use(int device) override { TALLY_CHECK(device < std::ssize(devices_), "a device"); }

  void* allocate(std::size_t bytes) override {
    if (bytes > devices_[0].memory_bytes) return nullptr;
    return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  }
  void* allocate_shared(std::size_t bytes) override { return allocate(bytes); }
  void free(void* memory) override { std::free(memory); }
  void* allocate_host(std::size_t bytes) override { return std::malloc(bytes); }
  void free_host(void* memory) override { std::free(memory); }

  bool enable_peer(int) override { return true; }
  MemoryHandle export_memory(void*) override { return {}; }
  void* import_memory(const MemoryHandle&) override { return nullptr; }
  void close_memory(void*) override {}

  Stream create_stream() override {
    streams_.push_back(std::make_unique<FakeStream>());
    return reinterpret_cast<Stream>(streams_.back().get());
  }
  void destroy(Stream stream) override {
    std::erase_if(streams_, [&](const auto& one) { return one.get() == fake(stream); });
  }
  void synchronize(Stream stream) override {
    TALLY_CHECK(is_idle(stream), "a stream that nobody will end is waited for");
  }
  bool is_idle(Stream stream) override {
    run_streams();
    return fake(stream)->nodes.empty();
  }

  Event create_event() override { return nullptr; }
  void destroy(Event) override {}
  void record(Event, Stream) override {}
  void wait(Stream, Event) override {}
  void synchronize(Event) override {}
  double microseconds(Event, Event) override { return 0; }

  void copy(void* to, const void* from, std::size_t bytes, Stream stream) override {
    fake(stream)->put([=] {
      std::memcpy(to, from, bytes);
      return true;
    });
  }
  void fill(void* to, std::byte value, std::size_t bytes, Stream stream) override {
    fake(stream)->put([=] {
      std::memset(to, std::to_integer<int>(value), bytes);
      return true;
    });
  }

  void begin_capture(Stream stream) override { fake(stream)->is_capturing = true; }
  Graph end_capture(Stream stream) override {
    fake(stream)->is_capturing = false;
    auto* nodes = new std::vector<FakeStream::Node>(std::move(fake(stream)->captured));
    fake(stream)->captured.clear();
    return reinterpret_cast<Graph>(nodes);
  }
  void replay(Graph graph, Stream stream) override {
    for (const auto& node : *fake(graph)) fake(stream)->put(node);
  }
  void destroy(Graph graph) override { delete fake(graph); }

  const void* find_kernel(const KernelName&) const override { return nullptr; }
  int resident_blocks(const void*, int) const override { return 0; }
  void launch(const void*, int, int, int, Stream, const kernels::Launch&) override {
    TALLY_CHECK(false, "there are no kernels");
  }
  std::vector<ConversionDifference> compare_conversions() override { return {}; }

 private:
  static FakeStream* fake(Stream stream) { return reinterpret_cast<FakeStream*>(stream); }
  static std::vector<FakeStream::Node>* fake(Graph graph) {
    return reinterpret_cast<std::vector<FakeStream::Node>*>(graph);
  }

  /// As far as all of them get.
  void run_streams() {
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const auto& stream : streams_) {
        while (!stream->nodes.empty() && stream->nodes.front()()) {
          stream->nodes.pop_front();
          goes_on = true;
        }
      }
    }
  }

  std::vector<Device> devices_;
  std::string unavailable_;
  std::vector<std::unique_ptr<FakeStream>> streams_;
};

}  // namespace

std::unique_ptr<GpuRuntime> fake_gpu_runtime(int devices, std::size_t memory_bytes) {
  return std::make_unique<FakeGpuRuntime>(devices, memory_bytes);
}

}  // namespace tally::test
