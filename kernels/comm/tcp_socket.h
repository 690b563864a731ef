#pragma once

// TCP with deadlines. Sockets do not block; whoever waits says until when.

#include <cstddef>
#include <span>
#include <string>

#include "kernels/comm/room.h"

namespace tally::comm {

/// A descriptor, closed at the end.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
  Socket& operator=(Socket&& other) noexcept;

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  void close();

 private:
  int release();
  int descriptor_;
};

/// Port 0 takes one that is free.
model::Result<Socket> listen_at(const std::string& address, int port);
int port_of(const Socket& listening);

enum class Io { done, again, closed };
/// Connects, and again while nobody listens there, until the deadline: `again` is too late.
model::Result<Socket> connect_to(const std::string& address, int port, Time deadline);

/// What can be had at once; appended to `to`. An error of the connection is its end.
Io receive_some(const Socket& socket, std::vector<std::byte>& to);
/// As much as goes at once; `bytes` are what is left.
Io send_some(const Socket& socket, std::span<const std::byte>& bytes);
/// Whether that is possible before the deadline.
bool wait_readable(const Socket& socket, Time deadline);
bool wait_writable(const Socket& socket, Time deadline);

/// What poll() takes for a time that lasts until `deadline`: rounded up, so that it has passed.
int poll_milliseconds(Time deadline);

}  // namespace tally::comm
