// sink tcp|tls|udp rtsp|floor PORT NAME VIEWERS SECONDS: many viewers in one program, which measure and discard what they
// read.
//
// "rtsp" viewers set up and play the stream NAME of an RTSP server on PORT, with "tls" of an RTSPS server; "floor" viewers only connect, as tcp_floor
// and udp_floor expect. Prints "ready" once every viewer has received a frame and two more seconds have passed, reads
// for SECONDS, and prints a line of JSON: bytes, reads, frames, lost datagrams, and arrival jitter, which is the interval
// between two arrivals (of packets with the marker bit) minus the interval between their timestamps; and the age of frames at
// their arrival, by the last sender report of the video track, in milliseconds: 0 for servers that send none, such as the floors.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rtsp.h"

/// head_length: the RTP header, RFC 3550 5.1; report_length: a sender report up to its RTP timestamp, 6.4.1.
enum { ticks = 10000, nanoseconds_a_tick = 20000, head_length = 12, report_length = 20 };
/// Channel of the video track's RTCP packets; its socket over UDP.
enum { report_channel = 1, video_report_index = 2 };

struct viewer {
  int connection;
  char session[64];
  bool started;

  // The interleaved frame or reply being read from the connection.
  bool in_reply;
  unsigned char head[4 + report_length];
  int head_count;
  size_t to_skip;
  uint32_t reply_end;

  // The last video frame.
  bool has_frame;
  long long arrival;
  uint32_t timestamp;

  // The last sender report of the video track: nanoseconds since 1970, and the timestamp of that instant.
  bool has_report;
  long long report_time;
  uint32_t report_timestamp;

  // The next sequence number of each track over UDP.
  bool has_sequence[2];
  uint16_t sequence[2];
};

/// Kind of a viewer's socket: the low bits of the epoll data.
enum { connection_socket, video_socket, audio_socket, report_socket };

static struct viewer *viewers;
static int viewer_count, started_count;
static bool measuring;
static long long bytes, reads, frames, lost, jitter[ticks + 1], ages[ticks + 1];

