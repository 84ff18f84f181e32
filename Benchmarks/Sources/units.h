// A recording of a stream as one viewer receives it: the RTP packets of each access unit, with arrival times.
#ifndef UNITS_H
#define UNITS_H

#include <stdint.h>

/// Header of each unit in the file.
struct unit_header {
  /// Arrival time, in nanoseconds after the first unit.
  int64_t time;
  /// Number of bytes that follow: RTP packets, each after the four bytes of RFC 2326 §10.12.
  uint32_t length;
  /// Track: 0 for video, 1 for audio.
  uint32_t track;
};

struct unit {
  struct unit_header header;
  unsigned char *bytes;
};

struct recording {
  struct unit *units;
  int count;
  /// Duration after which the recording is repeated.
  int64_t period;
};

/// Reads a file written by `record`.
struct recording load_recording(const char *path);

#endif
