#include "kernels/comm/rendezvous_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace tally::comm {
namespace {

constexpr std::size_t kMostConnections = 4 * kMostProcesses;
constexpr Milliseconds kFarewell{1000};

Time now() { return std::chrono::steady_clock::now(); }

void append(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

Bytes failure_frame(const model::Error& error) {
  Frame frame;
  frame.kind = FrameKind::failure;
  frame.payload = encode_failure(error);
  return encode(frame);
}

}  // namespace

model::Result<std::shared_ptr<RendezvousServer>> RendezvousServer::at(const std::string& address,
                                                                      int port) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<RendezvousServer>> servers;
  const std::lock_guard lock(mutex);
  auto& known = servers[address + ":" + std::to_string(port)];
  if (auto server = known.lock()) return server;
  auto listening = listen_at(address, port);
  if (!listening) return listening.error();
  auto server = std::make_shared<RendezvousServer>(std::move(*listening));
  known = server;
  return server;
}

RendezvousServer::RendezvousServer(Socket listening)
    : listening_(std::move(listening)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

RendezvousServer::~RendezvousServer() {
  eventfd_write(wake_.descriptor(), 1);
  thread_.join();
}

void RendezvousServer::serve() {
  Time end = Time::max();  // set when this server is to stop
  while (end == Time::max() || (owes_something() && now() < end)) {
    std::vector<pollfd> watched = {{wake_.descriptor(), POLLIN, 0},
                                   {listening_.descriptor(), POLLIN, 0}};
    for (const auto& connection : connections_) {
      const int events =
          (connection->is_over ? 0 : POLLIN) | (connection->owed.empty() ? 0 : POLLOUT);
      watched.push_back({connection->socket.descriptor(), static_cast<short>(events), 0});
    }
    poll(watched.data(), watched.size(), poll_milliseconds(std::min(end, next_deadline())));
    const std::size_t before = connections_.size();
    for (std::size_t i = 0; i < before; ++i) {
      if (watched[i + 2].revents & (POLLIN | POLLHUP | POLLERR)) read(*connections_[i]);
    }
    if (watched[1].revents & POLLIN) accept_all();
    deliver();
    // Rank 0 last: what it is told may end this process.
    for (const bool is_rank_0 : {false, true}) {
      for (const auto& connection : connections_) {
        if ((connection->rank == 0) == is_rank_0) write(*connection);
      }
    }
    std::erase_if(connections_, [](const auto& one) { return one->is_over && one->owed.empty(); });
    eventfd_t count = 0;
    if (eventfd_read(wake_.descriptor(), &count) == 0) end = now() + kFarewell;
  }
}

Time RendezvousServer::next_deadline() const {
  Time next = now() + Milliseconds(1000);
  for (const auto& connection : connections_) {
    if (!connection->room || connection->room->failure()) continue;
    next = std::min(next, connection->room->deadline().value_or(next));
  }
  return next;
}

void RendezvousServer::accept_all() {
  while (true) {
    const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    Socket socket(accept4(listening_.descriptor(), nullptr, nullptr, flags));
    if (!socket.is_open()) return;
    if (connections_.size() >= kMostConnections) continue;
    connections_.push_back(std::make_unique<Connection>());
    connections_.back()->socket = std::move(socket);
  }
}

void RendezvousServer::read(Connection& connection) {
  if (connection.is_over) return;
  const Io io = receive_some(connection.socket, connection.received);
  while (!connection.is_over) {
    auto parsed = parse_frame(connection.received);
    if (!parsed) {
      refuse(connection, parsed.error());
    } else if (parsed->bytes == 0) {
      break;
    } else {
      const auto end = connection.received.begin() + static_cast<std::ptrdiff_t>(parsed->bytes);
      connection.received.erase(connection.received.begin(), end);
      take_frame(connection, std::move(parsed->frame));
    }
  }
  if (io == Io::closed && !connection.is_over) drop(connection);
}

void RendezvousServer::refuse(Connection& connection, const model::Error& why) {
  if (connection.room) {
    const std::string who = text_of_ranks({connection.rank});
    connection.room->fail({why.where, who + " sent what is no frame: " + why.what, why.hint});
  }
  drop(connection);
}

void RendezvousServer::drop(Connection& connection) {
  if (connection.room) connection.room->leave(connection.rank);
  connection.is_over = true;
  connection.owed.clear();
}

std::shared_ptr<RendezvousServer::Meeting> RendezvousServer::find_room(const Frame& frame,
                                                                       model::Error& why_not) {
  auto room = rooms_[frame.name].lock();
  if (!room || !room->is_open()) {
    room = std::make_shared<Meeting>(frame.name, frame.size);
    rooms_[frame.name] = room;
  }
  if (room->size() != frame.size) {
    room->fail(disagree_on_size(frame.name, frame.rank, frame.size, room->size()));
    why_not = *room->failure();
    return nullptr;
  }
  if (room->has_contributed(frame.rank)) {
    why_not = is_there_already(frame.name, frame.rank);
    return nullptr;
  }
  return room;
}

void RendezvousServer::take_frame(Connection& connection, Frame frame) {
  if (frame.kind != FrameKind::contribution) {
    return refuse(connection, {"rendezvous", "a frame that only rank 0 sends", ""});
  }
  if (!connection.room) {
    model::Error why_not;
    connection.room = find_room(frame, why_not);
    if (!connection.room) {
      append(connection.owed, failure_frame(why_not));
      connection.is_over = true;
      return;
    }
    connection.rank = frame.rank;
  }
  Meeting& room = *connection.room;
  if (room.failure()) return;
  if (frame.rank != connection.rank || frame.round != room.contributions(frame.rank)) {
    return refuse(connection, {"rendezvous", "a frame out of turn", ""});
  }
  room.contribute(connection.rank, std::move(frame.payload), now(), Milliseconds(frame.timeout_ms));
}

void RendezvousServer::deliver() {
  for (const auto& connection : connections_) {
    if (!connection->room || connection->is_over) continue;
    connection->room->expire(now());
    while (const auto all = connection->room->take(connection->rank)) {
      Frame frame;
      frame.kind = FrameKind::gathered;
      frame.rank = connection->rank;
      frame.size = connection->room->size();
      frame.payload = encode_gathered(*all);
      append(connection->owed, encode(frame));
    }
    if (connection->room->failure() && !connection->was_told) {
      append(connection->owed, failure_frame(*connection->room->failure()));
      connection->was_told = true;
    }
  }
}

void RendezvousServer::write(Connection& connection) {
  std::span<const std::byte> left = connection.owed;
  if (left.empty()) return;
  const Io io = send_some(connection.socket, left);
  connection.owed.assign(left.begin(), left.end());
  if (io == Io::closed && !connection.is_over) drop(connection);
  if (io == Io::closed) connection.owed.clear();
}

bool RendezvousServer::owes_something() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const auto& connection) { return !connection->owed.empty(); });
}

}  // namespace tally::comm
