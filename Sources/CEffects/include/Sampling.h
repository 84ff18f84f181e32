#ifndef VIDICON_SAMPLING_H
#define VIDICON_SAMPLING_H

// Samples a rotated and scaled part of a frame: a loop over every pixel, in C because Swift loops are slow in debug
// builds.

#include <stddef.h>
#include <stdint.h>

/// An I420 frame; no dimension is 0.
typedef struct {
  const uint8_t *luma, *cb, *cr;
  ptrdiff_t luma_stride, chroma_stride;
  ptrdiff_t width, height;
} vidicon_i420;

/// Source positions of the pixels of a square: pixel (x, y) is sampled at `origin + x * right + y * down` of the
/// frame, where integers are the centers of luma pixels. Positions outside the frame get its nearest pixel.
typedef struct {
  float origin_x, origin_y, right_x, right_y, down_x, down_y;
} vidicon_placement;

/// Fills a square with red, green and blue from 0 to 1 (BT.601, limited range), by bilinear interpolation. Positions
/// that are not finite, or exceed 32 bits, give an arbitrary pixel.
void vidicon_sample(float *rgb, size_t side, const vidicon_i420 *frame, const vidicon_placement *placement);

#endif
