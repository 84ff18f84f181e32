#include "PixelKernels.h"

enum { fraction_bits = 14, half = 1 << (fraction_bits - 1), block = 512 };

static inline uint8_t clamp(int32_t value) {
  return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

static void luma_row(uint8_t *target, const uint8_t *source, const int32_t *offsets, int32_t gain, size_t count) {
  for (size_t x = 0; x < count; x++) {
    target[x] = clamp((gain * (source[x] - 16) + offsets[x]) >> fraction_bits);
  }
}

void vidicon_full_range_rows(uint8_t *luma, ptrdiff_t luma_stride, uint8_t *cb, uint8_t *cr, const uint8_t *limited_luma,
                             ptrdiff_t limited_luma_stride, const uint8_t *limited_cb, const uint8_t *limited_cr,
                             const vidicon_full_range_matrix *matrix, size_t chroma_width) {
  const vidicon_full_range_matrix m = *matrix;
  for (size_t start = 0; start < chroma_width; start += block) {
    const size_t count = chroma_width - start < block ? chroma_width - start : block;
    int32_t offsets[2 * block];
    for (size_t x = 0; x < count; x++) {
      const int32_t b = limited_cb[start + x] - 128, r = limited_cr[start + x] - 128;
      const int32_t offset = m.luma_from_cb * b + m.luma_from_cr * r + half;
      offsets[2 * x] = offset;
      offsets[2 * x + 1] = offset;
      cb[start + x] = clamp(((m.cb_from_cb * b + m.cb_from_cr * r + half) >> fraction_bits) + 128);
      cr[start + x] = clamp(((m.cr_from_cb * b + m.cr_from_cr * r + half) >> fraction_bits) + 128);
    }
    for (int row = 0; row < 2; row++) {
      luma_row(luma + row * luma_stride + 2 * start, limited_luma + row * limited_luma_stride + 2 * start, offsets,
               m.luma_from_luma, 2 * count);
    }
  }
}
