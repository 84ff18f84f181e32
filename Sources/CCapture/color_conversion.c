#include "PixelKernels.h"

enum { fraction_bits = 14, half = 1 << (fraction_bits - 1), block = 512 };

static inline uint8_t clamp(int32_t value) {
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

// In both loops a sample depends on source samples at its own position only, so that the target may be the source.

static void luma_row(uint8_t *target, const uint8_t *source, const int32_t *offsets, int32_t gain, size_t count) {
#pragma clang loop vectorize(assume_safety)
  for (size_t x = 0; x < count; x++) {
    target[x] = clamp((gain * (source[x] - 16) + offsets[x]) >> fraction_bits);
  }
}

void vidicon_convert_color_rows(uint8_t *luma, ptrdiff_t luma_stride, uint8_t *cb, uint8_t *cr,
                                const uint8_t *source_luma, ptrdiff_t source_luma_stride, const uint8_t *source_cb,
                                const uint8_t *source_cr, const vidicon_color_conversion *conversion,
                                size_t chroma_width) {
  const vidicon_color_conversion c = *conversion;
  const int32_t base = half + (c.luma_offset << fraction_bits);
  for (size_t start = 0; start < chroma_width; start += block) {
    const size_t count = chroma_width - start < block ? chroma_width - start : block;
    int32_t offsets[2 * block];
#pragma clang loop vectorize(assume_safety)
    for (size_t x = 0; x < count; x++) {
      const int32_t b = source_cb[start + x] - 128, r = source_cr[start + x] - 128;
      const int32_t offset = c.luma_from_cb * b + c.luma_from_cr * r + base;
      offsets[2 * x] = offset;
      offsets[2 * x + 1] = offset;
      cb[start + x] = clamp(((c.cb_from_cb * b + c.cb_from_cr * r + half) >> fraction_bits) + 128);
      cr[start + x] = clamp(((c.cr_from_cb * b + c.cr_from_cr * r + half) >> fraction_bits) + 128);
    }
    for (int row = 0; row < 2; row++) {
      luma_row(luma + row * luma_stride + 2 * start, source_luma + row * source_luma_stride + 2 * start, offsets,
               c.luma_from_luma, 2 * count);
    }
  }
}
