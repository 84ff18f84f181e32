// webrtc_floor FILE VIEWERS: the minimum cost of sending a stream to WebRTC viewers.
//
// Prints its port for one TCP connection, to which it writes its UDP port and from which it reads one port (two bytes, big-endian)
// per viewer, then repeatedly sends a recording of webrtc_sink at its original pace, on one thread: each packet with the viewer's own
// sequence numbers, sealed with the viewer's key by OpenSSL, in sendmmsg with segmentation offload. It sends a report of each track
// once a second, and decrypts and reads the viewers' RTCP as it arrives. Keys are agreed on without a handshake.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "rtsp.h"
#include "srtp.h"
#include "units.h"
#include "whep.h"

/// scratch_size: what is sealed before it is sent stays in the processor's cache.
enum { batch = 64, segments_at_once = 60, bytes_at_once = 64000, scratch_size = 512 * 1024, reads_at_once = 32, read_size = 2048 };
enum { video, audio, track_count };
static const long long second = 1000000000;
static const long long clock_rates[track_count] = {90000, 48000};

struct packet {
  uint8_t *bytes;
  size_t header_length, length;
  /// Offset of the transport-wide number; 0 without one.
  size_t number;
};

/// The packets of an access unit or audio frame.
struct media {
  struct packet *packets;
  int count;
};

struct viewer {
  struct sockaddr_in address;
  struct srtp seals, opens;
  /// Rollover counter and sequence number of the next packet.
  uint64_t indexes[track_count];
  uint16_t number;
  uint32_t packet_count[track_count], octet_count[track_count];
};

static struct viewer *viewers;
static int viewer_count, output, by_port[65536];
static long long start, next_report, arrivals;
static int next_reported;
static uint32_t ssrcs[track_count], base_timestamps[track_count];

static struct media parse(const struct unit *unit) {
  struct media media = {0};
  for (size_t position = 0; position < unit->header.length;) {
    uint8_t *bytes = unit->bytes + position + 4;
    struct packet packet = {.bytes = bytes, .length = read_short(bytes - 2)};
    packet.header_length = rtp_header_length(bytes, packet.length, transport_wide_identifier, &packet.number);
    if (!packet.header_length) fail("the recording has a malformed packet");
    media.packets = realloc(media.packets, (media.count + 1) * sizeof packet);
    media.packets[media.count++] = packet;
    position += 4 + packet.length;
  }
  return media;
}

static uint8_t scratch[scratch_size];
static size_t scratch_end;
static struct mmsghdr messages[batch];
static struct iovec vectors[batch];
static uint16_t segments[batch];
static union {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(uint16_t))];
} controls[batch];
static int waiting;

static void flush(void) {
  for (int i = 0; i < waiting; i++) {
    struct msghdr *message = &messages[i].msg_hdr;
    if (vectors[i].iov_len <= segments[i]) continue;
    struct cmsghdr *control = &controls[i].header;
    control->cmsg_level = SOL_UDP;
    control->cmsg_type = UDP_SEGMENT;
    control->cmsg_len = CMSG_LEN(sizeof segments[i]);
    memcpy(CMSG_DATA(control), &segments[i], sizeof segments[i]);
    message->msg_control = control;
    message->msg_controllen = sizeof controls[i];
  }
  for (int sent = 0; sent < waiting;) {
    int count = sendmmsg(output, messages + sent, waiting - sent, 0);
    // A viewer that has gone refuses datagrams.
    if (count < 0 && errno != ECONNREFUSED) fail("sendmmsg: %s", strerror(errno));
    sent += count < 0 ? 0 : count;
  }
  waiting = 0;
  scratch_end = 0;
}

