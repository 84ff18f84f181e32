// webrtc_sink whep|floor PORT NAME VIEWERS SECONDS: many WebRTC viewers in one program, which measure and discard what they read.
// webrtc_sink record PORT NAME SECONDS FILE: stores the decrypted packets of one viewer, for webrtc_floor to send again.
// webrtc_sink first PORT NAME COUNT PAUSE: prints the times from POST to the first complete keyframe, in milliseconds, of viewers
// that come one by one, PAUSE milliseconds apart.
// webrtc_sink join PORT NAME COUNT 0: viewers that come at once to a stream that one watches already; prints a line of JSON: viewers
// with a complete keyframe, time from the first POST to the last of them, and the keyframes that the other viewer saw meanwhile.
// webrtc_sink handshake PORT NAME COUNT 0: offers, checks and DTLS without a nomination, so that no media follows; prints
// "answered", reads a line, checks and prints "connected".
//
// "whep" viewers play the stream NAME of an HTTP server on PORT; "floor" viewers have sockets and keys only, as webrtc_floor expects.
// Prints "ready" once every viewer has a keyframe and two more seconds have passed, reads for SECONDS, and prints a line of JSON:
// bytes, reads, packets, frames, lost packets; jitter, which is the interval between two arrivals of packets with the marker bit less
// the interval between their timestamps; the spread of a frame, which is the interval between its last packet's arrival at the first
// viewer and at the last one; and the number of frames whose spread is more than a frame interval of 30 a second.
//
// Each viewer sends transport-wide feedback ten times a second, a receiver report each second and a consent check each five seconds,
// as browsers do. Only the first viewer decrypts all packets, the others until their first keyframe. Arrival times are the kernel's.
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

#include "feedback.h"
#include "rtsp.h"
#include "units.h"
#include "whep.h"

enum { ticks = 10000, nanoseconds_a_tick = 20000, messages_at_once = 8, message_size = 1 << 16, kept_frames = 64 };
static const long long second = 1000000000, feedback_period = 100000000, frame_interval = 33333333;
/// Time within which capture times are of the same frame.
static const long long frame_tolerance = 4000000;

enum { video, audio, retransmission, source_count };

struct viewer {
  struct whep client;
  struct source sources[source_count];
  struct arrivals arrivals;
  unsigned feedback_count;

  // The last video frame.
  bool has_frame;
  long long arrival;
  uint32_t timestamp;

  // The last sender report of the video track: nanoseconds since 1970, and the timestamp of that instant.
  bool has_report;
  long long report_time;
  uint32_t report_timestamp;

  // The frame being received: whether it began with an IDR slice, and whether a packet is missing.
  bool is_keyframe, has_gap;
  /// Time of the first complete keyframe; 0 before.
  long long first_keyframe;
};

/// A frame at all viewers.
struct frame {
  long long captured, first, last;
  int count;
};

static struct viewer *viewers;
static int viewer_count, started_count, poll_descriptor;
static bool measuring;
static long long begin, next_feedback;
static int next_viewer;
static long long bytes, reads, packets, frames, lost, late, complete_frames, keyframes;
static long long jitter[ticks + 1], spread[ticks + 1];
static struct frame recent[kept_frames];
static int recent_end;
static FILE *recording;

static void count(long long histogram[ticks + 1], long long nanoseconds) {
  long long tick = nanoseconds < 0 ? 0 : nanoseconds / nanoseconds_a_tick;
  histogram[tick < ticks ? tick : ticks]++;
}

static double percentile(const long long histogram[ticks + 1], double part) {
  long long all = 0, seen = 0;
  for (int i = 0; i <= ticks; i++) all += histogram[i];
  for (int i = 0; all && i <= ticks; i++) {
    seen += histogram[i];
    if (seen >= part * all) return (i + 1) * (nanoseconds_a_tick / 1e6);
  }
  return 0;
}

