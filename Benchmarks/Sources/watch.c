// watch first URL COUNT: connects COUNT times, and prints for each the time until a frame was decoded, in ms.
// watch delay URL SECONDS: reads the timecode strip of the source "bars" in the decoded frames, and prints for each
// the latency since capture, in ms.
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "rtsp.h"

static long long unix_microseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

/// Reads the strip: 64 bits of microseconds since 1970 and their CRC-8, one cell each; 0 when the checksum is wrong.
static long long read_strip(const AVFrame *frame) {
  int cell = frame->width / 80 / 2 * 2;
  unsigned char code[9] = {0}, sum = 0;
  for (int i = 0; i < 72; i++) {
    int luma = frame->data[0][cell / 2 * frame->linesize[0] + i * cell + cell / 2];
    code[i / 8] = code[i / 8] << 1 | (luma > 125);
  }
  long long time = 0;
  for (int i = 0; i < 8; i++) {
    time = time << 8 | code[i];
    sum ^= code[i];
    for (int bit = 0; bit < 8; bit++) sum = sum & 0x80 ? sum << 1 ^ 7 : sum << 1;
  }
  return sum == code[8] ? time : 0;
}

/// Plays for `duration`, or, with 0, until one frame is decoded.
static void play(const char *url, long long duration) {
  long long begin = now();
  AVDictionary *options = NULL;
  av_dict_set(&options, "rtsp_transport", "tcp", 0);
  av_dict_set(&options, "fpsprobesize", "0", 0);
  if (duration) av_dict_set(&options, "fflags", "nobuffer", 0);
  AVFormatContext *input = NULL;
  if (avformat_open_input(&input, url, NULL, &options) < 0) fail("%s cannot be opened", url);
  if (avformat_find_stream_info(input, NULL) < 0) fail("%s has no streams", url);
  const AVCodec *codec;
  int track = av_find_best_stream(input, AVMEDIA_TYPE_VIDEO, -1, -1, &codec, 0);
  if (track < 0) fail("%s has no frame", url);
  AVCodecContext *decoder = avcodec_alloc_context3(codec);
  avcodec_parameters_to_context(decoder, input->streams[track]->codecpar);
  decoder->thread_count = 1;
  decoder->flags |= AV_CODEC_FLAG_LOW_DELAY;
  if (avcodec_open2(decoder, codec, NULL) < 0) fail("no decoder");
  AVPacket *packet = av_packet_alloc();
  AVFrame *frame = av_frame_alloc();
  for (bool done = false; !done && av_read_frame(input, packet) >= 0; av_packet_unref(packet)) {
    if (packet->stream_index != track || avcodec_send_packet(decoder, packet) < 0) continue;
    while (!done && avcodec_receive_frame(decoder, frame) >= 0) {
      if (!duration) {
        printf("%.2f\n", (now() - begin) / 1e6);
        done = true;
      } else if (now() - begin > 2000000000LL) {  // After the frames that came while the format was found out.
        long long captured = read_strip(frame);
        if (captured) printf("%.2f\n", (unix_microseconds() - captured) / 1e3);
        done = now() - begin > duration;
      }
      av_frame_unref(frame);
    }
  }
  av_frame_free(&frame);
  av_packet_free(&packet);
  avcodec_free_context(&decoder);
  avformat_close_input(&input);
  av_dict_free(&options);
}

int main(int argc, char **argv) {
  if (argc != 4) fail("usage: watch first|delay URL COUNT|SECONDS");
  av_log_set_level(AV_LOG_ERROR);
  if (!strcmp(argv[1], "delay")) {
    play(argv[2], atoll(argv[3]) * 1000000000);
    return 0;
  }
  for (int i = 0; i < atoi(argv[3]); i++) {
    play(argv[2], 0);
    usleep(700000 + i * 37000);  // Long enough after the last requested keyframe, and at a different offset each time.
  }
}
