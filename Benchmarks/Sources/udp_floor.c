// udp_floor FILE VIEWERS: the minimum cost of sending a stream to viewers over UDP.
//
// Prints its port for one TCP connection, from which it reads two ports (four bytes, big-endian) per viewer, then
// repeatedly sends a recording at its original pace: sendmmsg with segmentation offload, on one thread.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rtsp.h"
#include "units.h"

enum { batch = 256, segments_at_once = 64, bytes_at_once = 65000 };

/// Packets of one length, the last possibly shorter, that are sent in one message.
struct run {
  size_t offset, length;
  uint16_t segment;
};

/// The packets of an access unit without their four bytes of framing.
struct datagrams {
  unsigned char *bytes;
  struct run *runs;
  int count;
};

static struct datagrams make_datagrams(const struct unit *unit) {
  struct datagrams result = {malloc(unit->header.length), NULL, 0};
  size_t end = 0;
  int segments = 0;
  bool open = false;
  for (size_t position = 0; position < unit->header.length;) {
    size_t length = unit->bytes[position + 2] << 8 | unit->bytes[position + 3];
    memcpy(result.bytes + end, unit->bytes + position + 4, length);
    struct run *last = result.count ? &result.runs[result.count - 1] : NULL;
    if (open && length <= last->segment && segments < segments_at_once && last->length + length <= bytes_at_once) {
      last->length += length;
      segments++;
      open = length == last->segment;
    } else {
      result.runs = realloc(result.runs, (result.count + 1) * sizeof *result.runs);
      result.runs[result.count++] = (struct run){end, length, length};
      segments = 1;
      open = true;
    }
    end += length;
    position += 4 + length;
  }
  return result;
}

static struct mmsghdr messages[batch];
static struct iovec vectors[batch];
static union {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(uint16_t))];
} controls[batch];
static int waiting;

static void flush(int output) {
  for (int sent = 0; sent < waiting;) {
    int count = sendmmsg(output, messages + sent, waiting - sent, 0);
    if (count < 0) fail("sendmmsg: %s", strerror(errno));
    sent += count;
  }
  waiting = 0;
}

static void send_to(int output, struct sockaddr_in *address, const struct datagrams *datagrams) {
  for (int i = 0; i < datagrams->count; i++) {
    const struct run *run = &datagrams->runs[i];
    vectors[waiting] = (struct iovec){datagrams->bytes + run->offset, run->length};
    struct msghdr *message = &messages[waiting].msg_hdr;
    *message = (struct msghdr){
        .msg_name = address, .msg_namelen = sizeof *address, .msg_iov = &vectors[waiting], .msg_iovlen = 1};
    if (run->length > run->segment) {
      struct cmsghdr *control = &controls[waiting].header;
      control->cmsg_level = SOL_UDP;
      control->cmsg_type = UDP_SEGMENT;
      control->cmsg_len = CMSG_LEN(sizeof run->segment);
      memcpy(CMSG_DATA(control), &run->segment, sizeof run->segment);
      message->msg_control = control;
      message->msg_controllen = sizeof controls[waiting];
    }
    if (++waiting == batch) flush(output);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) fail("usage: udp_floor FILE VIEWERS");
  struct recording recording = load_recording(argv[1]);
  struct datagrams *datagrams = calloc(recording.count, sizeof *datagrams);
  for (int i = 0; i < recording.count; i++) datagrams[i] = make_datagrams(&recording.units[i]);
  int count = atoi(argv[2]);

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0) fail("cannot listen");
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  int control = accept(listener, NULL, NULL);
  uint16_t(*ports)[2] = calloc(count, sizeof *ports);
  if (recv(control, ports, count * sizeof *ports, MSG_WAITALL) != (ssize_t)(count * sizeof *ports)) fail("no ports");
  struct sockaddr_in(*viewers)[2] = calloc(count, sizeof *viewers);
  for (int i = 0; i < count; i++)
    for (int track = 0; track < 2; track++)
      viewers[i][track] = (struct sockaddr_in){
          .sin_family = AF_INET, .sin_port = ports[i][track], .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

  int output = socket(AF_INET, SOCK_DGRAM, 0), room = 4 << 20;
  setsockopt(output, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  for (long long start = now();; start += recording.period) {
    for (int i = 0; i < recording.count; i++) {
      struct unit *unit = &recording.units[i];
      long long due = start + unit->header.time;
      struct timespec time = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000};
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
      char byte;
      if (recv(control, &byte, 1, MSG_DONTWAIT) == 0) return 0;  // The viewers have gone.
      for (int viewer = 0; viewer < count; viewer++)
        send_to(output, &viewers[viewer][unit->header.track], &datagrams[i]);
      flush(output);
    }
  }
}