static long long unix_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static uint32_t read_word(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static void count(long long histogram[ticks + 1], long long nanoseconds) {
  long long tick = nanoseconds < 0 ? 0 : nanoseconds / nanoseconds_a_tick;
  histogram[tick < ticks ? tick : ticks]++;
}

/// Reads a compound packet that begins with a sender report.
static void handle_report(struct viewer *viewer, const unsigned char *packet, size_t length) {
  if (length < report_length || packet[1] != 200) return;
  // NTP counts from 1900; the fraction is in 1 / 2^32 s.
  long long seconds = (long long)read_word(packet + 8) - 2208988800LL;
  viewer->report_time = seconds * 1000000000LL + (long long)((read_word(packet + 12) * 1000000000ULL) >> 32);
  viewer->report_timestamp = read_word(packet + 16);
  viewer->has_report = true;
}

/// Counts the datagrams that are missing before one.
static void count_lost(struct viewer *viewer, const unsigned char *packet, int track) {
  uint16_t sequence = packet[2] << 8 | packet[3];
  uint16_t missing = sequence - viewer->sequence[track];
  if (viewer->has_sequence[track] && measuring && missing < 0x8000) lost += missing;
  viewer->has_sequence[track] = true;
  viewer->sequence[track] = sequence + 1;
}

static void handle_frame(struct viewer *viewer, const unsigned char *packet, long long arrival) {
  uint32_t timestamp = read_word(packet + 4);
  if (viewer->has_frame && measuring) {
    long long expected = (int32_t)(timestamp - viewer->timestamp) * 100000LL / 9;
    long long error = llabs(arrival - viewer->arrival - expected);
    frames++;
    // The floor programs repeat their recording, and timestamps jump then.
    if (llabs(expected) < 1000000000) count(jitter, error);
    if (viewer->has_report) {
      long long captured = viewer->report_time + (int32_t)(timestamp - viewer->report_timestamp) * 100000LL / 9;
      count(ages, unix_time() - captured);
    }
  }
  if (!viewer->has_frame) started_count++;
  viewer->has_frame = true;
  viewer->arrival = arrival;
  viewer->timestamp = timestamp;
}

/// Parses the available interleaved frames and replies, up to their headers.
static void parse(struct viewer *viewer, const unsigned char *data, size_t count, long long arrival) {
  for (size_t i = 0; i < count;) {
    if (viewer->in_reply) {
      viewer->reply_end = viewer->reply_end << 8 | data[i++];
      viewer->in_reply = viewer->reply_end != 0x0d0a0d0a;
    } else if (viewer->to_skip) {
      size_t skipped = viewer->to_skip < count - i ? viewer->to_skip : count - i;
      viewer->to_skip -= skipped;
      i += skipped;
    } else {
      unsigned char *head = viewer->head;
      head[viewer->head_count++] = data[i++];
      if (head[0] != '$') {
        viewer->in_reply = true;
        viewer->head_count = 0;
      } else if (viewer->head_count >= 4) {
        size_t length = head[2] << 8 | head[3];
        size_t most = head[1] == report_channel ? report_length : head_length;
        size_t wanted = length < most ? length : most;
        if (viewer->head_count < 4 + (int)wanted) continue;
        if (head[1] == 0 && wanted == head_length && head[5] & 0x80) handle_frame(viewer, head + 4, arrival);
        if (head[1] == report_channel) handle_report(viewer, head + 4, wanted);
        viewer->to_skip = length - wanted;
        viewer->head_count = 0;
      }
    }
  }
}

static void read_connection(struct viewer *viewer) {
  static unsigned char buffer[1 << 18];
  ssize_t count = tcp_receive(viewer->connection, buffer, sizeof buffer);
  if (count == 0 || (count < 0 && errno != EAGAIN)) fail("a viewer was disconnected");
  if (count < 0) return;
  if (measuring) bytes += count;
  if (measuring) reads++;
  parse(viewer, buffer, count, now());
}

/// Reads datagrams; the kernel coalesces those that were sent in one call.
static void read_datagrams(struct viewer *viewer, int input, int kind, int index) {
  static unsigned char buffer[1 << 16];
  char control[CMSG_SPACE(sizeof(int))];
  struct iovec vector = {buffer, sizeof buffer};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t count = recvmsg(input, &message, MSG_DONTWAIT);
  if (count <= 0) return;
  if (measuring) bytes += count;
  if (measuring) reads++;
  if (index == video_report_index) handle_report(viewer, buffer, count);
  if (kind == report_socket) return;
  long long arrival = now();
  int segment = count;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
    if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) memcpy(&segment, CMSG_DATA(c), sizeof segment);
  for (ssize_t i = 0; i + head_length <= count; i += segment) {
    count_lost(viewer, buffer + i, kind == audio_socket);
    if (kind == video_socket && buffer[i + 1] & 0x80) handle_frame(viewer, buffer + i, arrival);
  }
}