/// Adds a datagram at the end of the scratch memory: to the last message where that has the viewer's datagrams of this length.
static void append(struct viewer *viewer, size_t length, bool begins) {
  struct iovec *last = waiting ? &vectors[waiting - 1] : NULL;
  if (!begins && last && length <= segments[waiting - 1] && last->iov_len % segments[waiting - 1] == 0 &&
      last->iov_len + length <= bytes_at_once && last->iov_len / segments[waiting - 1] < segments_at_once) {
    last->iov_len += length;
  } else {
    vectors[waiting] = (struct iovec){scratch + scratch_end, length};
    segments[waiting] = length;
    messages[waiting].msg_hdr = (struct msghdr){.msg_name = &viewer->address, .msg_namelen = sizeof viewer->address,
                                                .msg_iov = &vectors[waiting], .msg_iovlen = 1};
    waiting++;
  }
  scratch_end += length;
}

static void send_media(struct viewer *viewer, const struct media *media, int track, uint32_t timestamp_offset) {
  for (int i = 0; i < media->count; i++) {
    const struct packet *packet = &media->packets[i];
    uint8_t header[256];
    uint64_t index = viewer->indexes[track]++;
    if (scratch_end + packet->length + tag_length > scratch_size || waiting == batch) flush();
    memcpy(header, packet->bytes, packet->header_length);
    write_short(header + 2, index);
    write_word(header + 4, read_word(header + 4) + timestamp_offset);
    if (packet->number) write_short(header + packet->number, viewer->number++);
    size_t length = packet->length - packet->header_length;
    append(viewer, srtp_seal(&viewer->seals, index, header, packet->header_length, packet->bytes + packet->header_length, length,
                             scratch + scratch_end), i == 0);
    viewer->packet_count[track]++;
    viewer->octet_count[track] += length;
  }
}

/// Sends a sender report and CNAME of each track, RFC 3550 §6.4.1.
static void send_report(struct viewer *viewer) {
  static const uint8_t name[] = "\x01\x05" "floor\0\0\0\0";
  uint8_t report[256];
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  size_t end = 0;
  for (int track = 0; track < track_count; track++) {
    uint8_t *packet = report + end;
    write_word(packet, 0x80c80006);
    write_word(packet + 4, ssrcs[track]);
    write_word(packet + 8, time.tv_sec + 2208988800LL);
    write_word(packet + 12, ((uint64_t)time.tv_nsec << 32) / second);
    write_word(packet + 16, base_timestamps[track] + (now() - start) * clock_rates[track] / second);
    write_word(packet + 20, viewer->packet_count[track]);
    write_word(packet + 24, viewer->octet_count[track]);
    write_word(packet + 28, 0x81ca0004);
    write_word(packet + 32, ssrcs[track]);
    memcpy(packet + 36, name, 12);
    end += 48;
  }
  size_t length = srtcp_seal(&viewer->seals, report, end);
  if (sendto(output, report, length, 0, (struct sockaddr *)&viewer->address, sizeof viewer->address) < 0 && errno != ECONNREFUSED)
    fail("sendto: %s", strerror(errno));
}

/// Reads the packets of transport-wide feedback: statuses, then arrivals.
static void handle_feedback(const uint8_t *packet, size_t length) {
  int statuses = length >= 20 ? read_short(packet + 14) : 0;
  for (size_t position = 20; statuses > 0 && position + 2 <= length; position += 2) {
    uint16_t chunk = read_short(packet + position);
    int count = chunk & 0x8000 ? (chunk & 0x4000 ? 7 : 14) : chunk & 0x1fff;
    if (!(chunk & 0x8000) && chunk >> 13) arrivals += count < statuses ? count : statuses;
    statuses -= count;
  }
}

