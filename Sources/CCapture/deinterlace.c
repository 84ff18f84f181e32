#include "PixelKernels.h"

#include <string.h>

// A line of the other field is predicted at the time of the field that stays, which lies between the times of the other field in
// the frame before and in this one. Low vertical frequencies are those of the field that stays, high ones those of the other
// field before and after: the vertical-temporal filter of three fields of M. Weston (BBC), US 4789893. Where the frame moves
// more than it has detail, four lines of the field that stays are interpolated instead. The result is limited to what the other
// field shows before and after, and what changes there and in the lines beside it: still parts keep all lines.
//
// No sample depends on others of its line, so that a line of several components is one of more samples.

static inline int absolute(int value) { return value < 0 ? -value : value; }
static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline int larger(int a, int b) { return a > b ? a : b; }

/// Lines around one that is missing, from above; those beyond the edges are the nearest of their field.
struct lines {
  /// Of the field that stays, at distances of -3, -1, 1 and 3.
  const void *kept[4];
  /// The same in the frame before.
  const void *kept_before[4];
  /// Of the other field, at distances of -4, -2, 0, 2 and 4.
  const void *other[5];
  /// The same in the frame before.
  const void *other_before[5];
};

// `number` holds 34 times two samples, and 8 times three more: 16 bits for samples of 8, which doubles what is computed at once.
#define DEINTERLACE(name, sample, number)                                                                          \
  /* Cubic interpolation, without a frame before. */                                                               \
  static void name##_first(sample *restrict output, const struct lines *lines, int width, int maximum) {           \
    const sample *k0 = lines->kept[0], *k1 = lines->kept[1], *k2 = lines->kept[2], *k3 = lines->kept[3];           \
    for (int x = 0; x < width; x++) {                                                                              \
      int value = (9 * (k1[x] + k2[x]) - (k0[x] + k3[x]) + 8) >> 4;                                                \
      output[x] = (sample)smaller(larger(value, 0), maximum);                                                      \
    }                                                                                                              \
  }                                                                                                                \
                                                                                                                   \
  static void name##_next(sample *restrict output, const struct lines *lines, int width, int maximum) {            \
    const sample *k0 = lines->kept[0], *k1 = lines->kept[1], *k2 = lines->kept[2], *k3 = lines->kept[3];           \
    const sample *b1 = lines->kept_before[1], *b2 = lines->kept_before[2];                                         \
    const sample *o0 = lines->other[0], *o1 = lines->other[1], *o2 = lines->other[2], *o3 = lines->other[3];       \
    const sample *o4 = lines->other[4], *p0 = lines->other_before[0], *p1 = lines->other_before[1];                \
    const sample *p2 = lines->other_before[2], *p3 = lines->other_before[3], *p4 = lines->other_before[4];         \
    for (int x = 0; x < width; x++) {                                                                              \
      number above = k1[x], below = k2[x], near = (number)(above + below), far = (number)(k0[x] + k3[x]);          \
      /* Twice the other field at the time of the field that stays. */                                             \
      number twice0 = (number)(o0[x] + p0[x]), twice1 = (number)(o1[x] + p1[x]), twice2 = (number)(o2[x] + p2[x]); \
      number twice3 = (number)(o3[x] + p3[x]), twice4 = (number)(o4[x] + p4[x]);                                   \
      number middle = (number)(twice2 >> 1), moved = (number)absolute((number)(o2[x] - p2[x]));                    \
      number beside = (number)(absolute((number)(b1[x] - above)) + absolute((number)(b2[x] - below)));             \
      number change = (number)(larger(moved, beside) >> 1);                                                        \
      /* A peak or a valley of the other field that goes on in the lines above and below may be higher. */         \
      number up = (number)((twice1 >> 1) - above), down = (number)((twice3 >> 1) - below);                         \
      number from_above = (number)(middle - above), from_below = (number)(middle - below);                         \
      number peak = (number)larger(larger(from_above, from_below), smaller(up, down));                             \
      number valley = (number)smaller(smaller(from_above, from_below), larger(up, down));                          \
      change = change == 0 ? 0 : (number)larger(change, larger(valley, (number)-peak));                            \
      number high = (number)(twice0 + twice4 - 4 * (number)(twice1 + twice3) + 6 * twice2);                        \
      number detailed = (number)((number)(34 * near - 2 * far + high + 32) >> 6);                                  \
      number smooth = (number)((number)(9 * near - far + 8) >> 4);                                                 \
      number value = absolute((number)(above - below)) > moved ? detailed : smooth;                                \
      value = (number)smaller(larger(value, (number)(middle - change)), (number)(middle + change));                \
      output[x] = (sample)smaller(larger(value, 0), maximum);                                                      \
    }                                                                                                              \
  }

DEINTERLACE(deinterlace8, uint8_t, int16_t)
DEINTERLACE(deinterlace16, uint16_t, int32_t)

/// The line at a distance, or the nearest of its field, of a plane with at least two lines.
static const void *line(const uint8_t *plane, ptrdiff_t stride, int y, int distance, int height) {
  int place = y + distance;
  while (place < 0) place += 2;
  while (place >= height) place -= 2;
  return plane + place * stride;
}

void vidicon_deinterlace(uint8_t *output, ptrdiff_t output_stride, const uint8_t *current, ptrdiff_t stride,
                         const uint8_t *previous, ptrdiff_t previous_stride, int width, int height, int sample_bytes,
                         int maximum, bool keeps_top) {
  for (int y = 0; y < height; y++) {
    void *target = output + y * output_stride;
    if (height < 2 || (y % 2 == 0) == keeps_top) {
      memcpy(target, current + y * stride, (size_t)width * (size_t)sample_bytes);
      continue;
    }
    struct lines lines = {0};
    for (int i = 0; i < 4; i++) {
      lines.kept[i] = line(current, stride, y, 2 * i - 3, height);
      if (previous) lines.kept_before[i] = line(previous, previous_stride, y, 2 * i - 3, height);
    }
    for (int i = 0; i < 5; i++) {
      lines.other[i] = line(current, stride, y, 2 * i - 4, height);
      if (previous) lines.other_before[i] = line(previous, previous_stride, y, 2 * i - 4, height);
    }
    if (sample_bytes == 1) {
      (previous ? deinterlace8_next : deinterlace8_first)(target, &lines, width, maximum);
    } else {
      (previous ? deinterlace16_next : deinterlace16_first)(target, &lines, width, maximum);
    }
  }
}
