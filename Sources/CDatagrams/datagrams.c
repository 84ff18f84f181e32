#ifdef __linux__
#define _GNU_SOURCE
#endif
#ifdef __APPLE__
#define __APPLE_USE_RFC_3542
#endif

#include "CDatagrams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#endif

/// Little, so that the datagrams of an access unit for many viewers wait in the program, and not in a queue of the network
/// interface, which drops those that it does not hold: with the usual 208 KiB a link with a queue of 60 kB lost 46%.
static const int send_buffer_length = 16 << 10;

/// For a publisher's keyframe, which comes at once; the system grants twice `net.core.rmem_max` at most.
static const int receive_buffer_length = 1 << 20;

static void set_port(struct sockaddr *address, uint16_t port) {
  if (address->sa_family == AF_INET6)
    ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
  else
    ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static uint16_t get_port(const struct sockaddr *address) {
  return ntohs(address->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                              : ((const struct sockaddr_in *)address)->sin_port);
}

static uint64_t read_big_endian(const uint8_t *bytes, int count) {
  uint64_t value = 0;
  for (int index = 0; index < count; index++) value = value << 8 | bytes[index];
  return value;
}

static void write_big_endian(uint64_t value, uint8_t *bytes) {
  for (int index = 7; index >= 0; index--, value >>= 8) bytes[index] = (uint8_t)value;
}

/// The upper 32 bits of the lower half of a mapped address, RFC 4291 2.5.5.2.
static const uint64_t mapped_prefix = 0xFFFF;

bool vidicon_endpoint_of(const struct sockaddr *address, vidicon_endpoint *endpoint) {
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)address;
    *endpoint = (vidicon_endpoint){.lower = ntohl(ipv4->sin_addr.s_addr), .port = ntohs(ipv4->sin_port)};
    return true;
  }
  if (address->sa_family != AF_INET6) return false;
  const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;
  const uint8_t *bytes = ipv6->sin6_addr.s6_addr;
  *endpoint = (vidicon_endpoint){.upper = read_big_endian(bytes, 8),
                                 .lower = read_big_endian(bytes + 8, 8),
                                 .port = ntohs(ipv6->sin6_port),
                                 .is_ipv6 = true,
                                 .scope = ipv6->sin6_scope_id};
  if (endpoint->upper == 0 && endpoint->lower >> 32 == mapped_prefix) {
    endpoint->lower &= 0xFFFFFFFF;
    endpoint->is_ipv6 = false;
    endpoint->scope = 0;
  }
  return true;
}

vidicon_destination vidicon_destination_of(const vidicon_endpoint *endpoint, bool mapped) {
  vidicon_destination destination;
  memset(&destination, 0, sizeof destination);
  if (!endpoint->is_ipv6 && !mapped) {
    struct sockaddr_in *ipv4 = (struct sockaddr_in *)&destination.address;
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(endpoint->port);
    ipv4->sin_addr.s_addr = htonl((uint32_t)endpoint->lower);
    destination.length = sizeof *ipv4;
    return destination;
  }
  struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)&destination.address;
  ipv6->sin6_family = AF_INET6;
  ipv6->sin6_port = htons(endpoint->port);
  ipv6->sin6_scope_id = endpoint->is_ipv6 ? endpoint->scope : 0;
  write_big_endian(endpoint->upper, ipv6->sin6_addr.s6_addr);
  write_big_endian(endpoint->is_ipv6 ? endpoint->lower : mapped_prefix << 32 | endpoint->lower,
                   ipv6->sin6_addr.s6_addr + 8);
  destination.length = sizeof *ipv6;
  return destination;
}

/// Room for the control messages of one message: its source, and the length of its segments.
typedef union {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(uint16_t))];
} controls;

/// Appends a control message. The memory of the message's controls has room for it.
static void append_control(struct msghdr *message, int level, int type, const void *data, size_t length) {
  struct cmsghdr *control = (struct cmsghdr *)((char *)message->msg_control + message->msg_controllen);
  control->cmsg_level = level;
  control->cmsg_type = type;
  control->cmsg_len = CMSG_LEN(length);
  memcpy(CMSG_DATA(control), data, length);
  message->msg_controllen += CMSG_SPACE(length);
}

