#include "kernels/comm/tcp_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace tally::comm {
namespace {

constexpr Milliseconds kBetweenTries{20};

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string text_of(const std::string& address, int port) {
  return address + ":" + std::to_string(port);
}

model::Result<Addresses> resolve(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int fault = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (fault != 0) {
    return model::Error{"MASTER_ADDR", "'" + address + "' has no address: " + gai_strerror(fault),
                        "the host or address of rank 0"};
  }
  return Addresses(found, &freeaddrinfo);
}

Socket new_socket(const addrinfo& address) {
  const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
  return Socket(socket(address.ai_family, address.ai_socktype | flags, address.ai_protocol));
}

void send_at_once(const Socket& socket) {
  const int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

bool wait_for(const Socket& socket, short what, Time deadline) {
  pollfd one{socket.descriptor(), what, 0};
  int ready = 0;
  do {
    ready = poll(&one, 1, poll_milliseconds(deadline));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

/// One try; false where nobody listens there, or not before the deadline.
bool connects(const Socket& socket, const addrinfo& address, Time deadline) {
  if (connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS || !wait_for(socket, POLLOUT, deadline)) return false;
  int fault = 0;
  socklen_t size = sizeof fault;
  getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &fault, &size);
  return fault == 0;
}

Io outcome_of_error() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? Io::again : Io::closed;
}

}  // namespace

Socket::~Socket() { close(); }

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = other.release();
  }
  return *this;
}

void Socket::close() {
  if (is_open()) ::close(release());
}

int Socket::release() { return std::exchange(descriptor_, -1); }

int poll_milliseconds(Time deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  const auto count = std::chrono::ceil<Milliseconds>(left).count();
  return static_cast<int>(std::clamp<decltype(count)>(count, 0, 60'000));
}

bool wait_readable(const Socket& socket, Time deadline) {
  return wait_for(socket, POLLIN, deadline);
}
bool wait_writable(const Socket& socket, Time deadline) {
  return wait_for(socket, POLLOUT, deadline);
}

model::Result<Socket> listen_at(const std::string& address, int port) {
  const auto addresses = resolve(address, port);
  if (!addresses) return addresses.error();
  const addrinfo& first = **addresses;
  Socket socket = new_socket(first);
  const int on = 1;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(socket.descriptor(), first.ai_addr, first.ai_addrlen) != 0 ||
      listen(socket.descriptor(), SOMAXCONN) != 0) {
    return model::Error{"MASTER_PORT",
                        "cannot listen at " + text_of(address, port) + ": " + std::strerror(errno),
                        "MASTER_ADDR is an address of rank 0's host; another MASTER_PORT"};
  }
  return socket;
}

int port_of(const Socket& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(listening.descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? ntohs(reinterpret_cast<sockaddr_in6*>(&address)->sin6_port)
                                       : ntohs(reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

model::Result<Socket> connect_to(const std::string& address, int port, Time deadline) {
  const auto addresses = resolve(address, port);
  if (!addresses) return addresses.error();
  while (true) {
    for (const addrinfo* one = addresses->get(); one != nullptr; one = one->ai_next) {
      Socket socket = new_socket(*one);
      if (!socket.is_open() || !connects(socket, *one, deadline)) continue;
      send_at_once(socket);
      return socket;
    }
    if (std::chrono::steady_clock::now() + kBetweenTries >= deadline) {
      return model::Error{"MASTER_PORT", "nobody listens at " + text_of(address, port),
                          "rank 0 does; MASTER_ADDR and MASTER_PORT are the same for all"};
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

Io receive_some(const Socket& socket, std::vector<std::byte>& to) {
  constexpr std::size_t kAtOnce = 64 << 10;
  const std::size_t before = to.size();
  to.resize(before + kAtOnce);
  const ssize_t got = recv(socket.descriptor(), to.data() + before, kAtOnce, 0);
  to.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return outcome_of_error();
  return got == 0 ? Io::closed : Io::done;
}

Io send_some(const Socket& socket, std::span<const std::byte>& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return outcome_of_error();
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return Io::done;
}

}  // namespace tally::comm
