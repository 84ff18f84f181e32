// rtmp_sink rtmp|floor PORT NAME VIEWERS SECONDS: many RTMP viewers in one program, which discard what they read.
// rtmp_sink record PORT NAME SECONDS FILE: stores what one viewer receives, for tcp_floor to send again.
// rtmp_sink first PORT NAME COUNT PAUSE: prints the times from connecting to the first 4 kB, in milliseconds, of viewers that come
// one by one, PAUSE milliseconds apart.
//
// "rtmp" viewers play rtmp://127.0.0.1:PORT/live/NAME; "floor" viewers only connect, as tcp_floor expects. Prints "ready" once
// every viewer has received the first 4 kB and two more seconds have passed, reads for SECONDS, and prints a line of JSON: bytes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rtsp.h"
#include "units.h"

enum { handshake_length = 1536, first_length = 4096 };

static unsigned char buffer[1 << 20];

static void send_all(int connection, const void *bytes, size_t count) {
  if (send(connection, bytes, count, MSG_NOSIGNAL) != (ssize_t)count) fail("send: %s", strerror(errno));
}

static void receive_all(int connection, void *bytes, size_t count) {
  if (recv(connection, bytes, count, MSG_WAITALL) != (ssize_t)count) fail("the server ended the handshake");
}

static size_t put_string(unsigned char *out, const char *text, int marker) {
  size_t length = strlen(text), at = 0;
  if (marker) out[at++] = 2;
  out[at++] = length >> 8;
  out[at++] = length;
  memcpy(out + at, text, length);
  return at + length;
}

/// A number, whose eight bytes are zero but for the first two.
static size_t put_number(unsigned char *out, int first, int second) {
  memset(out, 0, 9);
  out[1] = first;
  out[2] = second;
  return 9;
}

/// Sends a command of less than 128 bytes in one chunk of format 0.
static void send_command(int connection, int stream, const unsigned char *payload, size_t length) {
  unsigned char chunk[12 + 128] = {3, 0, 0, 0, 0, 0, length, 20, stream, 0, 0, 0};
  if (length > 128) fail("the name is too long");
  memcpy(chunk + 12, payload, length);
  send_all(connection, chunk, 12 + length);
}

/// The handshake, and the commands up to "play", whose responses are read with the media.
static int play(int port, const char *name) {
  int connection = tcp_connect(port);
  unsigned char hello[1 + handshake_length] = {3}, answer[1 + 2 * handshake_length];
  send_all(connection, hello, sizeof hello);
  receive_all(connection, answer, sizeof answer);
  send_all(connection, answer + 1, handshake_length);
  unsigned char command[512];
  size_t length = put_string(command, "connect", 1);
  length += put_number(command + length, 0x3f, 0xf0);  // Transaction 1.
  command[length++] = 3;
  length += put_string(command + length, "app", 0);
  length += put_string(command + length, "live", 1);
  memcpy(command + length, "\0\0\x09", 3);
  send_command(connection, 0, command, length + 3);
  length = put_string(command, "createStream", 1);
  length += put_number(command + length, 0x40, 0);  // Transaction 2.
  command[length++] = 5;
  send_command(connection, 0, command, length);
  length = put_string(command, "play", 1);
  length += put_number(command + length, 0, 0);
  command[length++] = 5;
  if (strlen(name) > 100) fail("the name is too long");
  length += put_string(command + length, name, 1);
  send_command(connection, 1, command, length);
  return connection;
}

static int record(int port, const char *name, long long seconds, const char *path) {
  int connection = play(port, name);
  FILE *file = fopen(path, "wb");
  if (!file) fail("%s: cannot be written", path);
  long long begin = now(), first = 0;
  while (!first || now() - first < seconds * 1000000000) {
    ssize_t count = recv(connection, buffer, sizeof buffer, 0);
    if (count <= 0) fail("the stream ended");
    // The first second has commands and the keyframe of a new viewer.
    if (now() - begin < 1000000000) continue;
    if (!first) first = now();
    struct unit_header header = {.time = now() - first, .length = count, .track = 0};
    fwrite(&header, sizeof header, 1, file);
    fwrite(buffer, 1, count, file);
  }
  return fclose(file);
}

static int measure_first(int port, const char *name, int count, int pause) {
  for (int i = 0; i < count; i++) {
    long long begin = now();
    int connection = play(port, name);
    // Commands and configuration are some hundred bytes.
    receive_all(connection, buffer, first_length);
    printf("%.1f\n", (now() - begin) / 1e6);
    close(connection);
    usleep(pause * 1000);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 6) fail("usage: rtmp_sink rtmp|floor PORT NAME VIEWERS SECONDS, or see the source");
  int port = atoi(argv[2]);
  if (!strcmp(argv[1], "record")) return record(port, argv[3], atoll(argv[4]), argv[5]);
  if (!strcmp(argv[1], "first")) return measure_first(port, argv[3], atoi(argv[4]), atoi(argv[5]));
  bool plays = !strcmp(argv[1], "rtmp");
  int count = atoi(argv[4]), started = 0;
  raise_open_files();

  int poll = epoll_create1(0);
  size_t *received = calloc(count, sizeof *received);
  int *connections = calloc(count, sizeof *connections);
  for (int i = 0; i < count; i++) {
    connections[i] = plays ? play(port, argv[3]) : tcp_connect(port);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};
    epoll_ctl(poll, EPOLL_CTL_ADD, connections[i], &event);
  }
  long long begin = now(), all_started = 0, end = 0, bytes = 0;
  for (long long time = begin; !end || time < end; time = now()) {
    struct epoll_event events[256];
    int ready = epoll_wait(poll, events, 256, 100);
    for (int i = 0; i < ready; i++) {
      int viewer = events[i].data.u32;
      ssize_t size = tcp_receive(connections[viewer], buffer, sizeof buffer);
      if (size == 0 || (size < 0 && errno != EAGAIN)) fail("a viewer was disconnected");
      if (size < 0) continue;
      if (received[viewer] < first_length && received[viewer] + size >= first_length) started++;
      received[viewer] += size;
      if (end) bytes += size;
    }
    if (!all_started && started == count) all_started = now();
    if (!all_started && now() - begin > 30000000000LL) fail("%d of %d viewers get media", started, count);
    if (all_started && !end && now() - all_started > 2000000000LL) {
      end = now() + atoll(argv[5]) * 1000000000;
      puts("ready");
      fflush(stdout);
    }
  }
  printf("{\"viewers\":%d,\"bytes\":%lld}\n", count, bytes);
}