/// Appends the source of a destination's datagrams, if it has one. A socket of IPv6 sends to mapped addresses by IPv4, from a source
/// that is one of IPv4.
static void append_source(struct msghdr *message, const vidicon_endpoint *source) {
  if ((source->upper | source->lower) == 0) return;
  if (source->is_ipv6) {
    struct in6_pktinfo info = {.ipi6_ifindex = source->scope};
    write_big_endian(source->upper, info.ipi6_addr.s6_addr);
    write_big_endian(source->lower, info.ipi6_addr.s6_addr + 8);
    append_control(message, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
  } else {
    struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl((uint32_t)source->lower)};
    append_control(message, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
  }
}

/// Opens one socket; port 0 for any free one. Returns the socket, or -1 with errno set.
static int open_one(const struct addrinfo *info, uint16_t port, uint16_t *bound) {
  struct sockaddr_storage address;
  socklen_t length = info->ai_addrlen;
  memcpy(&address, info->ai_addr, length);
  set_port((struct sockaddr *)&address, port);
  int descriptor = socket(info->ai_family, SOCK_DGRAM, 0);
  if (descriptor < 0) return -1;
  int off = 0;
  if (info->ai_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer_length, sizeof send_buffer_length);
  setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receive_buffer_length, sizeof receive_buffer_length);
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0 || fcntl(descriptor, F_SETFL, O_NONBLOCK) < 0 ||
      bind(descriptor, (struct sockaddr *)&address, length) < 0 ||
      getsockname(descriptor, (struct sockaddr *)&address, &length) < 0) {
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
  }
  *bound = get_port((struct sockaddr *)&address);
  return descriptor;
}

int vidicon_datagrams_open_pair(const char *address, int *sockets, uint16_t *ports) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_DGRAM};
  struct addrinfo *info = NULL;
  if (getaddrinfo(address, "0", &hints, &info) != 0) return EADDRNOTAVAIL;
  int error = EADDRINUSE;
  // The system assigns any free port; retries when it is odd, or the next port is in use.
  for (int attempt = 0; attempt < 256; attempt++) {
    sockets[0] = open_one(info, 0, &ports[0]);
    if (sockets[0] < 0) {
      error = errno;
      break;
    }
    if (ports[0] % 2 == 0) {
      sockets[1] = open_one(info, ports[0] + 1, &ports[1]);
      if (sockets[1] >= 0) {
        freeaddrinfo(info);
        // After the port was found to be free: sockets of routes share it, and nothing else.
        int on = 1;
        setsockopt(sockets[0], SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
        return 0;
      }
    }
    close(sockets[0]);
  }
  freeaddrinfo(info);
  return error;
}

int vidicon_datagrams_open(const char *address, int *socket, uint16_t *port) {
  struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_DGRAM};
  struct addrinfo *info = NULL;
  if (getaddrinfo(address, "0", &hints, &info) != 0) return EADDRNOTAVAIL;
  *socket = open_one(info, *port, port);
  int error = *socket < 0 ? errno : 0;
  freeaddrinfo(info);
  return error;
}

int vidicon_datagrams_adopt(int socket, uint16_t *port, bool *is_ipv6) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &send_buffer_length, sizeof send_buffer_length);
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer_length, sizeof receive_buffer_length);
  if (fcntl(socket, F_SETFD, FD_CLOEXEC) < 0 || fcntl(socket, F_SETFL, O_NONBLOCK) < 0 ||
      getsockname(socket, (struct sockaddr *)&address, &length) < 0) {
    int error = errno;
    close(socket);
    return error;
  }
  *port = get_port((struct sockaddr *)&address);
  *is_ipv6 = address.ss_family == AF_INET6;
  return 0;
}

int vidicon_datagrams_open_route(const vidicon_endpoint *address, bool mapped, int *result) {
  vidicon_destination local = vidicon_destination_of(address, mapped);
  int descriptor = socket(((struct sockaddr *)&local.address)->sa_family, SOCK_DGRAM, 0);
  *result = descriptor;
  if (descriptor < 0) return errno;
  int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer_length, sizeof send_buffer_length);
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
      fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 &&
      bind(descriptor, (struct sockaddr *)&local.address, local.length) == 0)
    return 0;
  int error = errno;
  close(descriptor);
  *result = -1;
  return error;
}

int vidicon_datagrams_send_buffer(int socket) {
  int length = -1;
  socklen_t size = sizeof length;
  return getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &length, &size) < 0 ? -1 : length;
}

/// Length of the datagrams of a run that leave in one message from an offset on.
static size_t message_length(const vidicon_datagram_run *run, size_t offset, bool offload) {
  size_t left = run->length - offset;
  return offload || left < run->segment_length ? left : run->segment_length;
}

/// Moves a position behind a message.
static void advance(vidicon_datagram_position *position, const vidicon_datagram_run *runs, size_t run_count,
                    size_t length) {
  position->offset += length;
  if (position->offset < runs[position->run].length) return;
  position->offset = 0;
  if (++position->run < run_count) return;
  position->run = 0;
  position->destination++;
}

#ifdef __linux__

enum { batch_capacity = 256, known_route_count = 1024, known_route_lifetime = 60 };

