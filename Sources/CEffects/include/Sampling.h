#ifndef VIDICON_SAMPLING_H
#define VIDICON_SAMPLING_H

// Pixels of a turned and scaled part of a frame: a loop over every pixel, in C for the sake of debug builds.

#include <stddef.h>
#include <stdint.h>

/// An I420 frame; none of its sizes is 0.
typedef struct {
  const uint8_t *luma, *cb, *cr;
  ptrdiff_t luma_stride, chroma_stride;
  ptrdiff_t width, height;
} vidicon_i420;

/// Where the pixels of a square come from: pixel (x, y) from `origin + x * right + y * down` of the frame, where whole
/// numbers are the centres of luma pixels. Beyond the frame its nearest pixel is taken.
typedef struct {
  float origin_x, origin_y, right_x, right_y, down_x, down_y;
} vidicon_placement;

/// Fills a square with red, green, blue from 0 to 1 (BT.601, limited range), between four pixels each. Places that are no
/// numbers, or beyond 32 bits, are as good as any.
void vidicon_sample(float *rgb, size_t side, const vidicon_i420 *picture, const vidicon_placement *placement);

#endif