/// Records a frame's arrival at a viewer, by its capture time; counts the spread of a frame that every viewer has.
static void note_frame(long long captured, long long arrival) {
  struct frame *frame = NULL;
  for (int i = 1; i <= kept_frames && !frame; i++) {
    struct frame *candidate = &recent[(recent_end - i) & (kept_frames - 1)];
    if (candidate->count && llabs(candidate->captured - captured) < frame_tolerance) frame = candidate;
  }
  if (!frame) {
    frame = &recent[recent_end++ & (kept_frames - 1)];
    *frame = (struct frame){captured, arrival, arrival, 0};
  }
  if (arrival < frame->first) frame->first = arrival;
  if (arrival > frame->last) frame->last = arrival;
  if (++frame->count != viewer_count || !measuring) return;
  complete_frames++;
  count(spread, frame->last - frame->first);
  if (frame->last - frame->first > frame_interval) late++;
}

static void handle_frame(struct viewer *viewer, const uint8_t *packet, long long arrival) {
  uint32_t timestamp = read_word(packet + 4);
  long long expected = (int32_t)(timestamp - viewer->timestamp) * 100000LL / 9;
  if (viewer->has_frame && measuring) {
    frames++;
    count(jitter, llabs(arrival - viewer->arrival - expected));
  }
  if (viewer->has_report)
    note_frame(viewer->report_time + (int32_t)(timestamp - viewer->report_timestamp) * 100000LL / 9, arrival);
  viewer->has_frame = true;
  viewer->arrival = arrival;
  viewer->timestamp = timestamp;
}

/// Reads the payload of a video packet, RFC 6184: is it of an IDR access unit, and does that end here?
static void handle_payload(struct viewer *viewer, const uint8_t *payload, size_t length, bool is_last) {
  int type = length > 1 ? payload[0] & 31 : 0;
  if (type == 24)
    for (size_t i = 1; i + 2 < length; i += 2 + read_short(payload + i))
      if ((payload[i + 2] & 31) == 5) viewer->is_keyframe = true;
  if (type == 5 || (type == 28 && (payload[1] & 31) == 5 && payload[1] & 0x80)) viewer->is_keyframe = true;
  if (!is_last) return;
  if (viewer->is_keyframe && !viewer->has_gap) {
    if (viewer == viewers) keyframes++;
    if (!viewer->first_keyframe) {
      viewer->first_keyframe = now();
      started_count++;
    }
  }
  viewer->is_keyframe = viewer->has_gap = false;
}

/// Stores a packet for the floor; the units are those of `record`.
static void store(int track, const uint8_t *packet, size_t length, long long arrival) {
  static uint8_t units[2][1 << 20];
  static size_t lengths[2];
  static long long first;
  uint8_t *unit = units[track];
  if (lengths[track] + 4 + length > sizeof units[track]) fail("an access unit above 1 MB");
  memcpy(unit + lengths[track], (uint8_t[]){'$', 2 * track, length >> 8, length}, 4);
  memcpy(unit + lengths[track] + 4, packet, length);
  lengths[track] += 4 + length;
  if (track == video && !(packet[1] & 0x80)) return;
  // Recordings begin with video, whose timestamps the reports of the floor refer to.
  if (track == video || first) {
    if (!first) first = arrival;
    struct unit_header header = {.time = arrival - first, .length = lengths[track], .track = track};
    fwrite(&header, sizeof header, 1, recording);
    fwrite(unit, 1, lengths[track], recording);
  }
  lengths[track] = 0;
}

static void handle_media(struct viewer *viewer, uint8_t *packet, size_t length, long long arrival) {
  int type = packet[1] & 127;
  int track = type == video_type ? video : type == audio_type ? audio : type == retransmission_type ? retransmission : -1;
  size_t number, header_length = rtp_header_length(packet, length, transport_wide_identifier, &number);
  if (track < 0 || !header_length) return;
  struct source *source = &viewer->sources[track];
  uint16_t sequence = read_short(packet + 2);
  uint64_t index = sequence;
  if (source->is_known) {
    int16_t advance = sequence - (uint16_t)source->highest;
    index = source->highest + advance;
    if (advance > 1 && measuring && track != retransmission) lost += advance - 1;
    if (advance > 1 && track == video) viewer->has_gap = true;
  }
  if (!source->is_known || index > source->highest) source->highest = index;
  source->is_known = true;
  source->ssrc = read_word(packet + 8);
  if (number) note_arrival(&viewer->arrivals, read_short(packet + number), arrival - begin);
  if (measuring) packets++;
  bool is_decrypted = track != retransmission && (viewer == viewers || (track == video && !viewer->first_keyframe));
  if (is_decrypted) {
    ssize_t plain = srtp_open(&viewer->client.receives, index, packet, length);
    if (plain < 0) fail("a packet is not authentic");
    bool is_last = packet[1] & 0x80;
    if (track == video) handle_payload(viewer, packet + header_length, plain - header_length, is_last);
    if (recording) store(track, packet, plain, arrival);
  }
  if (track == video && packet[1] & 0x80) handle_frame(viewer, packet, arrival);
}