/// Destinations whose route does not support segmentation offload, each at an index of its hash: the hash in the upper half, and
/// in the lower one the second in which that was noticed. Of two with one index, the later one is known.
static _Atomic uint64_t known_routes[known_route_count];
static atomic_bool has_known_routes;

/// Hash of an IP address without its port, FNV-1a.
static uint32_t route_hash(const struct sockaddr *address) {
  const uint8_t *bytes = (const uint8_t *)&((const struct sockaddr_in *)address)->sin_addr;
  size_t length = sizeof(struct in_addr);
  if (address->sa_family == AF_INET6) {
    bytes = (const uint8_t *)&((const struct sockaddr_in6 *)address)->sin6_addr;
    length = sizeof(struct in6_addr);
  }
  uint32_t hash = 2166136261u;
  for (size_t index = 0; index < length; index++) hash = (hash ^ bytes[index]) * 16777619u;
  return hash;
}

static uint32_t current_second(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint32_t)now.tv_sec;
}

/// Whether offload is worth trying: unless the route of this address failed within the last minute.
static bool supports_offload(const vidicon_destination *destination) {
  if (!atomic_load_explicit(&has_known_routes, memory_order_relaxed)) return true;
  uint32_t hash = route_hash((const struct sockaddr *)&destination->address);
  uint64_t known = atomic_load_explicit(&known_routes[hash % known_route_count], memory_order_relaxed);
  return known >> 32 != hash || current_second() - (uint32_t)known >= known_route_lifetime;
}

static void note_route_without_offload(const struct sockaddr *address) {
  uint32_t hash = route_hash(address);
  atomic_store_explicit(&known_routes[hash % known_route_count], (uint64_t)hash << 32 | current_second(),
                        memory_order_relaxed);
  atomic_store_explicit(&has_known_routes, true, memory_order_relaxed);
}

/// Messages collected for one system call.
typedef struct {
  unsigned count;
  struct mmsghdr messages[batch_capacity];
  struct iovec vectors[batch_capacity];
  controls controls[batch_capacity];
  /// Whether the system splits each message into datagrams.
  bool is_segmented[batch_capacity];
  /// Offset at which each message begins.
  vidicon_datagram_position positions[batch_capacity];
} batch;

static void append(batch *batch, const uint8_t *bytes, const vidicon_datagram_run *run, size_t length,
                   const vidicon_destination *destination, vidicon_datagram_position position) {
  unsigned index = batch->count++;
  struct msghdr *header = &batch->messages[index].msg_hdr;
  batch->vectors[index] = (struct iovec){.iov_base = (void *)(bytes + run->offset + position.offset), .iov_len = length};
  *header = (struct msghdr){.msg_name = (void *)&destination->address,
                            .msg_namelen = destination->length,
                            .msg_iov = &batch->vectors[index],
                            .msg_iovlen = 1,
                            .msg_control = &batch->controls[index]};
  batch->positions[index] = position;
  batch->is_segmented[index] = length > run->segment_length;
  append_source(header, &destination->source);
  if (batch->is_segmented[index])
    append_control(header, SOL_UDP, UDP_SEGMENT, &run->segment_length, sizeof run->segment_length);
}

/// Outcome of a batch.
typedef enum {
  /// Everything is sent, or cannot be.
  batch_done,
  /// The send buffer is full.
  batch_full,
  /// The route of a destination does not support offload.
  batch_without_offload
} batch_outcome;

/// Sends a batch.
///
/// position: set to the first message that is not sent, unless the batch is done.

static batch_outcome send_batch(int socket, batch *batch, vidicon_datagram_position *position,
                                vidicon_datagram_result *result, bool *offload) {
  unsigned start = 0;
  while (start < batch->count) {
    int sent = sendmmsg(socket, batch->messages + start, batch->count - start, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      result->sent += sent;
      for (int index = 0; index < sent; index++) result->byte_count += batch->vectors[start + index].iov_len;
      start += sent;
      continue;
    }
    if (errno == EINTR) continue;
    *position = batch->positions[start];
    result->lacks_memory = errno == ENOBUFS;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return batch_full;
    if (batch->is_segmented[start] &&
        (errno == EIO || errno == ENOPROTOOPT || errno == EINVAL || errno == EMSGSIZE)) {
      // Offload is not supported by the kernel, or not on this route: the datagrams are sent one by one.
      if (errno == ENOPROTOOPT) *offload = false;
      if (errno == EIO) note_route_without_offload(batch->messages[start].msg_hdr.msg_name);
      return batch_without_offload;
    }
    // This destination cannot be reached, its source is no address of this machine any more, or the error of an earlier datagram is
    // reported; others are not affected.
    result->unreachable++;
    start++;
  }
  return batch_done;
}

vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, vidicon_datagram_position *position,
    bool *offload) {
  vidicon_datagram_result result = {0};
  batch batch;
  // Whether the rest of the current destination is sent without offload: its route has a smaller MTU.
  bool is_single = false;
  size_t single_destination = 0;
  while (position->destination < destination_count && run_count > 0) {
    batch.count = 0;
    vidicon_datagram_position next = *position;
    while (batch.count < batch_capacity && next.destination < destination_count) {
      const vidicon_destination *destination = &destinations[next.destination];
      if (destination->length == 0) {
        next = (vidicon_datagram_position){.destination = next.destination + 1};
        continue;
      }
      const vidicon_datagram_run *run = &runs[next.run];
      bool offloads =
          *offload && !(is_single && next.destination == single_destination) && supports_offload(destination);
      size_t length = message_length(run, next.offset, offloads);
      append(&batch, bytes, run, length, destination, next);
      advance(&next, runs, run_count, length);
    }
    switch (send_batch(socket, &batch, position, &result, offload)) {
      case batch_done:
        *position = next;
        break;
      case batch_full:
        return result;
      case batch_without_offload:
        is_single = true;
        single_destination = position->destination;
        break;
    }
  }
  return result;
}

vidicon_datagram_result vidicon_datagrams_send_messages(
    int socket, const uint8_t *bytes, const vidicon_datagram_message *messages, size_t message_count,
    vidicon_datagram_position *position, bool *offload) {
  vidicon_datagram_result result = {0};
  batch batch;
  bool is_single = false;
  size_t single_message = 0;
  while (position->destination < message_count) {
    batch.count = 0;
    vidicon_datagram_position next = *position;
    while (batch.count < batch_capacity && next.destination < message_count) {
      const vidicon_datagram_message *message = &messages[next.destination];
      bool offloads =
          *offload && !(is_single && next.destination == single_message) && supports_offload(&message->destination);
      size_t length = message_length(&message->run, next.offset, offloads);
      append(&batch, bytes, &message->run, length, &message->destination, next);
      advance(&next, &message->run, 1, length);
    }
    switch (send_batch(socket, &batch, position, &result, offload)) {
      case batch_done:
        *position = next;
        break;
      case batch_full:
        return result;
      case batch_without_offload:
        is_single = true;
        single_message = position->destination;
        break;
    }
  }
  return result;
}

#else

/// Sends one datagram. Returns whether it is sent; else errno is set.
static bool send_one(int socket, const uint8_t *bytes, size_t length, const vidicon_destination *destination) {
  controls controls;
  struct iovec vector = {.iov_base = (void *)bytes, .iov_len = length};
  struct msghdr message = {.msg_name = (void *)&destination->address,
                           .msg_namelen = destination->length,
                           .msg_iov = &vector,
                           .msg_iovlen = 1,
                           .msg_control = &controls};
  append_source(&message, &destination->source);
  if (message.msg_controllen == 0) message.msg_control = NULL;
  return sendmsg(socket, &message, MSG_DONTWAIT) == (ssize_t)length;
}

vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, vidicon_datagram_position *position,
    bool *offload) {
  vidicon_datagram_result result = {0};
  *offload = false;
  while (position->destination < destination_count && run_count > 0) {
    const vidicon_destination *destination = &destinations[position->destination];
    const vidicon_datagram_run *run = &runs[position->run];
    size_t length = message_length(run, position->offset, false);
    if (destination->length == 0) {
      // Skipped.
    } else if (send_one(socket, bytes + run->offset + position->offset, length, destination)) {
      result.sent++;
      result.byte_count += length;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      result.lacks_memory = errno == ENOBUFS;
      return result;
    } else {
      result.unreachable++;
    }
    advance(position, runs, run_count, length);
  }
  return result;
}

vidicon_datagram_result vidicon_datagrams_send_messages(
    int socket, const uint8_t *bytes, const vidicon_datagram_message *messages, size_t message_count,
    vidicon_datagram_position *position, bool *offload) {
  vidicon_datagram_result result = {0};
  while (position->destination < message_count) {
    const vidicon_datagram_message *message = &messages[position->destination];
    vidicon_datagram_position one = {.destination = 0, .run = 0, .offset = position->offset};
    vidicon_datagram_result part =
        vidicon_datagrams_send(socket, bytes, &message->run, 1, &message->destination, 1, &one, offload);
    result.sent += part.sent;
    result.byte_count += part.byte_count;
    result.unreachable += part.unreachable;
    result.lacks_memory = part.lacks_memory;
    position->offset = one.offset;
    if (one.destination == 0) return result;
    position->destination++;
    position->offset = 0;
  }
  return result;
}

#endif
