#!/usr/bin/env python3
"""Publishes video to an RTMP server with the FFmpeg 8 of PyAV, whose codecs beyond H.264 have the headers of Enhanced RTMP.

usage: enhanced_publish.py FOLDER URL CODEC SECONDS [AUDIO]

FOLDER has the package av; CODEC is an encoder such as libx265, AUDIO one such as libopus, which gets silence.

FFmpeg's log is on standard error; the exit status is 0 when all was sent.
"""
import sys
import time

sys.path.insert(0, sys.argv[1])

import av  # noqa: E402
import av.logging  # noqa: E402


def main():
    url, codec, seconds = sys.argv[2], sys.argv[3], float(sys.argv[4])
    av.logging.set_level(av.logging.ERROR)
    av.logging.restore_default_callback()
    with av.open(url, "w", format="flv", options={"rtmp_enhanced_codecs": "hvc1,av01,vp09"}) as output:
        options = {"preset": "ultrafast"} if "x26" in codec else {"preset": "10"} if "svt" in codec else {}
        stream = output.add_stream(codec, rate=30, options=options)
        stream.width, stream.height, stream.pix_fmt, stream.gop_size = 320, 180, "yuv420p", 30
        audio = output.add_stream(sys.argv[5], rate=48_000, layout="stereo") if len(sys.argv) > 5 else None
        start = time.monotonic()
        for number in range(int(seconds * 30)):
            frame = av.VideoFrame(320, 180, "yuv420p")
            for plane in frame.planes:
                plane.update(bytes([number % 256]) * plane.buffer_size)
            frame.pts = number
            output.mux(stream.encode(frame))
            if audio:
                block = av.AudioFrame("s16", "stereo", 1600)
                block.planes[0].update(bytes(block.planes[0].buffer_size))
                block.rate, block.pts = 48_000, number * 1600
                output.mux(audio.encode(block))
            time.sleep(max(0, start + number / 30 - time.monotonic()))
        output.mux(stream.encode(None))


try:
    main()
except av.FFmpegError as error:
    sys.exit(f"{error}")
