#include "Sampling.h"

// Clamps a coordinate to the plane; NaN becomes 0.
static inline float bounded(float value, ptrdiff_t size) {
  const float last = (float)(size - 1);
  return value > 0 ? (value < last ? value : last) : 0;
}

// Bilinear interpolation in a plane.
static inline float between(const uint8_t *plane, ptrdiff_t stride, ptrdiff_t width, ptrdiff_t height, float x, float y) {
  x = bounded(x, width);
  y = bounded(y, height);
  const ptrdiff_t left = (ptrdiff_t)x, top = (ptrdiff_t)y;
  const ptrdiff_t right = left + 1 < width ? left + 1 : left, bottom = top + 1 < height ? top + 1 : top;
  const float across = x - (float)left, down = y - (float)top;
  const uint8_t *upper = plane + top * stride, *lower = plane + bottom * stride;
  const float above = upper[left] + across * (float)(upper[right] - upper[left]);
  const float below = lower[left] + across * (float)(lower[right] - lower[left]);
  return above + down * (below - above);
}

static inline float unit(float value) {
  return value < 0 ? 0 : value > 1 ? 1 : value;
}

void vidicon_sample(float *rgb, size_t side, const vidicon_i420 *frame, const vidicon_placement *placement) {
  const vidicon_i420 p = *frame;
  const vidicon_placement to = *placement;
  const ptrdiff_t width = (p.width + 1) / 2, height = (p.height + 1) / 2;
  for (size_t row = 0; row < side; row++) {
    for (size_t column = 0; column < side; column++, rgb += 3) {
      const float x = to.origin_x + (float)column * to.right_x + (float)row * to.down_x;
      const float y = to.origin_y + (float)column * to.right_y + (float)row * to.down_y;
      // A chroma sample is at the center of four luma pixels.
      const float chroma_x = x / 2 - 0.25F, chroma_y = y / 2 - 0.25F;
      const float luma = (between(p.luma, p.luma_stride, p.width, p.height, x, y) - 16) * (1.0F / 219);
      const float cb = (between(p.cb, p.chroma_stride, width, height, chroma_x, chroma_y) - 128) * (1.0F / 224);
      const float cr = (between(p.cr, p.chroma_stride, width, height, chroma_x, chroma_y) - 128) * (1.0F / 224);
      rgb[0] = unit(luma + 1.402F * cr);
      rgb[1] = unit(luma - 0.344136F * cb - 0.714136F * cr);
      rgb[2] = unit(luma + 1.772F * cb);
    }
  }
}
