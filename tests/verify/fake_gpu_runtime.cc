#include "tests/verify/fake_gpu_runtime.h"

#include <algorithm>
#include <cstring>

#include "model/check.h"
#include "tests/kernels/hardware/host_gpu_runtime.h"
#include "tests/verify/fake_stream.h"

namespace tally::test {
namespace {

using kernels::hardware::GpuRuntime;

struct OwnMachine {
  HostMachine machine;
};

/// Host memory, with streams that others put work into too, and that run when they are looked at.
class FakeGpuRuntime : private OwnMachine, public HostGpuRuntime {
 public:
  FakeGpuRuntime(int devices, std::size_t memory_bytes)
      : HostGpuRuntime(machine, devices, memory_bytes) {}

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

  Event create_event() override { return reinterpret_cast<Event>(new double(0)); }
  void destroy(Event event) override { delete time(event); }
  void record(Event event, Stream stream) override {
    fake(stream)->put([=, this] {
      *time(event) = now_;
      return true;
    });
  }
  double microseconds(Event begin, Event end) override { return *time(end) - *time(begin); }

  /// A kernel does nothing, and takes a microsecond for each of its blocks.
  void launch(const void*, int blocks, int, int, Stream stream, const kernels::Launch&) override {
    fake(stream)->put([=, this] {
      now_ += blocks;
      return true;
    });
  }

 private:
  static double* time(Event event) { return reinterpret_cast<double*>(event); }
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

  double now_ = 0;  // in microseconds
  std::vector<std::unique_ptr<FakeStream>> streams_;
};

}  // namespace

std::unique_ptr<GpuRuntime> fake_gpu_runtime(int devices, std::size_t memory_bytes) {
  return std::make_unique<FakeGpuRuntime>(devices, memory_bytes);
}

}  // namespace tally::test
