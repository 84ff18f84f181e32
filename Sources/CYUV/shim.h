#ifndef VIDICON_CYUV_SHIM_H
#define VIDICON_CYUV_SHIM_H

// libyuv: SIMD conversion and scaling of frames. It names packed RGB as a little-endian word: its ARGB is B, G, R, A in
// memory (`PixelFormat.bgra`), its BGRA is A, R, G, B (`.argb`), its RAW is R, G, B (`.rgb24`).

#include <stdint.h>
#include <libyuv/convert.h>
#include <libyuv/convert_argb.h>
#include <libyuv/convert_from.h>
#include <libyuv/planar_functions.h>
#include <libyuv/rotate.h>
#include <libyuv/scale.h>
#include <libyuv/scale_argb.h>
#include <libyuv/scale_uv.h>

#endif
