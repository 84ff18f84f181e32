#ifndef VIDICON_CLIBAV_SHIM_H
#define VIDICON_CLIBAV_SHIM_H

// FFmpeg's libraries, and their macros that Swift cannot import.

#include <stdbool.h>

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

/// AVERROR(EAGAIN): the codec needs more input, or its output must be fetched first.
static const int vidicon_averror_eagain = AVERROR(EAGAIN);
/// AVERROR(ENOMEM): out of memory.
static const int vidicon_averror_enomem = AVERROR(ENOMEM);
/// AVERROR_EOF: end of the input.
static const int vidicon_averror_eof = AVERROR_EOF;
/// AVERROR_EXIT: an interrupt callback cancelled the call.
static const int vidicon_averror_exit = AVERROR_EXIT;
/// AVERROR_INVALIDDATA: malformed input.
static const int vidicon_averror_invaliddata = AVERROR_INVALIDDATA;
/// AVERROR_PROTOCOL_NOT_FOUND: unknown URL scheme.
static const int vidicon_averror_protocol_not_found = AVERROR_PROTOCOL_NOT_FOUND;
/// AVERROR_HTTP_UNAUTHORIZED: 401, also of RTSP.
static const int vidicon_averror_http_unauthorized = AVERROR_HTTP_UNAUTHORIZED;
/// AVERROR_HTTP_FORBIDDEN: 403.
static const int vidicon_averror_http_forbidden = AVERROR_HTTP_FORBIDDEN;
/// AVERROR_HTTP_NOT_FOUND: 404.
static const int vidicon_averror_http_not_found = AVERROR_HTTP_NOT_FOUND;
/// AVERROR_HTTP_OTHER_4XX: another client error.
static const int vidicon_averror_http_other_4xx = AVERROR_HTTP_OTHER_4XX;
/// AVERROR_HTTP_SERVER_ERROR: 5xx.
static const int vidicon_averror_http_server_error = AVERROR_HTTP_SERVER_ERROR;
/// AV_NOPTS_VALUE: an unknown timestamp.
static const int64_t vidicon_av_nopts_value = AV_NOPTS_VALUE;

/// The display matrix of a stream (9 values, libavutil/display.h), or NULL: FFmpeg 6.1 moved it.
static inline const int32_t *vidicon_display_matrix(const AVStream *stream) {
#if LIBAVFORMAT_VERSION_MAJOR >= 61
  const AVPacketSideData *data = av_packet_side_data_get(
      stream->codecpar->coded_side_data, stream->codecpar->nb_coded_side_data, AV_PKT_DATA_DISPLAYMATRIX);
  return data && data->size >= 9 * sizeof(int32_t) ? (const int32_t *)data->data : NULL;
#else
  size_t size = 0;
  const uint8_t *data = av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size);
  return data && size >= 9 * sizeof(int32_t) ? (const int32_t *)data : NULL;
#endif
}

/// Whether a frame has two fields of different times: FFmpeg 7 moved it.
static inline bool vidicon_is_interlaced(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR >= 59
  return frame->flags & AV_FRAME_FLAG_INTERLACED;
#else
  return frame->interlaced_frame;
#endif
}

/// Whether the field with line 0 is the first of an interlaced frame.
static inline bool vidicon_is_top_field_first(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR >= 59
  return frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  return frame->top_field_first;
#endif
}

/// Whether a frame is one at which decoding can start.
static inline bool vidicon_is_keyframe(const AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR >= 59
  return frame->flags & AV_FRAME_FLAG_KEY;
#else
  return frame->key_frame;
#endif
}

/// Marks a frame as interlaced.
static inline void vidicon_set_interlaced(AVFrame *frame, bool is_top_field_first) {
#if LIBAVUTIL_VERSION_MAJOR >= 59
  frame->flags |= AV_FRAME_FLAG_INTERLACED;
  if (is_top_field_first) frame->flags |= AV_FRAME_FLAG_TOP_FIELD_FIRST;
#else
  frame->interlaced_frame = 1;
  frame->top_field_first = is_top_field_first;
#endif
}

/// Marks a frame as progressive.
static inline void vidicon_set_progressive(AVFrame *frame) {
#if LIBAVUTIL_VERSION_MAJOR >= 59
  frame->flags &= ~AV_FRAME_FLAG_INTERLACED;
#else
  frame->interlaced_frame = 0;
#endif
}

#endif
