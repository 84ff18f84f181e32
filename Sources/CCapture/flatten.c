#include "PixelKernels.h"

void vidicon_flatten(uint8_t *pixels, ptrdiff_t stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    uint8_t *pixel = pixels + y * stride;
    for (int x = 0; x < width; x++, pixel += 4) {
      unsigned alpha = pixel[3];
      for (int component = 0; component < 3; component++) pixel[component] = (uint8_t)((pixel[component] * alpha + 127) / 255);
    }
  }
}

bool vidicon_has_opacity(const uint8_t *pixels, ptrdiff_t stride, int width, int height) {
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++) {
      if (pixels[y * stride + x * 4 + 3]) return true;
    }
  }
  return false;
}