/// Opens an even UDP port and the next one; returns the even one.
static int open_pair(int sockets[2]) {
  static int next = 20000;
  for (; next < 65000; next += 2) {
    int opened = 0;
    for (; opened < 2; opened++) {
      struct sockaddr_in address = {
          .sin_family = AF_INET, .sin_port = htons(next + opened), .sin_addr.s_addr = htonl(INADDR_ANY)};
      int on = 1, room = 4 << 20;
      sockets[opened] = socket(AF_INET, SOCK_DGRAM, 0);
      setsockopt(sockets[opened], SOL_UDP, UDP_GRO, &on, sizeof on);
      setsockopt(sockets[opened], SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
      if (bind(sockets[opened], (struct sockaddr *)&address, sizeof address) < 0) break;
    }
    if (opened == 2) {
      next += 2;
      return next - 2;
    }
    for (int i = 0; i <= opened && i < 2; i++) close(sockets[i]);
  }
  fail("no UDP ports are left");
}

static double percentile(const long long histogram[ticks + 1], double part) {
  long long all = 0, seen = 0;
  for (int i = 0; i <= ticks; i++) all += histogram[i];
  if (!all) return 0;
  for (int i = 0; i <= ticks; i++) {
    seen += histogram[i];
    if (seen >= part * all) return (i + 1) * (nanoseconds_a_tick / 1e6);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 7) fail("usage: sink tcp|tls|udp rtsp|floor PORT NAME VIEWERS SECONDS");
  bool udp = !strcmp(argv[1], "udp"), rtsp = !strcmp(argv[2], "rtsp");
  int port = atoi(argv[3]);
  const char *name = argv[4];
  viewer_count = atoi(argv[5]);
  long long duration = atoll(argv[6]) * 1000000000;
  raise_open_files();
  viewers = calloc(viewer_count, sizeof *viewers);
  int poll = epoll_create1(0);
  uint16_t(*ports)[2] = calloc(viewer_count, sizeof *ports);
  int(*descriptors)[5] = calloc(viewer_count, sizeof *descriptors);

  for (int i = 0; i < viewer_count; i++) {
    struct viewer *viewer = &viewers[i];
    int rtp_ports[2];
    int kinds[5] = {connection_socket, video_socket, report_socket, audio_socket, report_socket};
    descriptors[i][0] = viewer->connection = rtsp || !udp || i == 0 ? tcp_connect(port) : -1;
    for (int track = 0; udp && track < 2; track++) {
      rtp_ports[track] = open_pair(&descriptors[i][1 + track * 2]);
      ports[i][track] = htons(rtp_ports[track]);
    }
    for (int j = 0; j < (udp ? 5 : 1); j++) {
      struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)i << 8 | j << 4 | kinds[j]};
      if (descriptors[i][j] >= 0) epoll_ctl(poll, EPOLL_CTL_ADD, descriptors[i][j], &event);
    }
    if (!strcmp(argv[1], "tls")) tcp_secure(viewer->connection);
    if (rtsp) rtsp_set_up(viewer->connection, port, name, udp ? rtp_ports : NULL, viewer->session);
  }
  if (rtsp)
    for (int i = 0; i < viewer_count; i++) rtsp_play(viewers[i].connection, port, name, viewers[i].session);
  else if (udp && send(viewers[0].connection, ports, viewer_count * sizeof *ports, 0) < 0)
    fail("send: %s", strerror(errno));

  long long begin = now(), all_started = 0, end = 0;
  for (long long time = begin; !end || time < end; time = now()) {
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, 100);
    for (int i = 0; i < count; i++) {
      uint64_t data = events[i].data.u64;
      struct viewer *viewer = &viewers[data >> 8];
      if ((data & 15) == connection_socket)
        read_connection(viewer);
      else
        read_datagrams(viewer, descriptors[data >> 8][data >> 4 & 15], data & 15, data >> 4 & 15);
    }
    if (!all_started && started_count == viewer_count) all_started = now();
    if (!all_started && now() - begin > 30000000000LL) fail("%d of %d viewers see a frame", started_count, viewer_count);
    if (all_started && !measuring && now() - all_started > 2000000000LL) {
      measuring = true;
      end = now() + duration;
      puts("ready");
      fflush(stdout);
    }
  }
  printf("{\"viewers\":%d,\"bytes\":%lld,\"reads\":%lld,\"frames\":%lld,\"lost\":%lld,\"jitterP50\":%.2f,"
         "\"jitterP99\":%.2f,\"ageP50\":%.2f,\"ageP99\":%.2f}\n",
         viewer_count, bytes, reads, frames, lost, percentile(jitter, 0.5), percentile(jitter, 0.99), percentile(ages, 0.5),
         percentile(ages, 0.99));
}
