#ifndef VIDICON_DRAWING_H
#define VIDICON_DRAWING_H

// Drawing on I420 frames: loops over every pixel, in C for the sake of debug builds.

#include "Sampling.h"

/// An I420 frame to draw on; none of its sizes is 0.
typedef struct {
  uint8_t *luma, *cb, *cr;
  ptrdiff_t luma_stride, chroma_stride;
  ptrdiff_t width, height;
} vidicon_canvas;

/// An image with alpha: Y, Cb, Cr, each already multiplied with alpha, and alpha, without gaps between rows. Its
/// sizes are 1 to 32768.
typedef struct {
  const uint8_t *pixels;
  ptrdiff_t width, height;
} vidicon_layer;

/// A rectangle of pixels that lies in its frame, from even coordinates on.
typedef struct {
  ptrdiff_t x, y, width, height;
} vidicon_area;

/// Draws a layer. Pixel (x, y) of the canvas gets what lies at `origin + x * right + y * down` of the layer, between four of
/// its pixels; beyond the layer it is transparent.
///
/// `opacity` goes from 0 to 256. Only the area is touched.
void vidicon_draw_layer(const vidicon_canvas *canvas, const vidicon_layer *layer, const vidicon_placement *placement,
                        const vidicon_area *area, uint32_t opacity);

/// A way to draw a layer, as `vidicon_draw_layer` says.
typedef void (*vidicon_layer_drawer)(const vidicon_canvas *canvas, const vidicon_layer *layer,
                                     const vidicon_placement *placement, const vidicon_area *area, uint32_t opacity);

/// The ways of this processor, the fastest first, which is the one of `vidicon_draw_layer`; all draw the same. None beyond
/// the last.
vidicon_layer_drawer vidicon_layer_drawer_at(size_t index);

/// The shapes of `vidicon_shape`.
enum { vidicon_shape_oval, vidicon_shape_box };

/// Fills rows with how much of a soft shape covers each pixel, 0 to 255. Pixel (x, y) lies at `origin + x * right + y * down`
/// of a plane in which the shape reaches from -1 to 1; over the edge the value falls by `hardness` for each 1 that the square
/// of the distance grows.
void vidicon_shape(uint8_t *alpha, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height,
                   const vidicon_placement *placement, int shape, float hardness, float opacity);

/// Smooths a plane and keeps its edges: a guided filter with the plane as its own guide (He, Sun, Tang: Guided Image
/// Filtering, 2010).
///
/// - `radius` is 1 to 31.
/// - `noise` is the variance up to which differences are smoothed, at least 1.
/// - `scratch` has room for `vidicon_smooth_scratch(width, height)` numbers.
void vidicon_smooth(uint8_t *target, ptrdiff_t target_stride, const uint8_t *source, ptrdiff_t source_stride,
                    ptrdiff_t width, ptrdiff_t height, ptrdiff_t radius, float noise, int32_t *scratch);

/// The numbers that `vidicon_smooth` needs room for.
static inline size_t vidicon_smooth_scratch(ptrdiff_t width, ptrdiff_t height) {
  return (size_t)(2 * width * height + 2 * width);
}

/// Replaces each byte of a plane by what a table of 256 has at its place.
void vidicon_look_up(uint8_t *plane, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height, const uint8_t *table);

/// Red, green, blue, alpha (not multiplied) to a layer's pixels. `matrix` has, for Y, Cb and Cr, the weights of red, green and
/// blue in 65536ths.
void vidicon_make_layer(uint8_t *layer, const uint8_t *rgba, size_t count, const int32_t matrix[9]);

/// Halves a layer: each pixel is the mean of those of two columns and two rows, of which those beyond an odd end are
/// transparent. The target is (width + 1) / 2 by (height + 1) / 2.
void vidicon_halve_layer(uint8_t *target, const vidicon_layer *layer);

#endif