/// Reads the sender reports of a compound packet.
static void handle_control(struct viewer *viewer, uint8_t *packet, size_t length, long long arrival) {
  ssize_t end = srtcp_open(&viewer->client.receives, packet, length);
  if (end < 0) fail("a report is not authentic");
  for (ssize_t i = 0; i + 4 <= end; i += 4 * (1 + read_short(packet + i + 2))) {
    if (packet[i + 1] != 200 || i + 28 > end) continue;
    uint32_t ssrc = read_word(packet + i + 4), seconds = read_word(packet + i + 8), fraction = read_word(packet + i + 12);
    for (int track = 0; track < source_count; track++) {
      struct source *source = &viewer->sources[track];
      if (!source->is_known || source->ssrc != ssrc) continue;
      source->report_middle = seconds << 16 | fraction >> 16;
      source->report_arrival = arrival;
      if (track != video) continue;
      // NTP counts from 1900; the fraction is in 1 / 2^32 s.
      viewer->report_time = (seconds - 2208988800LL) * second + (long long)(((uint64_t)fraction * second) >> 32);
      viewer->report_timestamp = read_word(packet + i + 16);
      viewer->has_report = true;
    }
  }
}

static void handle_datagram(struct viewer *viewer, uint8_t *datagram, size_t length, long long arrival) {
  if (viewer->client.state != whep_connected || length < 12 || datagram[0] >> 6 != 2)
    whep_receive(&viewer->client, datagram, length);
  else if (datagram[1] >= 192 && datagram[1] <= 223)
    handle_control(viewer, datagram, length, arrival);
  else
    handle_media(viewer, datagram, length, arrival);
}

/// Reads what has arrived at a viewer; the kernel coalesces datagrams that were sent in one call.
static void read_datagrams(struct viewer *viewer) {
  static uint8_t buffers[messages_at_once][message_size];
  static union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec))];
  } controls[messages_at_once];
  struct iovec vectors[messages_at_once];
  struct mmsghdr messages[messages_at_once] = {0};
  for (int i = 0; i < messages_at_once; i++) {
    vectors[i] = (struct iovec){buffers[i], message_size};
    messages[i].msg_hdr = (struct msghdr){.msg_iov = &vectors[i], .msg_iovlen = 1, .msg_control = &controls[i],
                                          .msg_controllen = sizeof controls[i]};
  }
  int received = recvmmsg(viewer->client.socket, messages, messages_at_once, MSG_DONTWAIT, NULL);
  for (int i = 0; i < received; i++) {
    int length = messages[i].msg_len, segment = length;
    long long arrival = 0;
    struct msghdr *header = &messages[i].msg_hdr;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
      if (c->cmsg_level == SOL_UDP && c->cmsg_type == UDP_GRO) memcpy(&segment, CMSG_DATA(c), sizeof segment);
      struct timespec time;
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
      memcpy(&time, CMSG_DATA(c), sizeof time);
      arrival = time.tv_sec * second + time.tv_nsec;
    }
    if (measuring) bytes += length;
    if (measuring) reads++;
    for (int offset = 0; offset < length; offset += segment) {
      int rest = length - offset;
      handle_datagram(viewer, buffers[i] + offset, rest < segment ? rest : segment, arrival);
    }
  }
}

/// Nanoseconds since 1970, as the kernel's timestamps.
static long long unix_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * second + time.tv_nsec;
}

static void send_feedback(struct viewer *viewer) {
  uint8_t packet[8 + 24 * source_count + maximum_feedback_length + control_overhead];
  size_t length = 0;
  if (viewer->feedback_count++ % 10 == 0) length = write_receiver_report(packet, viewer->sources, 2, unix_time());
  length += write_transport_feedback(packet + length, &viewer->arrivals, viewer->sources[video].ssrc);
  if (!length) return;
  length = srtcp_seal(&viewer->client.sends, packet, length);
  ssize_t sent = send(viewer->client.socket, packet, length, 0);
  (void)sent;
}

