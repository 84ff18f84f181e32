#ifdef __linux__

#include "CV4L2.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#include "call.h"

int vidicon_v4l2_call(int descriptor, unsigned long request, void *argument) {
  // Bounded, since a device may be interrupted without end.
  for (int attempt = 0; attempt < 100; attempt++) {
    if (ioctl(descriptor, request, argument) >= 0) return 0;
    if (errno != EINTR) return errno ? errno : EIO;
  }
  return EINTR;
}

void vidicon_v4l2_copy_text(char *text, const void *from) {
  memcpy(text, from, 32);
  text[32] = 0;
}

static uint32_t type_of(bool is_multi_planar) {
  return is_multi_planar ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
}

int vidicon_v4l2_open(const char *path, int *descriptor) {
  for (int attempt = 0; attempt < 100; attempt++) {
    *descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (*descriptor >= 0) return 0;
    if (errno != EINTR) return errno;
  }
  return EINTR;
}

int vidicon_v4l2_query_capability(int descriptor, vidicon_v4l2_capability *result) {
  struct v4l2_capability capability = {0};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_QUERYCAP, &capability);
  if (error) return error;
  memset(result, 0, sizeof *result);
  memcpy(result->driver, capability.driver, sizeof capability.driver);
  vidicon_v4l2_copy_text(result->card, capability.card);
  vidicon_v4l2_copy_text(result->bus, capability.bus_info);
  uint32_t flags =
      capability.capabilities & V4L2_CAP_DEVICE_CAPS ? capability.device_caps : capability.capabilities;
  bool single = flags & V4L2_CAP_VIDEO_CAPTURE, multi = flags & V4L2_CAP_VIDEO_CAPTURE_MPLANE;
  result->is_memory_to_memory = flags & (V4L2_CAP_VIDEO_M2M | V4L2_CAP_VIDEO_M2M_MPLANE);
  result->captures = (single || multi) && !result->is_memory_to_memory;
  result->is_multi_planar = multi && !single;
  result->streams = flags & V4L2_CAP_STREAMING;
  result->is_output = flags & (V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_VIDEO_OUTPUT_MPLANE);
  result->is_metadata = flags & V4L2_CAP_META_CAPTURE;
  return 0;
}

int vidicon_v4l2_set_input(int descriptor, int input) {
  return vidicon_v4l2_call(descriptor, VIDIOC_S_INPUT, &input);
}

int vidicon_v4l2_get_input_name(int descriptor, uint32_t index, char name[33]) {
  struct v4l2_input input = {.index = index};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_ENUMINPUT, &input);
  if (!error) vidicon_v4l2_copy_text(name, input.name);
  return error;
}

int vidicon_v4l2_get_format_at(int descriptor, bool is_multi_planar, uint32_t index, uint32_t *fourcc) {
  struct v4l2_fmtdesc description = {.index = index, .type = type_of(is_multi_planar)};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_ENUM_FMT, &description);
  *fourcc = description.pixelformat;
  return error;
}

int vidicon_v4l2_get_sizes_at(int descriptor, uint32_t fourcc, uint32_t index, vidicon_v4l2_sizes *sizes) {
  struct v4l2_frmsizeenum size = {.index = index, .pixel_format = fourcc};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_ENUM_FRAMESIZES, &size);
  if (error) return error;
  memset(sizes, 0, sizeof *sizes);
  if (size.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
    sizes->min_width = sizes->max_width = size.discrete.width;
    sizes->min_height = sizes->max_height = size.discrete.height;
    return 0;
  }
  sizes->is_range = true;
  sizes->min_width = size.stepwise.min_width;
  sizes->max_width = size.stepwise.max_width;
  sizes->width_step = size.stepwise.step_width;
  sizes->min_height = size.stepwise.min_height;
  sizes->max_height = size.stepwise.max_height;
  sizes->height_step = size.stepwise.step_height;
  return 0;
}

int vidicon_v4l2_get_intervals_at(int descriptor, uint32_t fourcc, uint32_t width, uint32_t height, uint32_t index,
                                  vidicon_v4l2_intervals *intervals) {
  struct v4l2_frmivalenum interval = {.index = index, .pixel_format = fourcc, .width = width, .height = height};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_ENUM_FRAMEINTERVALS, &interval);
  if (error) return error;
  bool is_range = interval.type != V4L2_FRMIVAL_TYPE_DISCRETE;
  struct v4l2_fract min = is_range ? interval.stepwise.min : interval.discrete;
  struct v4l2_fract max = is_range ? interval.stepwise.max : interval.discrete;
  *intervals = (vidicon_v4l2_intervals){is_range, min.numerator, min.denominator, max.numerator,
                                        max.denominator};
  return 0;
}

