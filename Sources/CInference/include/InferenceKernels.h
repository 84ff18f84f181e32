#ifndef VIDICON_INFERENCE_KERNELS_H
#define VIDICON_INFERENCE_KERNELS_H

// The loops of a neural network, in C since instruction sets are selected when the program starts, and Swift loops are
// slow in debug builds. Swift code plans the computation and checks every offset and size; nothing here allocates.
//
// Images are rows of pixels of channels (NHWC with N = 1) of 32-bit floats, without padding.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Maximum number of rows that the window of a convolution may have.
enum { vidicon_maximum_kernel_rows = 16 };

/// Activation: the function applied to each result.
typedef enum {
  vidicon_activation_none,
  /// Negative values become 0.
  vidicon_activation_relu,
  /// Like relu, and values above 6 become 6.
  vidicon_activation_relu6,
  /// Negative values are multiplied by their channel's slope.
  vidicon_activation_prelu,
} vidicon_activation;

/// Operation of a step.
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

/// One step of a network. Offsets count floats: of values from the start of the arena, of constants from the start of
/// the constants.
typedef struct {
  vidicon_step_kind kind;
  vidicon_activation activation;
  /// Offsets of the operands, and of the result, which overlaps none of them.
  size_t input, second, output;
  /// Offset of a convolution's weights, in the layout of `vidicon_kernels.pack`; of a depthwise convolution's as rows,
  /// columns, channels.
  size_t weights;
  /// Offsets of values per output channel: the bias of a convolution; the slopes of `prelu`; and, where `second` has
  /// fewer channels than the result, words with all bits set for the channels that it has, and zeros.
  size_t bias, slopes, mask;
  /// Height, width and channels of `input` and of the result. Tensors that are not images have all elements in
  /// channels.
  size_t input_height, input_width, input_channels;
  size_t output_height, output_width, output_channels;
  /// Window of a convolution or pooling: size, stride, and padding before the first pixel.
  size_t kernel_height, kernel_width, stride_y, stride_x, pad_top, pad_left;
  /// Number of channels of `second`, which a convolution adds before the activation; 0 for none.
  size_t second_channels;
  /// Coordinate mapping of bilinear resizing.
  bool aligns_corners, has_half_pixel_centers;
  /// Block size of `depth_to_space`, in pixels.
  size_t block_size;
  /// Groups of runs of floats that `copy` copies, and the strides between runs and between groups.
  size_t group_count, input_group_stride, output_group_stride;
  size_t run_count, run_length, input_run_stride, output_run_stride;
  /// Offset of a row of zeros, as long as an input row, for windows with padding.
  size_t zeros;
  /// Offset of memory for one window of a convolution with padding.
  size_t patch;
} vidicon_step;

/// The kernels for one instruction set.
typedef struct {
  /// Name of the instruction set.
  const char *name;
  /// Number of floats that packed weights take, for a number of output channels and of products per channel.
  size_t (*packed_size)(size_t channels, size_t depth);
  /// Packs the weights of a convolution. `weights` holds `depth` factors per channel: rows, columns, input channels.
  void (*pack)(float *packed, const float *weights, size_t channels, size_t depth);
  /// Performs the steps in order.
  void (*run)(const vidicon_step *steps, size_t count, float *arena, const float *constants);
} vidicon_kernels;

/// The kernels that this processor supports, fastest first: their number, and each.
size_t vidicon_kernels_count(void);
const vidicon_kernels *vidicon_kernels_at(size_t index);

/// Converts half-precision numbers (IEEE 754 binary16) to floats, exactly. `halves` needs no alignment.
void vidicon_halves_to_floats(float *floats, const void *halves, size_t count);

/// Converts bytes to floats: `floats[i] = scale * bytes[i] + offset`.
void vidicon_bytes_to_floats(float *floats, const uint8_t *bytes, size_t count, float scale, float offset);

#endif