/// Waits for events for a millisecond at most, and handles them and the timers.
static void run_once(void) {
  struct epoll_event events[256];
  int ready = epoll_wait(poll_descriptor, events, 256, 1);
  for (int i = 0; i < ready; i++) {
    struct viewer *viewer = &viewers[events[i].data.u32 >> 1];
    if (!(events[i].data.u32 & 1)) {
      read_datagrams(viewer);
      continue;
    }
    whep_read_reply(&viewer->client);
    if (viewer->client.state == whep_posted) continue;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = events[i].data.u32 & ~1u};
    epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, viewer->client.socket, &event);
  }
  long long time = now();
  if (next_feedback < time - second) next_feedback = time;
  // Viewers are spread evenly over the period, as independent ones are.
  for (; next_feedback <= time; next_feedback += feedback_period / viewer_count) {
    struct viewer *viewer = &viewers[next_viewer++ % viewer_count];
    if (viewer->client.resource[0]) whep_tick(&viewer->client);
    if (viewer->client.state == whep_connected) send_feedback(viewer);
  }
}

static void run_for(long long nanoseconds) {
  for (long long end = now() + nanoseconds; now() < end;) run_once();
}

static void post(int index, int port, const char *name, bool nominates) {
  struct viewer *viewer = &viewers[index];
  whep_post(&viewer->client, index, port, name, nominates);
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = index << 1 | 1};
  epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, viewer->client.http, &event);
}

/// Runs until viewers have a keyframe, or a time has passed; returns whether they have.
static bool run_until_started(int wanted, long long timeout) {
  for (long long end = now() + timeout; started_count < wanted && now() < end;) run_once();
  return started_count >= wanted;
}

static void leave(int port) {
  struct whep **clients = calloc(viewer_count, sizeof *clients);
  for (int i = 0; i < viewer_count; i++) clients[i] = &viewers[i].client;
  whep_leave(clients, viewer_count, port);
  free(clients);
}

static void connect_to_floor(int port) {
  int control = tcp_connect(port);
  uint16_t floor_port, *ports = calloc(viewer_count, sizeof *ports);
  if (recv(control, &floor_port, sizeof floor_port, MSG_WAITALL) != sizeof floor_port) fail("no port of the floor");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = floor_port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  for (int i = 0; i < viewer_count; i++) {
    struct whep *client = &viewers[i].client;
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    uint8_t keys[exported_length];
    client->socket = open_media_socket();
    if (connect(client->socket, (struct sockaddr *)&address, sizeof address) < 0) fail("connect: %s", strerror(errno));
    getsockname(client->socket, (struct sockaddr *)&own, &length);
    ports[i] = own.sin_port;
    floor_keys(i, keys);
    srtp_create(&client->receives, keys, true, false);
    srtp_create(&client->sends, keys, false, true);
    client->state = whep_connected;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i << 1};
    epoll_ctl(poll_descriptor, EPOLL_CTL_ADD, client->socket, &event);
  }
  if (send(control, ports, viewer_count * sizeof *ports, 0) < 0) fail("send: %s", strerror(errno));
}

static void measure(bool is_floor, int port, const char *name, long long seconds) {
  if (is_floor) connect_to_floor(port);
  // A few at a time, so that each is answered soon.
  for (int i = 0; !is_floor && i < viewer_count; i++) {
    post(i, port, name, true);
    for (long long end = now() + 5 * second; i - started_count >= 20 && now() < end;) run_once();
  }
  if (!run_until_started(viewer_count, 30 * second)) fail("%d of %d viewers have a keyframe", started_count, viewer_count);
  run_for(2 * second);
  measuring = true;
  puts("ready");
  fflush(stdout);
  keyframes = 0;
  run_for(seconds * second);
  measuring = false;
  printf("{\"viewers\":%d,\"bytes\":%lld,\"reads\":%lld,\"packets\":%lld,\"frames\":%lld,\"lost\":%lld,\"keyframes\":%lld,"
         "\"jitterP50\":%.2f,\"jitterP99\":%.2f,\"spreadP50\":%.2f,\"spreadP95\":%.2f,\"spreadMaximum\":%.2f,"
         "\"spreadFrames\":%lld,\"late\":%lld}\n",
         viewer_count, bytes, reads, packets, frames, lost, keyframes, percentile(jitter, 0.5), percentile(jitter, 0.99),
         percentile(spread, 0.5), percentile(spread, 0.95), percentile(spread, 1), complete_frames, late);
  fflush(stdout);
}

