#ifndef VIDICON_CLIBAV_SHIM_H
#define VIDICON_CLIBAV_SHIM_H

// FFmpeg's libraries, and what of them is a macro that Swift cannot read.

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

/// AVERROR(EAGAIN): more input is needed, or output must be taken first.
static const int vidicon_averror_eagain = AVERROR(EAGAIN);
/// AVERROR(ENOMEM): there is no memory left.
static const int vidicon_averror_enomem = AVERROR(ENOMEM);
/// AVERROR_EOF: there is no more.
static const int vidicon_averror_eof = AVERROR_EOF;
/// AVERROR_EXIT: an interrupt callback ended the call.
static const int vidicon_averror_exit = AVERROR_EXIT;
/// AV_NOPTS_VALUE: a timestamp that is not known.
static const int64_t vidicon_av_nopts_value = AV_NOPTS_VALUE;

#endif
