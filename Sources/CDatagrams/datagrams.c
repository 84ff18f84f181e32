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

static const int send_buffer_length = 4 << 20;

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

#ifdef __linux__

enum { batch_capacity = 256 };

/// Messages collected for one system call.
typedef struct {
  int socket;
  unsigned count;
  struct mmsghdr messages[batch_capacity];
  struct iovec vectors[batch_capacity];
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(uint16_t))];
  } controls[batch_capacity];
  vidicon_datagram_result result;
  /// Set when the kernel does not support segmentation offload.
  bool offload_refused;
  /// Set when the send buffer is full.
  bool full;
} batch;

/// Sends the segments of a message one by one, without offload. Returns whether all were accepted.
static bool send_singly(int socket, struct msghdr *header) {
  uint16_t segment_length;
  memcpy(&segment_length, CMSG_DATA(CMSG_FIRSTHDR(header)), sizeof segment_length);
  struct iovec whole = *header->msg_iov;
  struct msghdr single = *header;
  single.msg_control = NULL;
  single.msg_controllen = 0;
  for (size_t position = 0; position < whole.iov_len; position += segment_length) {
    size_t left = whole.iov_len - position;
    struct iovec part = {.iov_base = (char *)whole.iov_base + position,
                         .iov_len = left < segment_length ? left : segment_length};
    single.msg_iov = &part;
    if (sendmsg(socket, &single, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return false;
  }
  return true;
}

static void flush(batch *batch) {
  unsigned start = 0;
  while (start < batch->count && !batch->full) {
    int sent = sendmmsg(batch->socket, batch->messages + start, batch->count - start, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      batch->result.sent += sent;
      start += sent;
    } else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      batch->full = true;
    } else if (errno != EINTR) {
      // Offload may be unsupported by the kernel, or on this route (a smaller MTU). Any other error means that this
      // destination is unreachable; the other destinations are not affected.
      struct msghdr *header = &batch->messages[start].msg_hdr;
      bool is_offloaded = header->msg_controllen > 0;
      if (is_offloaded && (errno == EIO || errno == ENOPROTOOPT)) batch->offload_refused = true;
      if (is_offloaded && (errno == EIO || errno == ENOPROTOOPT || errno == EINVAL || errno == EMSGSIZE) &&
          send_singly(batch->socket, header))
        batch->result.sent++;
      else
        batch->result.dropped++;
      start++;
    }
  }
  batch->result.dropped += batch->count - start;
  batch->count = 0;
}

static void append(batch *batch, const uint8_t *bytes, size_t length, uint16_t segment_length,
                   const vidicon_destination *destination) {
  unsigned index = batch->count++;
  struct msghdr *header = &batch->messages[index].msg_hdr;
  batch->vectors[index] = (struct iovec){.iov_base = (void *)bytes, .iov_len = length};
  *header = (struct msghdr){.msg_name = (void *)&destination->address,
                            .msg_namelen = destination->length,
                            .msg_iov = &batch->vectors[index],
                            .msg_iovlen = 1};
  if (segment_length != 0) {
    header->msg_control = &batch->controls[index];
    header->msg_controllen = sizeof batch->controls[index].bytes;
    struct cmsghdr *control = CMSG_FIRSTHDR(header);
    control->cmsg_level = SOL_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof segment_length);
    memcpy(CMSG_DATA(control), &segment_length, sizeof segment_length);
  }
  if (batch->count == batch_capacity) flush(batch);
}

vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, bool *offload) {
  batch batch;
  batch.socket = socket;
  batch.count = 0;
  batch.result = (vidicon_datagram_result){0, 0};
  batch.offload_refused = false;
  batch.full = false;
  for (size_t viewer = 0; viewer < destination_count; viewer++) {
    for (size_t index = 0; index < run_count; index++) {
      const vidicon_datagram_run *run = &runs[index];
      if (run->length <= run->segment_length || *offload) {
        append(&batch, bytes + run->offset, run->length, run->length > run->segment_length ? run->segment_length : 0,
               &destinations[viewer]);
      } else {
        for (size_t position = 0; position < run->length; position += run->segment_length) {
          size_t left = run->length - position;
          append(&batch, bytes + run->offset + position, left < run->segment_length ? left : run->segment_length, 0,
                 &destinations[viewer]);
        }
      }
    }
  }
  flush(&batch);
  // The next call sends without offload.
  if (batch.offload_refused) *offload = false;
  return batch.result;
}

#else

vidicon_datagram_result vidicon_datagrams_send(
    int socket, const uint8_t *bytes, const vidicon_datagram_run *runs, size_t run_count,
    const vidicon_destination *destinations, size_t destination_count, bool *offload) {
  vidicon_datagram_result result = {0, 0};
  *offload = false;
  for (size_t viewer = 0; viewer < destination_count; viewer++) {
    for (size_t index = 0; index < run_count; index++) {
      const vidicon_datagram_run *run = &runs[index];
      for (size_t position = 0; position < run->length; position += run->segment_length) {
        size_t left = run->length - position;
        size_t length = left < run->segment_length ? left : run->segment_length;
        const vidicon_destination *destination = &destinations[viewer];
        if (sendto(socket, bytes + run->offset + position, length, MSG_DONTWAIT,
                   (const struct sockaddr *)&destination->address, destination->length) == (ssize_t)length)
          result.sent++;
        else
          result.dropped++;
      }
    }
  }
  return result;
}

#endif
