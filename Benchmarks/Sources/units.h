// A recording of what one viewer of a stream receives: each access unit's RTP packets and when they came.
#ifndef UNITS_H
#define UNITS_H

#include <stdint.h>

/// What stands in front of each unit in the file.
struct unit_header {
  /// When it came, in nanoseconds from the first unit.
  int64_t time;
  /// The bytes that follow: RTP packets, each behind the four bytes of RFC 2326 §10.12.
  uint32_t length;
  /// 0 for the first track, which is video, 1 for the second.
  uint32_t track;
};

struct unit {
  struct unit_header header;
  unsigned char *bytes;
};

struct recording {
  struct unit *units;
  int count;
  /// The time from its start to the start of its repetition.
  int64_t period;
};

/// Reads a file that `record` wrote.
struct recording load_recording(const char *path);

#endif
