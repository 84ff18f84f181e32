// whip_source PORT PREFIX COUNT TOKEN SECONDS FILE: publishers over WHIP in one program, to the streams PREFIX1, PREFIX2 and so on of an
// HTTP server on PORT, with the tokens TOKEN1, TOKEN2 and so on; each sends the packets of FILE, which `webrtc_sink record` has stored, at their pace and again and again from its
// first keyframe on. They are staggered by a part of a frame, answer no requests, and send no reports.
//
// Prints "ready" when all send and three more seconds have passed, sends for SECONDS, and prints "done" with the number of packets.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rtsp.h"
#include "srtp.h"
#include "units.h"
#include "whep.h"

enum { track_count = 2, maximum_packet = 2048 };
static const long long second = 1000000000;
static const int clock_rates[track_count] = {90000, 48000};

struct publisher {
  struct whep client;
  /// Time of the first unit of this repetition; 0 before the connection.
  long long start;
  int next, repetitions;
  /// Packets of each track so far: their index of SRTP.
  uint64_t counts[track_count];
  uint16_t transport_wide;
};

static struct recording recording;
static struct publisher *publishers;
static int publisher_count;
static long long sent;

/// Whether a unit of video begins with parameter sets or an IDR slice, RFC 6184.
static bool is_keyframe(const struct unit *unit) {
  size_t unused, header = rtp_header_length(unit->bytes + 4, unit->header.length - 4, 0, &unused);
  const uint8_t *payload = unit->bytes + 4 + header;
  int type = payload[0] & 31;
  if (type == 24) type = payload[3] & 31;
  if (type == 28) type = payload[1] & 31;
  return unit->header.track == 0 && (type == 5 || type == 7);
}

/// Leaves out what precedes the first keyframe.
static void cut(void) {
  int first = 0;
  while (first < recording.count && !is_keyframe(&recording.units[first])) first++;
  if (recording.count - first < 60) fail("the recording has no keyframe, or too little behind it");
  int64_t begin = recording.units[first].header.time;
  recording.units += first;
  recording.count -= first;
  recording.period -= begin;
  for (int i = 0; i < recording.count; i++) recording.units[i].header.time -= begin;
}

static void send_packet(struct publisher *publisher, int track, const uint8_t *original, size_t length) {
  uint8_t packet[maximum_packet], sealed[maximum_packet];
  if (length + tag_length > sizeof packet) fail("a packet of %zu bytes", length);
  memcpy(packet, original, length);
  size_t number, header = rtp_header_length(packet, length, transport_wide_identifier, &number);
  uint64_t index = publisher->counts[track]++;
  write_short(packet + 2, index);
  uint64_t ticks = (uint64_t)recording.period / 1000 * clock_rates[track] / 1000000;
  write_word(packet + 4, read_word(packet + 4) + (uint32_t)(publisher->repetitions * ticks));
  if (number) write_short(packet + number, publisher->transport_wide++);
  size_t total = srtp_seal(&publisher->client.sends, index, packet, header, packet + header, length - header, sealed);
  if (send(publisher->client.socket, sealed, total, 0) == (ssize_t)total) sent++;
}

/// Sends what is due.
static void continue_sending(struct publisher *publisher) {
  while (true) {
    const struct unit *unit = &recording.units[publisher->next];
    if (publisher->start + unit->header.time > now()) return;
    for (size_t i = 0; i + 4 <= unit->header.length;) {
      size_t length = read_short(unit->bytes + i + 2);
      send_packet(publisher, unit->header.track, unit->bytes + i + 4, length);
      i += 4 + length;
    }
    if (++publisher->next < recording.count) continue;
    publisher->next = 0;
    publisher->repetitions++;
    publisher->start += recording.period;
  }
}

/// Connects, answers the server's checks, and sends; feedback is read and discarded.
static void run_once(struct publisher *publisher) {
  struct whep *client = &publisher->client;
  if (client->state == whep_waiting) return;
  if (client->state == whep_posted) return whep_read_reply(client);
  uint8_t datagram[maximum_packet];
  for (ssize_t length; (length = recv(client->socket, datagram, sizeof datagram, 0)) > 0;) whep_receive(client, datagram, length);
  whep_tick(client);
  if (client->state != whep_connected) return;
  if (!publisher->start) publisher->start = now();
  continue_sending(publisher);
}

static int connected_count(void) {
  int count = 0;
  for (int i = 0; i < publisher_count; i++) count += publishers[i].client.state == whep_connected;
  return count;
}

static void run_for(long long nanoseconds) {
  for (long long end = now() + nanoseconds; now() < end; usleep(1000))
    for (int i = 0; i < publisher_count; i++) run_once(&publishers[i]);
}

int main(int argc, char **argv) {
  if (argc != 7) fail("usage: whip_source PORT PREFIX COUNT TOKEN SECONDS FILE");
  publisher_count = atoi(argv[3]);
  publishers = calloc(publisher_count, sizeof *publishers);
  recording = load_recording(argv[6]);
  cut();
  for (int i = 0; i < publisher_count; i++) {
    char name[64], token[128];
    snprintf(name, sizeof name, "%s%d", argv[2], i + 1);
    snprintf(token, sizeof token, "%s%d", argv[4], i + 1);
    whip_post(&publishers[i].client, i, atoi(argv[1]), name, token);
    run_for(second / 30 / publisher_count);
  }
  for (long long end = now() + 20 * second; connected_count() < publisher_count && now() < end;) run_for(second / 100);
  if (connected_count() < publisher_count) fail("%d of %d publishers are connected", connected_count(), publisher_count);
  run_for(3 * second);
  puts("ready");
  fflush(stdout);
  sent = 0;
  run_for(atoll(argv[5]) * second);
  printf("done %lld\n", sent);
}
