// RTCP that a browser sends while it plays: receiver reports (RFC 3550) and transport-wide feedback
// (draft-holmer-rmcat-transport-wide-cc-extensions-01).
#ifndef FEEDBACK_H
#define FEEDBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { maximum_arrivals = 192, maximum_feedback_length = 1400 };

/// One received source.
struct source {
  bool is_known;
  uint32_t ssrc;
  /// The highest sequence number, extended beyond 16 bits.
  uint64_t highest;
  /// The middle of the last sender report's NTP timestamp, and when that arrived in nanoseconds.
  uint32_t report_middle;
  long long report_arrival;
};

/// Arrivals of packets since the last feedback.
struct arrivals {
  uint16_t numbers[maximum_arrivals];
  /// In units of 250 µs.
  uint32_t ticks[maximum_arrivals];
  int count;
  uint8_t feedback_count;
};

/// Records the arrival of a packet by its transport-wide number; `time` in nanoseconds since the start.
void note_arrival(struct arrivals *arrivals, uint16_t number, long long time);

/// Writes a receiver report on sources; returns its length.
size_t write_receiver_report(uint8_t *output, const struct source *sources, int count, long long time);

/// Writes transport-wide feedback on the recorded arrivals and clears them; returns its length, 0 without arrivals.
size_t write_transport_feedback(uint8_t *output, struct arrivals *arrivals, uint32_t media_ssrc);

#endif
