#include "PixelKernels.h"

#include <string.h>

// A line of the other field is predicted from the lines above and below it, along the edge that fits best, and limited to what the
// field shows in the frame before and in this one where nothing moves: still parts keep all lines.

static inline int absolute(int value) { return value < 0 ? -value : value; }
static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline int larger(int a, int b) { return a > b ? a : b; }

/// Number of samples at each side that the search for edges reads.
enum { reach = 3 };

// `step` is the distance of a component's samples: 1, or more where components are interleaved.
#define DEINTERLACE(name, sample)                                                                                          \
  /* Fills a line that is missing between two others; of the frame before there are three lines, or none. */               \
  static inline __attribute__((always_inline)) void name##_line(                                                           \
      sample *restrict output, const sample *restrict above, const sample *restrict below, const sample *restrict here,    \
      const sample *restrict before_above, const sample *restrict before, const sample *restrict before_below, int width,  \
      int step) {                                                                                                          \
    for (int i = 0; i < width; i++) {                                                                                      \
      int x = i * step, c = above[x], e = below[x], prediction = (c + e) >> 1;                                             \
      if (i >= reach && i < width - reach) {                                                                               \
        int best = absolute(above[x - step] - below[x - step]) + absolute(c - e) +                                         \
                   absolute(above[x + step] - below[x + step]) - 1;                                                        \
        for (int side = -1; side <= 1; side += 2) {                                                                        \
          for (int distance = 1; distance <= 2; distance++) {                                                              \
            int shift = side * distance * step;                                                                            \
            int score = absolute(above[x - step + shift] - below[x - step - shift]) +                                      \
                        absolute(above[x + shift] - below[x - shift]) +                                                    \
                        absolute(above[x + step + shift] - below[x + step - shift]);                                       \
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
                   const uint8_t *previous, ptrdiff_t previous_stride, int width, int height, int step, bool keeps_top) {  \
    for (int y = 0; y < height; y++) {                                                                                     \
      sample *target = (sample *)(output + y * output_stride);                                                             \
      const uint8_t *line = current + y * stride;                                                                          \
      if ((y % 2 == 0) == keeps_top) {                                                                                     \
        /* Of other components between the samples, too, which are copied again with their own. */                         \
        memcpy(target, line, ((size_t)(width - 1) * step + 1) * sizeof(sample));                                           \
        continue;                                                                                                          \
      }                                                                                                                    \
      /* At the edges the only neighbor stands for both. */                                                                \
      int up = y > 0 ? -1 : 1, down = y + 1 < height ? 1 : -1;                                                             \
      const sample *above = (const sample *)(line + up * stride), *below = (const sample *)(line + down * stride);         \
      const sample *here = (const sample *)line, *before = NULL, *before_above = NULL, *before_below = NULL;               \
      if (previous) {                                                                                                      \
        const uint8_t *place = previous + y * previous_stride;                                                             \
        before = (const sample *)place;                                                                                    \
        before_above = (const sample *)(place + up * previous_stride);                                                     \
        before_below = (const sample *)(place + down * previous_stride);                                                   \
      }                                                                                                                    \
      /* Fast where the compiler knows the step. */                                                                        \
      if (step == 1)                                                                                                       \
        name##_line(target, above, below, here, before_above, before, before_below, width, 1);                             \
      else                                                                                                                 \
        name##_line(target, above, below, here, before_above, before, before_below, width, step);                          \
    }                                                                                                                      \
  }

DEINTERLACE(deinterlace8, uint8_t)
DEINTERLACE(deinterlace16, uint16_t)

void vidicon_deinterlace(uint8_t *output, ptrdiff_t output_stride, const uint8_t *current, ptrdiff_t stride,
                         const uint8_t *previous, ptrdiff_t previous_stride, int width, int height, int sample_bytes,
                         int step, bool keeps_top) {
  if (width < 1) return;
  if (height < 2) {
    size_t length = ((size_t)(width - 1) * step + 1) * sample_bytes;
    for (int y = 0; y < height; y++) memcpy(output + y * output_stride, current + y * stride, length);
    return;
  }
  (sample_bytes == 1 ? deinterlace8 : deinterlace16)(output, output_stride, current, stride, previous, previous_stride, width,
                                                    height, step, keeps_top);
}
