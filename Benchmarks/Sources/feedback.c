#include "feedback.h"

#include <string.h>

#include "srtp.h"

/// SSRC of the sink's own reports; the maximum number of packets that one feedback reports.
enum { own_ssrc = 1, maximum_statuses = 2000 };
enum symbol { missing, small_delta, large_delta };

void note_arrival(struct arrivals *arrivals, uint16_t number, long long time) {
  int count = arrivals->count;
  if (count == maximum_arrivals || (count && (int16_t)(number - arrivals->numbers[count - 1]) <= 0)) return;
  if (count && (uint16_t)(number - arrivals->numbers[0]) >= maximum_statuses) return;
  arrivals->numbers[count] = number;
  arrivals->ticks[count] = time / 250000;
  arrivals->count++;
}

size_t write_receiver_report(uint8_t *output, const struct source *sources, int count, long long time) {
  size_t end = 8;
  int blocks = 0;
  for (int i = 0; i < count; i++) {
    const struct source *source = &sources[i];
    if (!source->is_known) continue;
    uint8_t *block = output + end;
    memset(block, 0, 24);
    write_word(block, source->ssrc);
    write_word(block + 8, source->highest);
    if (source->report_middle) {
      write_word(block + 16, source->report_middle);
      write_word(block + 20, (time - source->report_arrival) * 65536 / 1000000000);
    }
    end += 24;
    blocks++;
  }
  output[0] = 0x80 | blocks;
  output[1] = 201;
  write_short(output + 2, end / 4 - 1);
  write_word(output + 4, own_ssrc);
  return end;
}

/// Appends chunks of one run length each; at most 8191 packets have one.
static size_t append_run(uint8_t *output, size_t end, enum symbol symbol, int length) {
  write_short(output + end, symbol << 13 | length);
  return end + 2;
}

size_t write_transport_feedback(uint8_t *output, struct arrivals *arrivals, uint32_t media_ssrc) {
  if (!arrivals->count) return 0;
  uint16_t base = arrivals->numbers[0];
  uint32_t reference = arrivals->ticks[0] / 256, last = reference * 256;
  uint8_t deltas[2 * maximum_arrivals];
  size_t end = 20, delta_length = 0;
  enum symbol run = missing;
  int run_length = 0, reported = 0;
  for (; reported < arrivals->count; reported++) {
    // Room for two chunks, a delta of two bytes and padding.
    if (end + delta_length + 10 > maximum_feedback_length) break;
    int32_t delta = arrivals->ticks[reported] - last;
    last = arrivals->ticks[reported];
    int gap = reported ? (uint16_t)(arrivals->numbers[reported] - arrivals->numbers[reported - 1]) - 1 : 0;
    if (gap) {
      if (run_length) end = append_run(output, end, run, run_length);
      run = missing;
      run_length = gap;
    }
    enum symbol symbol = delta >= 0 && delta <= 255 ? small_delta : large_delta;
    if (symbol != run) {
      if (run_length) end = append_run(output, end, run, run_length);
      run = symbol;
      run_length = 0;
    }
    run_length++;
    if (symbol == large_delta) {
      write_short(deltas + delta_length, delta);
      delta_length += 2;
    } else {
      deltas[delta_length++] = delta;
    }
  }
  end = append_run(output, end, run, run_length);
  memcpy(output + end, deltas, delta_length);
  end += delta_length;
  size_t padding = -end & 3;
  if (padding) {
    memset(output + end, 0, padding);
    output[end + padding - 1] = padding;
    end += padding;
  }
  output[0] = 0x80 | (padding ? 0x20 : 0) | 15;
  output[1] = 205;
  write_short(output + 2, end / 4 - 1);
  write_word(output + 4, own_ssrc);
  write_word(output + 8, media_ssrc);
  write_short(output + 12, base);
  write_short(output + 14, arrivals->numbers[reported - 1] - base + 1);
  write_word(output + 16, reference << 8 | arrivals->feedback_count++);
  arrivals->count = 0;
  return end;
}