int vidicon_v4l2_set_format(int descriptor, bool is_multi_planar, vidicon_v4l2_format *result) {
  struct v4l2_format format = {.type = type_of(is_multi_planar)};
  if (is_multi_planar) {
    format.fmt.pix_mp.pixelformat = result->fourcc;
    format.fmt.pix_mp.width = result->width;
    format.fmt.pix_mp.height = result->height;
    format.fmt.pix_mp.field = result->field;
  } else {
    format.fmt.pix.pixelformat = result->fourcc;
    format.fmt.pix.width = result->width;
    format.fmt.pix.height = result->height;
    format.fmt.pix.field = result->field;
  }
  int error = vidicon_v4l2_call(descriptor, VIDIOC_S_FMT, &format);
  if (error) return error;
  memset(result, 0, sizeof *result);
  if (is_multi_planar) {
    const struct v4l2_pix_format_mplane *pixels = &format.fmt.pix_mp;
    result->fourcc = pixels->pixelformat;
    result->width = pixels->width;
    result->height = pixels->height;
    result->field = pixels->field;
    result->colorspace = pixels->colorspace;
    result->matrix = pixels->ycbcr_enc;
    result->quantization = pixels->quantization;
    result->plane_count = pixels->num_planes <= VIDICON_V4L2_PLANES ? pixels->num_planes : VIDICON_V4L2_PLANES;
    for (uint32_t plane = 0; plane < result->plane_count; plane++)
      result->bytes_per_line[plane] = pixels->plane_fmt[plane].bytesperline;
  } else {
    const struct v4l2_pix_format *pixels = &format.fmt.pix;
    result->fourcc = pixels->pixelformat;
    result->width = pixels->width;
    result->height = pixels->height;
    result->field = pixels->field;
    result->colorspace = pixels->colorspace;
    // Without this marker the fields after it are undefined.
    if (pixels->priv == V4L2_PIX_FMT_PRIV_MAGIC) {
      result->matrix = pixels->ycbcr_enc;
      result->quantization = pixels->quantization;
    }
    result->plane_count = 1;
    result->bytes_per_line[0] = pixels->bytesperline;
  }
  return 0;
}

int vidicon_v4l2_set_interval(int descriptor, bool is_multi_planar, uint32_t *numerator, uint32_t *denominator) {
  struct v4l2_streamparm parameters = {.type = type_of(is_multi_planar)};
  parameters.parm.capture.timeperframe = (struct v4l2_fract){*numerator, *denominator};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_S_PARM, &parameters);
  if (error) error = vidicon_v4l2_call(descriptor, VIDIOC_G_PARM, &parameters);
  if (error) return error;
  *numerator = parameters.parm.capture.timeperframe.numerator;
  *denominator = parameters.parm.capture.timeperframe.denominator;
  return 0;
}

int vidicon_v4l2_request_buffers(int descriptor, bool is_multi_planar, uint32_t *count) {
  struct v4l2_requestbuffers request = {
      .count = *count, .type = type_of(is_multi_planar), .memory = V4L2_MEMORY_MMAP};
  int error = vidicon_v4l2_call(descriptor, VIDIOC_REQBUFS, &request);
  *count = request.count;
  return error;
}

/// Calls `ioctl` with a buffer and copies the returned buffer into `result`, unless that is null.
static int buffer_call(int descriptor, unsigned long request, bool is_multi_planar, uint32_t index,
                       uint32_t plane_count, vidicon_v4l2_buffer *result) {
  struct v4l2_plane planes[VIDEO_MAX_PLANES] = {0};
  struct v4l2_buffer buffer = {.index = index, .type = type_of(is_multi_planar), .memory = V4L2_MEMORY_MMAP};
  if (is_multi_planar) {
    buffer.m.planes = planes;
    buffer.length = plane_count;
  }
  int error = vidicon_v4l2_call(descriptor, request, &buffer);
  if (error || !result) return error;
  memset(result, 0, sizeof *result);
  result->index = buffer.index;
  result->sequence = buffer.sequence;
  result->is_error = buffer.flags & V4L2_BUF_FLAG_ERROR;
  const int64_t max_seconds = INT64_MAX / 1000000000 - 1;
  bool is_monotonic = (buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
  bool is_sane = buffer.timestamp.tv_sec >= 0 && buffer.timestamp.tv_sec < max_seconds && buffer.timestamp.tv_usec >= 0 &&
                 buffer.timestamp.tv_usec < 1000000;
  result->timestamp = is_monotonic && is_sane
                          ? (int64_t)buffer.timestamp.tv_sec * 1000000000 + (int64_t)buffer.timestamp.tv_usec * 1000
                          : -1;
  if (is_multi_planar) {
    result->plane_count = buffer.length <= VIDICON_V4L2_PLANES ? buffer.length : VIDICON_V4L2_PLANES;
    for (uint32_t plane = 0; plane < result->plane_count; plane++) {
      result->planes[plane].length = planes[plane].length;
      result->planes[plane].map_offset = planes[plane].m.mem_offset;
      result->planes[plane].bytes_used = planes[plane].bytesused;
      result->planes[plane].data_offset = planes[plane].data_offset;
    }
  } else {
    result->plane_count = 1;
    result->planes[0].length = buffer.length;
    result->planes[0].map_offset = buffer.m.offset;
    result->planes[0].bytes_used = buffer.bytesused;
  }
  return 0;
}

int vidicon_v4l2_query_buffer(int descriptor, bool is_multi_planar, uint32_t index, vidicon_v4l2_buffer *buffer) {
  return buffer_call(descriptor, VIDIOC_QUERYBUF, is_multi_planar, index, VIDICON_V4L2_PLANES, buffer);
}

int vidicon_v4l2_queue_buffer(int descriptor, bool is_multi_planar, uint32_t index, uint32_t plane_count) {
  return buffer_call(descriptor, VIDIOC_QBUF, is_multi_planar, index, plane_count, NULL);
}

int vidicon_v4l2_dequeue_buffer(int descriptor, bool is_multi_planar, vidicon_v4l2_buffer *buffer) {
  return buffer_call(descriptor, VIDIOC_DQBUF, is_multi_planar, 0, VIDICON_V4L2_PLANES, buffer);
}

int vidicon_v4l2_set_streaming(int descriptor, bool is_multi_planar, bool is_on) {
  int type = (int)type_of(is_multi_planar);
  return vidicon_v4l2_call(descriptor, is_on ? VIDIOC_STREAMON : VIDIOC_STREAMOFF, &type);
}

#endif
