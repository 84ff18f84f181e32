#ifndef VIDICON_INFERENCE_KERNELS_H
#define VIDICON_INFERENCE_KERNELS_H

// The loops of a neural network, in C for the sake of instruction sets that are chosen when the program starts, and of
// debug builds. What is computed is planned in Swift; nothing here allocates, and every place and size has been checked
// there.
//
// Images are rows of pixels of channels (NHWC with N = 1) of 32-bit floats, without gaps.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Maximum number of rows that the window of a convolution may have.
enum { vidicon_maximum_kernel_rows = 16 };

/// What is done to each value last.
typedef enum {
  vidicon_activation_none,
  /// Negative values become 0.
  vidicon_activation_relu,
  /// As before, and values above 6 become 6.
  vidicon_activation_relu6,
  /// Negative values are multiplied with their channel's slope.
  vidicon_activation_prelu,
} vidicon_activation;

/// What a step does.
typedef enum {
  vidicon_step_convolution,
  vidicon_step_depthwise_convolution,
  vidicon_step_max_pool,
  vidicon_step_add,
  vidicon_step_activate,
  vidicon_step_logistic,
  vidicon_step_resize_bilinear,
  vidicon_step_depth_to_space,
  vidicon_step_copy,
  vidicon_step_clear,
} vidicon_step_kind;

/// One step of a network. Places count floats: those of values from the start of the arena, those of constants from the
/// start of the constants.
typedef struct {
  vidicon_step_kind kind;
  vidicon_activation activation;
  /// The values that are read, and where the result goes, which overlaps none of them.
  size_t input, second, output;
  /// What a convolution multiplies with, as `vidicon_kernels.pack` lays it out; for a depthwise one rows, columns,
  /// channels.
  size_t weights;
  /// One for each output channel: what a convolution begins with; the slopes of `prelu`; and, where `second` has fewer
  /// channels than the result, words with all bits set for those that it has, and zeros.
  size_t bias, slopes, mask;
  /// Height, width and channels of `input` and of the result. What is not an image has all in its channels.
  size_t input_height, input_width, input_channels;
  size_t output_height, output_width, output_channels;
  /// Of a window: its size, its step, and how far the first one begins before the first pixel.
  size_t kernel_height, kernel_width, stride_y, stride_x, pad_top, pad_left;
  /// Of a convolution: the channels of `second`, which is added before the activation; 0 for none.
  size_t second_channels;
  /// Of bilinear resizing: where output pixels lie on the input.
  bool aligns_corners, has_half_pixel_centers;
  /// Of `depth_to_space`: the side of the square that a pixel becomes.
  size_t block_size;
  /// Of `copy`: groups of runs of floats, and the distances from one run, and from one group, to the next.
  size_t group_count, input_group_stride, output_group_stride;
  size_t run_count, run_length, input_run_stride, output_run_stride;
  /// Of a window that begins before the first pixel: a row of zeros, as long as one of the input.
  size_t zeros;
  /// Of a convolution with such windows: room for one window.
  size_t patch;
} vidicon_step;

/// The kernels for one instruction set.
typedef struct {
  /// As people name it.
  const char *name;
  /// The floats that packed weights take, for so many output channels and products for each.
  size_t (*packed_size)(size_t channels, size_t depth);
  /// Lays out the weights of a convolution. `weights` holds `depth` factors for each channel: rows, columns, input
  /// channels.
  void (*pack)(float *packed, const float *weights, size_t channels, size_t depth);
  /// Performs the steps in their order.
  void (*run)(const vidicon_step *steps, size_t count, float *arena, const float *constants);
} vidicon_kernels;

/// The kernels that this processor runs, fastest first: their number, and each.
size_t vidicon_kernels_count(void);
const vidicon_kernels *vidicon_kernels_at(size_t index);

/// Turns numbers of 16 bits (IEEE 754 binary16) into floats, exactly. `halves` may lie anywhere.
void vidicon_halves_to_floats(float *floats, const void *halves, size_t count);

/// Turns bytes into floats: `floats[i] = scale * bytes[i] + offset`.
void vidicon_bytes_to_floats(float *floats, const uint8_t *bytes, size_t count, float scale, float offset);

#endif
