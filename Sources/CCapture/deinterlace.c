#include "PixelKernels.h"

#include <string.h>

// A line of the other field is predicted from the lines above and below it, along the edge that fits best, and limited to what the
// field shows in the frame before and in this one where nothing moves: still parts keep all lines.

static inline int absolute(int value) { return value < 0 ? -value : value; }
static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline int larger(int a, int b) { return a > b ? a : b; }

/// Number of samples at each side that the search for edges reads.
enum { reach = 3 };

#define DEINTERLACE(name, sample)                                                                                          \
  /* Fills a line that is missing between two others; of the frame before there are three lines, or none. */              \
  static void name##_line(sample *restrict output, const sample *restrict above, const sample *restrict below,            \
                          const sample *restrict here, const sample *restrict before_above,                               \
                          const sample *restrict before, const sample *restrict before_below, int width) {                \
    for (int x = 0; x < width; x++) {                                                                                      \
      int c = above[x], e = below[x], prediction = (c + e) >> 1;                                                           \
      if (x >= reach && x < width - reach) {                                                                               \
        int best = absolute(above[x - 1] - below[x - 1]) + absolute(c - e) + absolute(above[x + 1] - below[x + 1]) - 1;    \
        for (int side = -1; side <= 1; side += 2) {                                                                        \
          for (int step = 1; step <= 2; step++) {                                                                          \
            int shift = side * step;                                                                                       \
            int score = absolute(above[x - 1 + shift] - below[x - 1 - shift]) +                                            \
                        absolute(above[x + shift] - below[x - shift]) +                                                    \
                        absolute(above[x + 1 + shift] - below[x + 1 - shift]);                                             \
            if (score >= best) break;                                                                                      \
            best = score;                                                                                                  \
            prediction = (above[x + shift] + below[x - shift]) >> 1;                                                       \
          }                                                                                                                \
        }                                                                                                                  \
      }                                                                                                                    \
      if (before) {                                                                                                        \
        int middle = (before[x] + here[x]) >> 1;                                                                           \
        int change = larger(absolute(before[x] - here[x]) >> 1,                                                            \
                            (absolute(before_above[x] - c) + absolute(before_below[x] - e)) >> 1);                         \
        prediction = smaller(larger(prediction, middle - change), middle + change);                                        \
      }                                                                                                                    \
      output[x] = (sample)prediction;                                                                                      \
    }                                                                                                                      \
  }                                                                                                                        \
                                                                                                                           \
  static void name(uint8_t *output, ptrdiff_t output_stride, const uint8_t *current, ptrdiff_t stride,                     \
                   const uint8_t *previous, ptrdiff_t previous_stride, int width, int height, bool keeps_top) {            \
    for (int y = 0; y < height; y++) {                                                                                     \
      sample *target = (sample *)(output + y * output_stride);                                                             \
      const uint8_t *line = current + y * stride;                                                                          \
      if ((y % 2 == 0) == keeps_top) {                                                                                     \
        memcpy(target, line, width * sizeof(sample));                                                                      \
        continue;                                                                                                          \
      }                                                                                                                    \
      /* At the edges the only neighbor stands for both. */                                                                \
      int up = y > 0 ? -1 : 1, down = y + 1 < height ? 1 : -1;                                                             \
      const uint8_t *before = previous ? previous + y * previous_stride : NULL;                                            \
      name##_line(target, (const sample *)(line + up * stride), (const sample *)(line + down * stride),                    \
                  (const sample *)line, before ? (const sample *)(before + up * previous_stride) : NULL,                   \
                  (const sample *)before, before ? (const sample *)(before + down * previous_stride) : NULL, width);       \
    }                                                                                                                      \
  }

DEINTERLACE(deinterlace8, uint8_t)
DEINTERLACE(deinterlace16, uint16_t)

void vidicon_deinterlace(uint8_t *output, ptrdiff_t output_stride, const uint8_t *current, ptrdiff_t stride,
                         const uint8_t *previous, ptrdiff_t previous_stride, int width, int height, int sample_bytes,
                         bool keeps_top) {
  if (height < 2) {
    for (int y = 0; y < height; y++) memcpy(output + y * output_stride, current + y * stride, (size_t)width * sample_bytes);
    return;
  }
  (sample_bytes == 1 ? deinterlace8 : deinterlace16)(output, output_stride, current, stride, previous, previous_stride, width,
                                                    height, keeps_top);
}
