#ifndef VIDICON_PIXEL_KERNELS_H
#define VIDICON_PIXEL_KERNELS_H

// Loops over every pixel of a frame. They are in C for debug builds, in which a Swift loop is too slow for tests with live
// video.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Draws one row of packed RGB, 3 bytes per pixel: pixel x is
/// `palette[(across[x] + falling[x] + rising[x] + offset) mod 256]`.
///
/// @param row     Receives `width` × 3 bytes.
/// @param across  `width` bytes, as are `falling` and `rising`.
/// @param palette 256 colors: red in the lowest byte, then green and blue.
void vidicon_plasma_row(uint8_t *row, const uint8_t *across, const uint8_t *falling, const uint8_t *rising,
                        uint8_t offset, const uint32_t *palette, size_t width);

/// The state of ``vidicon_noise_fill``: no word may be zero.
typedef struct {
  uint64_t words[4];
} vidicon_noise_state;

/// Fills `count` bytes with pseudorandom ones: four xorshift64 generators side by side (Marsaglia 2003, 13-7-17).
void vidicon_noise_fill(uint8_t *bytes, size_t count, vidicon_noise_state *state);

/// Coefficients, in 1/16384, from limited-range samples less 16 (luma) or 128 (Cb, Cr) to samples of another matrix or
/// range.
typedef struct {
  int32_t luma_from_luma, luma_from_cb, luma_from_cr;
  int32_t cb_from_cb, cb_from_cr;
  int32_t cr_from_cb, cr_from_cr;
  /// Luma of black: 0 in full range, 16 in limited range.
  int32_t luma_offset;
} vidicon_color_conversion;

/// Converts two rows of luma and their row of Cb and Cr from limited to full range, or from one matrix to another. libyuv
/// lacks such a function, and its conversion through RGB reduces the blue of BT.709 by 14.
///
/// @param luma         May be `source_luma`; `cb` and `cr` may be `source_cb` and `source_cr`.
/// @param chroma_width Number of Cb and of Cr samples; a row of luma has twice as many.
void vidicon_convert_color_rows(uint8_t *luma, ptrdiff_t luma_stride, uint8_t *cb, uint8_t *cr,
                                const uint8_t *source_luma, ptrdiff_t source_luma_stride, const uint8_t *source_cb,
                                const uint8_t *source_cr, const vidicon_color_conversion *conversion,
                                size_t chroma_width);

/// Makes a plane of an interlaced frame progressive: the lines of one field stay, those of the other are predicted.
///
/// current, previous: planes of this frame and of the one before; NULL for none. Strides are in bytes.
/// width: number of samples in a line, of all components in it; each has 1 or 2 bytes, and a maximum.
/// keeps_top: whether the lines 0, 2, 4… stay.
void vidicon_deinterlace(uint8_t *output, ptrdiff_t output_stride, const uint8_t *current, ptrdiff_t stride,
                         const uint8_t *previous, ptrdiff_t previous_stride, int width, int height, int sample_bytes,
                         int maximum, bool keeps_top);

/// Puts pixels of three colors and their opacity, a byte each, over black. The stride is in bytes.
void vidicon_flatten(uint8_t *pixels, ptrdiff_t stride, int width, int height);

/// Steps of a signal of 0 to 1 in `vidicon_tone_curves.light`.
#define VIDICON_SIGNAL_STEPS 4096

/// Entries of a curve over light: of 2^-20 to 128, with 256 for each power of two. An entry is the value in its middle, the first
/// one that of no light.
#define VIDICON_LIGHT_STEPS (27 * 256)

/// Whether any of such pixels has an opacity other than 0.
bool vidicon_has_opacity(const uint8_t *pixels, ptrdiff_t stride, int width, int height);

/// Curves and matrices by which a frame of high dynamic range or wide gamut becomes one of BT.709.
typedef struct {
  /// Signal of 0 to 1 for a code of 10 bits: the luma of black, the factor of luma, and the factors of Cr in red, of Cb and Cr
  /// in green, and of Cb in blue.
  float black, luma, red_cr, green_cb, green_cr, blue_cb;
  /// Primaries of BT.709 for those of the frame, by rows.
  float primaries[9];
  /// Light for a signal of 0 to 1: VIDICON_SIGNAL_STEPS + 1 entries.
  const float *light;
  /// Factor for the luminance (BT.2020) of the scene; NULL for none.
  const float *gain;
  /// Factor for the brightest component; NULL for none.
  const float *compression;
  /// Signal of 0 to 255 for light.
  const float *signal;
} vidicon_tone_curves;

/// Maps the colors of a frame with 10 bits a sample, 4:2:0 and little endian, to BT.709 with 8 bits in limited range.
///
/// output, input: planes Y, Cb and Cr. Strides are in bytes.
void vidicon_tone_map(uint8_t *const output[3], const ptrdiff_t output_stride[3], const uint8_t *const input[3],
                      const ptrdiff_t stride[3], const vidicon_tone_curves *curves, int width, int height);

#endif
