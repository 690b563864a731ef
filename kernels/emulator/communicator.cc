#include "kernels/emulator/communicator.h"

#include <utility>

#include "model/check.h"

namespace tally::kernels::emulator {

Communicator::Communicator(Emulator& emulator, const Session& session)
    : emulator_(emulator), session_(session) {
  for (int rank = 0; rank < session.ranks; ++rank) ranks_.push_back(rank);
}

int Communicator::add_stream(int rank) {
  ranks_.push_back(rank);
  const int stream = emulator_.add_stream(rank);
  TALLY_CHECK(stream + 1 == std::ssize(ranks_), "somebody else added streams to the emulator");
  return stream;
}

bool Communicator::is_captured(int stream) const {
  TALLY_CHECK(stream >= 0 && stream < std::ssize(ranks_), "there is no such stream");
  return captures_.contains(stream);
}

template <class Put>
void Communicator::in_turn(int stream, Put put_all) {
  const auto [last, is_first] = last_.try_emplace(ranks_[stream], stream);
  if (!is_first && last->second != stream) {
    emulator_.wait(stream, emulator_.record(last->second));
    last->second = stream;
  }
  put_all();
}

void Communicator::put(int stream, const Graph::Work& work) {
  if (is_captured(stream)) {
    captures_.at(stream).works.push_back(work);
  } else if (const auto* kernel = std::get_if<Kernel>(&work)) {
    emulator_.launch(stream, session_.geometry, *kernel);
  } else {
    const auto& [to, from, bytes] = std::get<Graph::Copy>(work);
    emulator_.copy(stream, to, from, bytes);
  }
}

void Communicator::collective(int stream, const KernelKey& key, const Call& call) {
  const Binder bind = find_binder(key);
  TALLY_CHECK(bind != nullptr, "a communicator is asked for a kernel that is not in the table");
  const bool is_run = !is_captured(stream);
  const Kernel kernel = bind(session_, call, ranks_[stream]);
  if (is_run) {
    in_turn(stream, [&] { put(stream, kernel); });
  } else {
    put(stream, kernel);
  }
}

void Communicator::launch(int stream, Kernel kernel) { put(stream, std::move(kernel)); }

void Communicator::copy(int stream, void* to, const void* from, std::size_t bytes) {
  put(stream, Graph::Copy{to, from, bytes});
}

int Communicator::record(int stream) {
  TALLY_CHECK(!is_captured(stream), "an event is recorded in a stream that is being captured");
  return emulator_.record(stream);
}

void Communicator::wait(int stream, int event) {
  TALLY_CHECK(!is_captured(stream), "a stream that is being captured waits for an event");
  emulator_.wait(stream, event);
}

void Communicator::begin_capture(int stream) {
  TALLY_CHECK(!is_captured(stream), "the stream is being captured already");
  captures_[stream].rank = ranks_[stream];
}

Communicator::Graph Communicator::end_capture(int stream) {
  TALLY_CHECK(is_captured(stream), "the stream is not being captured");
  return std::move(captures_.extract(stream).mapped());
}

void Communicator::replay(int stream, const Graph& graph) {
  TALLY_CHECK(!is_captured(stream), "a graph is replayed into a stream that is being captured");
  TALLY_CHECK(graph.rank == ranks_[stream], "a graph is replayed on the rank that captured it");
  in_turn(stream, [&] {
    for (const Graph::Work& work : graph.works) put(stream, work);
  });
}

Trace Communicator::synchronize() {
  TALLY_CHECK(captures_.empty(), "the host waits while a stream is being captured");
  return emulator_.run();
}

}  // namespace tally::kernels::emulator
