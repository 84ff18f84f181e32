#ifdef __linux__
#define _GNU_SOURCE
#endif

#include "CDatagrams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
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
        return 0;
      }
    }
    close(sockets[0]);
  }
  freeaddrinfo(info);
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

enum { batch_capacity = 256 };

/// Messages collected for one system call.
typedef struct {
  unsigned count;
  struct mmsghdr messages[batch_capacity];
  struct iovec vectors[batch_capacity];
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
  } controls[batch_capacity];
  /// Where each message begins.
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
                            .msg_iovlen = 1};
  batch->positions[index] = position;
  if (length > run->segment_length) {
    header->msg_control = &batch->controls[index];
    header->msg_controllen = sizeof batch->controls[index].bytes;
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    control->cmsg_level = SOL_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof run->segment_length);
    memcpy(CMSG_DATA(control), &run->segment_length, sizeof run->segment_length);
  }
}

vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, vidicon_datagram_position *position,
    bool *offload) {
  vidicon_datagram_result result = {0, 0};
  batch batch;
  // Whether the rest of the present destination is sent without offload: its route has a smaller MTU.
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
      bool offloads = *offload && !(is_single && next.destination == single_destination);
      size_t length = message_length(run, next.offset, offloads);
      append(&batch, bytes, run, length, destination, next);
      advance(&next, runs, run_count, length);
    }
    unsigned start = 0;
    while (start < batch.count) {
      int sent = sendmmsg(socket, batch.messages + start, batch.count - start, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        result.sent += sent;
        start += sent;
        continue;
      }
      if (errno == EINTR) continue;
      *position = batch.positions[start];
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return result;
      if (batch.messages[start].msg_hdr.msg_controllen > 0 &&
          (errno == EIO || errno == ENOPROTOOPT || errno == EINVAL || errno == EMSGSIZE)) {
        // Offload is not supported by the kernel, or not on this route: the datagrams are sent one by one.
        if (errno == EIO || errno == ENOPROTOOPT) *offload = false;
        is_single = true;
        single_destination = position->destination;
        break;
      }
      // This destination cannot be reached, or the error of an earlier datagram is reported; others are not affected.
      result.unreachable++;
      start++;
    }
    if (start == batch.count) *position = next;
  }
  return result;
}

#else

vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, vidicon_datagram_position *position,
    bool *offload) {
  vidicon_datagram_result result = {0, 0};
  *offload = false;
  while (position->destination < destination_count && run_count > 0) {
    const vidicon_destination *destination = &destinations[position->destination];
    const vidicon_datagram_run *run = &runs[position->run];
    size_t length = message_length(run, position->offset, false);
    if (destination->length == 0) {
      // Skipped.
    } else if (sendto(socket, bytes + run->offset + position->offset, length, MSG_DONTWAIT,
                      (const struct sockaddr *)&destination->address, destination->length) == (ssize_t)length) {
      result.sent++;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      return result;
    } else {
      result.unreachable++;
    }
    advance(position, runs, run_count, length);
  }
  return result;
}

#endif
