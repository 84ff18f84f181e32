#include "Drawing.h"

#include <string.h>

static inline ptrdiff_t smaller(ptrdiff_t a, ptrdiff_t b) {
  return a < b ? a : b;
}

static inline ptrdiff_t larger(ptrdiff_t a, ptrdiff_t b) {
  return a > b ? a : b;
}

// Adds a row of pixels and their squares to the column sums, or subtracts them.
static void add_pixels(int32_t *sums, int32_t *squares, const uint8_t *row, ptrdiff_t width, int32_t sign) {
  for (ptrdiff_t x = 0; x < width; x++) {
    sums[x] += sign * row[x];
    squares[x] += sign * row[x] * row[x];
  }
}

// Adds rows of two kinds of numbers to the column sums, or subtracts them.
static void add_numbers(int32_t *first, int32_t *second, const int32_t *a, const int32_t *b, ptrdiff_t width,
                        int32_t sign) {
  for (ptrdiff_t x = 0; x < width; x++) {
    first[x] += sign * a[x];
    second[x] += sign * b[x];
  }
}

void vidicon_smooth(uint8_t *target, ptrdiff_t target_stride, const uint8_t *source, ptrdiff_t source_stride,
                    ptrdiff_t width, ptrdiff_t height, ptrdiff_t radius, float noise, int32_t *scratch) {
  // Within a window a pixel becomes gain * pixel + offset: the gain is near 1 where the variance is high; elsewhere
  // pixels approach their mean. Gains are in 4096ths, offsets in 256ths.
  int32_t *gains = scratch, *offsets = gains + width * height;
  int32_t *first = offsets + width * height, *second = first + width;

  memset(first, 0, 2 * (size_t)width * sizeof(int32_t));
  for (ptrdiff_t y = 0; y < smaller(radius, height); y++) {
    add_pixels(first, second, source + y * source_stride, width, 1);
  }
  for (ptrdiff_t y = 0; y < height; y++) {
    if (y + radius < height) add_pixels(first, second, source + (y + radius) * source_stride, width, 1);
    if (y > radius) add_pixels(first, second, source + (y - radius - 1) * source_stride, width, -1);
    const ptrdiff_t rows = smaller(y + radius, height - 1) - larger(y - radius, 0) + 1;
    int64_t sum = 0, square = 0;
    for (ptrdiff_t x = 0; x < smaller(radius, width); x++) sum += first[x], square += second[x];
    for (ptrdiff_t x = 0; x < width; x++) {
      if (x + radius < width) sum += first[x + radius], square += second[x + radius];
      if (x > radius) sum -= first[x - radius - 1], square -= second[x - radius - 1];
      const ptrdiff_t columns = smaller(x + radius, width - 1) - larger(x - radius, 0) + 1;
      const float share = 1 / (float)(rows * columns);
      const float mean = (float)sum * share, variance = (float)square * share - mean * mean;
      const float gain = variance > 0 ? variance / (variance + noise) : 0;
      gains[y * width + x] = (int32_t)(4096 * gain + 0.5F);
      offsets[y * width + x] = (int32_t)(256 * (1 - gain) * mean + 0.5F);
    }
  }

  memset(first, 0, 2 * (size_t)width * sizeof(int32_t));
  for (ptrdiff_t y = 0; y < smaller(radius, height); y++) {
    add_numbers(first, second, gains + y * width, offsets + y * width, width, 1);
  }
  for (ptrdiff_t y = 0; y < height; y++) {
    const ptrdiff_t entering = (y + radius) * width, leaving = (y - radius - 1) * width;
    if (y + radius < height) add_numbers(first, second, gains + entering, offsets + entering, width, 1);
    if (y > radius) add_numbers(first, second, gains + leaving, offsets + leaving, width, -1);
    const ptrdiff_t rows = smaller(y + radius, height - 1) - larger(y - radius, 0) + 1;
    int64_t gain = 0, offset = 0;
    for (ptrdiff_t x = 0; x < smaller(radius, width); x++) gain += first[x], offset += second[x];
    for (ptrdiff_t x = 0; x < width; x++) {
      if (x + radius < width) gain += first[x + radius], offset += second[x + radius];
      if (x > radius) gain -= first[x - radius - 1], offset -= second[x - radius - 1];
      const ptrdiff_t columns = smaller(x + radius, width - 1) - larger(x - radius, 0) + 1;
      const float share = 1 / (float)(rows * columns);
      const float value =
          share * ((float)gain * (1.0F / 4096) * source[y * source_stride + x] + (float)offset * (1.0F / 256)) + 0.5F;
      target[y * target_stride + x] = value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
    }
  }
}