static void record(int port, const char *name, long long seconds, const char *path) {
  post(0, port, name, true);
  if (!run_until_started(1, 10 * second)) fail("no keyframe");
  // After the first reports, packets have the extensions of all the time.
  run_for(3 * second);
  while (viewers->is_keyframe || !viewers->has_frame) run_once();
  recording = fopen(path, "wb");
  if (!recording) fail("%s: cannot be written", path);
  run_for(seconds * second);
  if (fclose(recording)) fail("%s: cannot be written", path);
}

static void measure_first(int port, const char *name, int times, int pause) {
  for (int i = 0; i < times; i++) {
    post(0, port, name, true);
    if (!run_until_started(1, 10 * second)) fail("no keyframe");
    printf("%.1f\n", (viewers->first_keyframe - viewers->client.posted) / 1e6);
    leave(port);
    memset(viewers, 0, sizeof *viewers);
    started_count = 0;
    usleep(pause * 1000);
  }
}

static void measure_join(int port, const char *name) {
  post(0, port, name, true);
  if (!run_until_started(1, 10 * second)) fail("no keyframe");
  run_for(5 * second);
  keyframes = 0;
  long long first_post = now(), last = 0;
  for (int i = 1; i < viewer_count; i++) post(i, port, name, true);
  run_until_started(viewer_count, 10 * second);
  long long counted = keyframes;
  for (int i = 1; i < viewer_count; i++)
    if (viewers[i].first_keyframe > last) last = viewers[i].first_keyframe;
  printf("{\"viewers\":%d,\"complete\":%d,\"lastMilliseconds\":%.1f,\"keyframes\":%lld}\n", viewer_count - 1, started_count - 1,
         (last - first_post) / 1e6, counted);
}

static void run_until(enum whep_state state, const char *name) {
  int reached = 0;
  for (long long end = now() + 20 * second; reached < viewer_count && now() < end;) {
    run_once();
    reached = 0;
    for (int i = 0; i < viewer_count; i++) reached += viewers[i].client.state == state;
  }
  if (reached < viewer_count) fail("%d of %d viewers are %s", reached, viewer_count, name);
  puts(name);
  fflush(stdout);
}

static void measure_handshakes(int port, const char *name) {
  for (int i = 0; i < viewer_count; i++) {
    viewers[i].client.holds = true;
    post(i, port, name, false);
  }
  run_until(whep_answered, "answered");
  // The reader looks at its clock.
  getchar();
  for (int i = 0; i < viewer_count; i++) whep_check(&viewers[i].client);
  run_until(whep_connected, "connected");
  run_for(second);
}

int main(int argc, char **argv) {
  if (argc != 6) fail("usage: webrtc_sink whep|floor PORT NAME VIEWERS SECONDS, or see the source");
  const char *mode = argv[1], *name = argv[3];
  int port = atoi(argv[2]), number = atoi(argv[4]);
  raise_open_files();
  bool is_single = !strcmp(mode, "record") || !strcmp(mode, "first"), is_join = !strcmp(mode, "join");
  viewer_count = is_single ? 1 : is_join ? number + 1 : number;
  viewers = calloc(viewer_count, sizeof *viewers);
  poll_descriptor = epoll_create1(0);
  begin = unix_time();
  next_feedback = now();
  if (!strcmp(mode, "record")) {
    record(port, name, number, argv[5]);
  } else if (!strcmp(mode, "first")) {
    measure_first(port, name, number, atoi(argv[5]));
  } else if (is_join) {
    measure_join(port, name);
  } else if (!strcmp(mode, "handshake")) {
    measure_handshakes(port, name);
  } else {
    measure(!strcmp(mode, "floor"), port, name, atoll(argv[5]));
  }
  leave(port);
}
