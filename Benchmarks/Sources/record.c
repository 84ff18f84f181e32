// record PORT NAME SECONDS FILE [joined]: receives a stream over RTSP/TCP and stores its packets, for tcp_floor and
// udp_floor to send again; prints the arrival time of the first packet, in nanoseconds of the monotonic clock.
//
// A unit of the file is an access unit or an audio frame; with "joined", audio frames that arrive with the access unit
// behind them are one unit with it, as the server has written them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "rtsp.h"
#include "units.h"

static unsigned char buffer[1 << 20];
static size_t start, end;

/// Reads until the buffer holds `count` bytes.
static void need(int connection, size_t count) {
  if (start + count > sizeof buffer) {
    memmove(buffer, buffer + start, end - start);
    end -= start;
    start = 0;
  }
  while (end - start < count) {
    ssize_t received = recv(connection, buffer + end, sizeof buffer - end, 0);
    if (received <= 0) fail("the stream ended");
    end += received;
  }
}

int main(int argc, char **argv) {
  if (argc != 5 && argc != 6) fail("usage: record PORT NAME SECONDS FILE [joined]");
  bool joined = argc == 6 && !strcmp(argv[5], "joined");
  int port = atoi(argv[1]);
  int connection = tcp_connect(port);
  char session[64];
  rtsp_set_up(connection, port, argv[2], NULL, session);
  rtsp_play(connection, port, argv[2], session);
  FILE *file = fopen(argv[4], "wb");
  if (!file) fail("%s: cannot be written", argv[4]);

  // The reply to PLAY.
  need(connection, 4);
  while (memcmp(buffer + start, "\r\n\r\n", 4)) {
    start++;
    need(connection, 4);
  }
  start += 4;

  static unsigned char units[2][1 << 20];
  size_t lengths[2] = {0};
  bool in_access_unit = false;
  long long first = 0, limit = atoll(argv[3]) * 1000000000LL;
  while (!first || now() - first < limit) {
    need(connection, 4);
    unsigned char *head = buffer + start;
    size_t length = 4 + (head[2] << 8 | head[3]);
    int channel = head[1];
    if (head[0] != '$') fail("not an interleaved frame");
    need(connection, length);
    head = buffer + start;
    if (channel == 0 || channel == 2) {
      int track = joined ? 0 : channel / 2;
      if (lengths[track] + length > sizeof units[track]) fail("an access unit above 1 MB");
      memcpy(units[track] + lengths[track], head, length);
      lengths[track] += length;
      bool marker = head[5] & 0x80;
      if (channel == 0) in_access_unit = !marker;
      // Audio with more bytes behind it is part of the unit that these bytes complete.
      if (marker && !(joined && channel == 2 && (in_access_unit || end - start > length))) {
        if (!first) first = now();
        struct unit_header header = {.time = now() - first, .length = lengths[track], .track = track};
        fwrite(&header, sizeof header, 1, file);
        fwrite(units[track], 1, lengths[track], file);
        lengths[track] = 0;
      }
    }
    start += length;
  }
  printf("%lld\n", first);
  return fclose(file);
}
