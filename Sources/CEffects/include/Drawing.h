#ifndef VIDICON_DRAWING_H
#define VIDICON_DRAWING_H

// Drawing on I420 frames: loops over every pixel, in C because Swift loops are slow in debug builds.

#include "Sampling.h"

/// An I420 frame to draw on; no dimension is 0.
typedef struct {
  uint8_t *luma, *cb, *cr;
  ptrdiff_t luma_stride, chroma_stride;
  ptrdiff_t width, height;
} vidicon_canvas;

/// An image with alpha: premultiplied Y, Cb, Cr, and alpha, without padding between rows. Dimensions are 1 to 32768.
typedef struct {
  const uint8_t *pixels;
  ptrdiff_t width, height;
} vidicon_layer;

/// A rectangle of pixels within its frame, with even coordinates.
typedef struct {
  ptrdiff_t x, y, width, height;
} vidicon_area;

/// Draws a layer. Pixel (x, y) of the canvas gets the bilinear interpolation at `origin + x * right + y * down` of the
/// layer; outside the layer is transparent.
///
/// `opacity` is 0 to 256. Only pixels in the area are written.
void vidicon_draw_layer(const vidicon_canvas *canvas, const vidicon_layer *layer, const vidicon_placement *placement,
                        const vidicon_area *area, uint32_t opacity);

/// An implementation of `vidicon_draw_layer`.
typedef void (*vidicon_layer_drawer)(const vidicon_canvas *canvas, const vidicon_layer *layer,
                                     const vidicon_placement *placement, const vidicon_area *area, uint32_t opacity);

/// The implementations that this processor supports, fastest first; `vidicon_draw_layer` uses the first, and all draw
/// the same. NULL past the last.
vidicon_layer_drawer vidicon_layer_drawer_at(size_t index);

/// The shapes of `vidicon_shape`.
enum { vidicon_shape_oval, vidicon_shape_box };

/// Fills rows with the coverage of a soft shape, 0 to 255 per pixel. Pixel (x, y) is at `origin + x * right + y *
/// down` of a plane in which the shape extends from -1 to 1; across the edge the value falls by `hardness` per unit of
/// squared distance.
void vidicon_shape(uint8_t *alpha, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height,
                   const vidicon_placement *placement, int shape, float hardness, float opacity);

/// Smooths a plane and preserves its edges: a guided filter with the plane as its own guide (He, Sun, Tang: Guided
/// Image Filtering, 2010).
///
/// - `radius` is 1 to 31.
/// - `noise` is the variance up to which differences are smoothed, at least 1.
/// - `scratch` holds `vidicon_smooth_scratch(width, height)` numbers.
void vidicon_smooth(uint8_t *target, ptrdiff_t target_stride, const uint8_t *source, ptrdiff_t source_stride,
                    ptrdiff_t width, ptrdiff_t height, ptrdiff_t radius, float noise, int32_t *scratch);

/// Number of elements of the scratch memory of `vidicon_smooth`.
static inline size_t vidicon_smooth_scratch(ptrdiff_t width, ptrdiff_t height) {
  return (size_t)(2 * width * height + 2 * width);
}

/// Replaces each byte of a plane by its entry in a table of 256.
void vidicon_look_up(uint8_t *plane, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height, const uint8_t *table);

/// Converts red, green, blue and straight alpha to layer pixels. `matrix` has, for Y, Cb and Cr, the weights of red,
/// green and blue in 65536ths.
void vidicon_make_layer(uint8_t *layer, const uint8_t *rgba, size_t count, const int32_t matrix[9]);

/// Halves a layer: each pixel is the mean of two columns and two rows; pixels beyond an odd end are transparent. The
/// target is (width + 1) / 2 by (height + 1) / 2.
void vidicon_halve_layer(uint8_t *target, const vidicon_layer *layer);

#endif
