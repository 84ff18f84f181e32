#ifndef VIDICON_PIXEL_KERNELS_H
#define VIDICON_PIXEL_KERNELS_H

// Loops over every pixel of a picture. They are in C for the sake of debug builds: there a loop in Swift takes so long
// that tests with live pictures would miss their frames.

#include <stddef.h>
#include <stdint.h>

/// Draws one row of packed red, green, blue: pixel x is
/// `palette[(across[x] + falling[x] + rising[x] + offset) mod 256]`.
///
/// @param row     `width` × 3 bytes are written, none beyond.
/// @param across  `width` bytes, as are `falling` and `rising`.
/// @param palette 256 colours, red in the lowest byte, then green and blue.
void vidicon_plasma_row(uint8_t *row, const uint8_t *across, const uint8_t *falling, const uint8_t *rising,
                        uint8_t offset, const uint32_t *palette, size_t width);

/// The state of ``vidicon_noise_fill``: no word may be zero.
typedef struct {
  uint64_t words[4];
} vidicon_noise_state;

/// Fills `count` bytes with random ones: four xorshift64 generators side by side (Marsaglia 2003, 13-7-17).
void vidicon_noise_fill(uint8_t *bytes, size_t count, vidicon_noise_state *state);

/// What each sample of a picture of another matrix or range takes from those of a limited-range one, in 1/16384: the
/// latter less 16 (luma) or 128 (Cb, Cr).
typedef struct {
  int32_t luma_from_luma, luma_from_cb, luma_from_cr;
  int32_t cb_from_cb, cb_from_cr;
  int32_t cr_from_cb, cr_from_cr;
  /// Black: 0 in full range, 16 in limited range.
  int32_t luma_offset;
} vidicon_color_conversion;

/// Turns two rows of luma, and the row of Cb and of Cr that belongs to them, from limited range into full range, or from
/// one matrix into another. libyuv has no such function, and its way over RGB cuts the blue of BT.709 short by 14.
///
/// @param luma         May be `source_luma`, as `cb` and `cr` may be `source_cb` and `source_cr`.
/// @param chroma_width Samples of Cb, and of Cr; a row of luma has twice as many.
void vidicon_convert_color_rows(uint8_t *luma, ptrdiff_t luma_stride, uint8_t *cb, uint8_t *cr,
                                const uint8_t *source_luma, ptrdiff_t source_luma_stride, const uint8_t *source_cb,
                                const uint8_t *source_cr, const vidicon_color_conversion *conversion,
                                size_t chroma_width);

#endif
