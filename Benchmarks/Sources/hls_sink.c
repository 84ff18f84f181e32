// hls_sink PORT PATH VIEWERS SECONDS: many viewers of an HLS media playlist in one program, which discard what they
// read.
//
// Each has one persistent HTTP/1.1 connection, on which it requests the playlist once a second and the newest segment
// when it changes. Prints "ready" once every viewer has received a segment, continues for SECONDS, and prints a line
// of JSON: bytes, playlists, segments, and the maximum and median response time in milliseconds.
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rtsp.h"

enum { name_length = 200, playlist_length = 8192, milliseconds = 5000 };
static const long long second = 1000000000;

struct viewer {
  int connection;
  /// Time of the next playlist request; 0 while a response is pending.
  long long next_request;
  long long asked;
  bool wants_segment;
  bool has_segment;
  char last_segment[name_length];

  // The response being received.
  char head[playlist_length];
  size_t head_count;
  bool in_body;
  size_t body_left;
  size_t body_count;
  char body[playlist_length];
};

static struct viewer *viewers;
static int viewer_count, port, started_count;
static const char *path;
static char folder[name_length];
static bool measuring;
static long long bytes, playlists, segments, answers[milliseconds + 1];

static void request(struct viewer *viewer, const char *target) {
  char text[2 * name_length + 200];
  int length = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", target, port);
  if (write(viewer->connection, text, length) != length) fail("a viewer could not ask");
  viewer->asked = now();
  viewer->next_request = 0;
  viewer->head_count = viewer->body_count = 0;
  viewer->in_body = false;
}

/// The last line of the playlist that is not a tag.
static void newest_segment(struct viewer *viewer, char name[name_length]) {
  name[0] = 0;
  viewer->body[viewer->body_count] = 0;
  for (char *state, *line = strtok_r(viewer->body, "\r\n", &state); line; line = strtok_r(NULL, "\r\n", &state))
    if (line[0] != '#') snprintf(name, name_length, "%.*s", name_length - 1, line);
}

static void answered(struct viewer *viewer) {
  long long milliseconds_taken = (now() - viewer->asked) / 1000000;
  if (measuring) answers[milliseconds_taken < milliseconds ? milliseconds_taken : milliseconds]++;
  if (viewer->wants_segment) {
    viewer->wants_segment = false;
    if (measuring) segments++;
    if (!viewer->has_segment) started_count++;
    viewer->has_segment = true;
  } else {
    if (measuring) playlists++;
    char name[name_length], target[2 * name_length];
    newest_segment(viewer, name);
    viewer->next_request = viewer->asked + second;
    if (name[0] && strcmp(name, viewer->last_segment) != 0) {
      long long next = viewer->next_request;
      strcpy(viewer->last_segment, name);
      snprintf(target, sizeof target, "%s%s", folder, name);
      viewer->wants_segment = true;
      request(viewer, target);
      // The time of the next playlist request does not change.
      viewer->next_request = -next;
    }
    return;
  }
  viewer->next_request = viewer->next_request < 0 ? -viewer->next_request : now() + second;
}

static void take(struct viewer *viewer, const char *data, size_t count) {
  while (count) {
    if (!viewer->in_body) {
      if (viewer->head_count + 1 >= sizeof viewer->head) fail("an answer's head is too long");
      viewer->head[viewer->head_count++] = *data++;
      count--;
      if (viewer->head_count < 4 || memcmp(viewer->head + viewer->head_count - 4, "\r\n\r\n", 4) != 0) continue;
      viewer->head[viewer->head_count] = 0;
      if (strncmp(viewer->head, "HTTP/1.1 200", 12) != 0) fail("an answer was %.40s", viewer->head);
      char *length = strcasestr(viewer->head, "\r\ncontent-length:");
      if (!length) fail("an answer has no Content-Length");
      viewer->body_left = strtoul(length + 17, NULL, 10);
      viewer->in_body = true;
    } else {
      size_t part = count < viewer->body_left ? count : viewer->body_left;
      if (!viewer->wants_segment) {
        if (viewer->body_count + part >= sizeof viewer->body) fail("a playlist is too long");
        memcpy(viewer->body + viewer->body_count, data, part);
        viewer->body_count += part;
      }
      data += part;
      count -= part;
      viewer->body_left -= part;
    }
    if (viewer->in_body && !viewer->body_left) {
      if (count) fail("more came than was asked for");
      answered(viewer);
    }
  }
}

static void read_connection(struct viewer *viewer) {
  static char buffer[1 << 18];
  ssize_t count = recv(viewer->connection, buffer, sizeof buffer, MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN)) fail("a viewer was disconnected");
  if (count < 0) return;
  if (measuring) bytes += count;
  take(viewer, buffer, count);
}

static int percentile(double part) {
  long long all = 0, seen = 0;
  for (int i = 0; i <= milliseconds; i++) all += answers[i];
  for (int i = 0; i <= milliseconds; i++)
    if ((seen += answers[i]) >= part * all) return i;
  return milliseconds;
}

int main(int argc, char **argv) {
  if (argc != 5) fail("usage: hls_sink PORT PATH VIEWERS SECONDS");
  port = atoi(argv[1]);
  path = argv[2];
  viewer_count = atoi(argv[3]);
  double seconds = atof(argv[4]);
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') + 1 - path), path);
  raise_open_files();
  viewers = calloc(viewer_count, sizeof *viewers);
  int poll = epoll_create1(0);
  long long start = now(), end = 0;
  for (int i = 0; i < viewer_count; i++) {
    viewers[i].connection = tcp_connect(port);
    // Viewers connect over one second, and keep that spacing.
    viewers[i].next_request = start + second * i / viewer_count;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &viewers[i]};
    epoll_ctl(poll, EPOLL_CTL_ADD, viewers[i].connection, &event);
  }
  while (!end || now() < end) {
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, 2);
    for (int i = 0; i < count; i++) read_connection(events[i].data.ptr);
    long long time = now();
    for (int i = 0; i < viewer_count; i++)
      if (viewers[i].next_request > 0 && viewers[i].next_request <= time) request(&viewers[i], path);
    if (!end && started_count == viewer_count) {
      puts("ready");
      fflush(stdout);
      measuring = true;
      end = now() + (long long)(seconds * second);
    }
    if (!end && now() > start + 30 * second) fail("%d of %d viewers have a segment", started_count, viewer_count);
  }
  printf("{\"bytes\": %lld, \"playlists\": %lld, \"segments\": %lld, \"answerP50\": %d, \"answerP99\": %d}\n", bytes,
         playlists, segments, percentile(0.5), percentile(0.99));
}