static void read_control(void) {
  static uint8_t buffers[reads_at_once][read_size];
  struct sockaddr_in sources[reads_at_once];
  struct iovec input[reads_at_once];
  struct mmsghdr received[reads_at_once];
  for (int i = 0; i < reads_at_once; i++) {
    input[i] = (struct iovec){buffers[i], read_size};
    received[i].msg_hdr = (struct msghdr){.msg_name = &sources[i], .msg_namelen = sizeof sources[i], .msg_iov = &input[i],
                                          .msg_iovlen = 1};
  }
  int count = recvmmsg(output, received, reads_at_once, MSG_DONTWAIT, NULL);
  for (int i = 0; i < count; i++) {
    int viewer = by_port[sources[i].sin_port] - 1;
    ssize_t end = viewer < 0 ? -1 : srtcp_open(&viewers[viewer].opens, buffers[i], received[i].msg_len);
    if (end < 0) fail("RTCP that is not authentic");
    for (ssize_t at = 0; at + 4 <= end;) {
      ssize_t length = 4 * (1 + read_short(buffers[i] + at + 2));
      if (buffers[i][at + 1] == 205 && at + length <= end) handle_feedback(buffers[i] + at, length);
      at += length;
    }
  }
}

/// Waits until a time; meanwhile reads RTCP, and sends the reports that are due.
static void wait_until(long long due) {
  for (;;) {
    long long time = now(), deadline = due < next_report ? due : next_report;
    if (time >= next_report) {
      send_report(&viewers[next_reported++ % viewer_count]);
      next_report += second / viewer_count;
    } else if (time >= due) {
      return;
    } else {
      struct pollfd poll = {.fd = output, .events = POLLIN};
      struct timespec rest = {.tv_sec = (deadline - time) / second, .tv_nsec = (deadline - time) % second};
      if (ppoll(&poll, 1, &rest, NULL) > 0) read_control();
    }
  }
}

static void add_viewers(int control) {
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof own;
  int size = 4 << 20;
  output = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(output, (struct sockaddr *)&own, sizeof own) < 0) fail("bind: %s", strerror(errno));
  setsockopt(output, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  setsockopt(output, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  getsockname(output, (struct sockaddr *)&own, &length);
  uint16_t *ports = calloc(viewer_count, sizeof *ports);
  if (send(control, &own.sin_port, sizeof own.sin_port, 0) < 0 ||
      recv(control, ports, viewer_count * sizeof *ports, MSG_WAITALL) != (ssize_t)(viewer_count * sizeof *ports))
    fail("no ports");
  for (int i = 0; i < viewer_count; i++) {
    uint8_t keys[exported_length];
    viewers[i].address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = ports[i], .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    by_port[ports[i]] = i + 1;
    floor_keys(i, keys);
    srtp_create(&viewers[i].seals, keys, true, true);
    srtp_create(&viewers[i].opens, keys, false, false);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) fail("usage: webrtc_floor FILE VIEWERS");
  struct recording recording = load_recording(argv[1]);
  struct media *media = calloc(recording.count, sizeof *media);
  for (int i = recording.count; i-- > 0;) {
    media[i] = parse(&recording.units[i]);
    const struct unit_header *header = &recording.units[i].header;
    const uint8_t *first = media[i].packets->bytes;
    ssrcs[header->track] = read_word(first + 8);
    // The timestamp at the start, by that of the track's first unit.
    base_timestamps[header->track] = read_word(first + 4) - header->time * clock_rates[header->track] / second;
  }
  viewer_count = atoi(argv[2]);
  viewers = calloc(viewer_count, sizeof *viewers);

  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 1) < 0) fail("cannot listen");
  getsockname(listener, (struct sockaddr *)&address, &length);
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  int control = accept(listener, NULL, NULL);
  add_viewers(control);

  start = next_report = now();
  for (long long loop = 0;; loop++) {
    for (int i = 0; i < recording.count; i++) {
      const struct unit_header *header = &recording.units[i].header;
      wait_until(start + loop * recording.period + header->time);
      char byte;
      if (recv(control, &byte, 1, MSG_DONTWAIT) == 0) return 0;  // The viewers have gone.
      uint32_t offset = loop * recording.period * clock_rates[header->track] / second;
      for (int viewer = 0; viewer < viewer_count; viewer++) send_media(&viewers[viewer], &media[i], header->track, offset);
      flush();
    }
  }
}
