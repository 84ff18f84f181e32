#include "PixelKernels.h"

#include <string.h>

/// A color: light, or a signal.
typedef struct {
  float red, green, blue;
} color;

/// Signal that Cb and Cr add to luma.
static inline color chroma(const vidicon_tone_curves *curves, int cb, int cr) {
  return (color){curves->red_cr * (cr - 512), curves->green_cb * (cb - 512) + curves->green_cr * (cr - 512),
                 curves->blue_cb * (cb - 512)};
}

static inline float clamped(float value, float low, float high) {
  return value < low ? low : value > high ? high : value;
}

static inline float light(const vidicon_tone_curves *curves, float signal) {
  return curves->light[(int)(clamped(signal, 0, 1) * VIDICON_SIGNAL_STEPS + 0.5f)];
}

/// The value of a curve over light.
static inline float curve(const float *entries, float light) {
  // The exponent of 2^-20 is 107; eight bits of the fraction follow it.
  enum { fraction_bits = 8, first = 107 << fraction_bits };
  light = clamped(light, 0x1p-20f, 0x1.fffffep6f);
  uint32_t bits;
  memcpy(&bits, &light, sizeof bits);
  return entries[(bits >> (23 - fraction_bits)) - first];
}

/// Signal of BT.709, 0 to 255.
static inline color mapped(const vidicon_tone_curves *curves, float luma, color chroma) {
  float y = (luma - curves->black) * curves->luma;
  float r = light(curves, y + chroma.red), g = light(curves, y + chroma.green), b = light(curves, y + chroma.blue);
  const float *m = curves->primaries;
  color narrow = {m[0] * r + m[1] * g + m[2] * b, m[3] * r + m[4] * g + m[5] * b, m[6] * r + m[7] * g + m[8] * b};
  float factor = curves->gain ? curve(curves->gain, 0.2627f * r + 0.6780f * g + 0.0593f * b) : 1;
  if (curves->compression) {
    float brightest = narrow.red > narrow.green ? narrow.red : narrow.green;
    factor *= curve(curves->compression, (brightest > narrow.blue ? brightest : narrow.blue) * factor);
  }
  return (color){curve(curves->signal, narrow.red * factor), curve(curves->signal, narrow.green * factor),
                 curve(curves->signal, narrow.blue * factor)};
}

static inline float luma(color color) { return 0.2126f * color.red + 0.7152f * color.green + 0.0722f * color.blue; }

static inline uint8_t rounded(float value) { return (uint8_t)(value + 0.5f); }

void vidicon_tone_map(uint8_t *const output[3], const ptrdiff_t output_stride[3], const uint8_t *const input[3],
                      const ptrdiff_t stride[3], const vidicon_tone_curves *curves, int width, int height) {
  for (int y = 0; y < height; y += 2) {
    int rows = height - y < 2 ? 1 : 2;
    const uint16_t *cb = (const uint16_t *)(input[1] + y / 2 * stride[1]);
    const uint16_t *cr = (const uint16_t *)(input[2] + y / 2 * stride[2]);
    for (int x = 0; x < width; x += 2) {
      int columns = width - x < 2 ? 1 : 2, sum = 0;
      color added = chroma(curves, cb[x / 2], cr[x / 2]);
      for (int row = 0; row < rows; row++) {
        const uint16_t *codes = (const uint16_t *)(input[0] + (y + row) * stride[0]) + x;
        uint8_t *target = output[0] + (y + row) * output_stride[0] + x;
        for (int column = 0; column < columns; column++) {
          sum += codes[column];
          target[column] = rounded(16 + luma(mapped(curves, codes[column], added)) * (219 / 255.f));
        }
      }
      color mean = mapped(curves, (float)sum / (rows * columns), added);
      float y709 = luma(mean);
      output[1][y / 2 * output_stride[1] + x / 2] = rounded(128 + (mean.blue - y709) * (224 / 255.f / 1.8556f));
      output[2][y / 2 * output_stride[2] + x / 2] = rounded(128 + (mean.red - y709) * (224 / 255.f / 1.5748f));
    }
  }
}
