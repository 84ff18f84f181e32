#!/usr/bin/env python3
"""Publishes a moving gradient and a tone by WHIP with the FFmpeg 8 of PyAV, and prints as JSON what became of it.

usage: whip_ffmpeg.py URL --bearer TOKEN --until FILE [--film FILE]

It publishes until the file exists. With --film, the video is that of a film of 640x360, again and again. FFmpeg is the server of DTLS, and its certificate is on the curve P-224.
"""
import argparse
import fractions
import itertools
import json
import math
import os
import struct
import sys
import time

import av
import av.logging

RATE = 48_000
FRAME_RATE = 30


def gradient(number):
    frame = av.VideoFrame(640, 360, "yuv420p")
    luma = frame.planes[0]
    row = bytes(16 + (x // 4 + number * 8) % 220 for x in range(640)) + bytes(luma.line_size - 640)
    luma.update(row * 360)
    for plane in frame.planes[1:]:
        plane.update(bytes([128]) * plane.buffer_size)
    frame.pts = number
    return frame


def repeated(path):
    """The frames of a film, and from the first one on again behind the last one."""
    number = 0
    while True:
        with av.open(path) as film:
            for frame in film.decode(video=0):
                frame.pts, frame.time_base = number, fractions.Fraction(1, FRAME_RATE)
                frame.pict_type = 0
                yield frame
                number += 1


def tone(number):
    count = RATE // FRAME_RATE
    samples = [0.3 * math.sin(2 * math.pi * 1000 * (number * count + index) / RATE) for index in range(count)]
    block = av.AudioFrame("flt", "stereo", count)
    block.planes[0].update(b"".join(struct.pack("<2f", sample, sample) for sample in samples))
    block.rate, block.pts = RATE, number * count
    return block


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--bearer", required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--film")
    arguments = parser.parse_args()
    av.logging.set_level(av.logging.ERROR)
    av.logging.restore_default_callback()
    with av.open(arguments.url, "w", format="whip", options={"authorization": arguments.bearer}) as output:
        options = {"preset": "ultrafast", "tune": "zerolatency", "profile": "baseline"}
        video = output.add_stream("libx264", rate=FRAME_RATE, options=options)
        video.width, video.height, video.pix_fmt, video.gop_size = 640, 360, "yuv420p", FRAME_RATE
        audio = output.add_stream("libopus", rate=RATE, layout="stereo")
        frames = repeated(arguments.film) if arguments.film else map(gradient, itertools.count())
        start, number = time.monotonic(), 0
        while not os.path.exists(arguments.until):
            output.mux(video.encode(next(frames)))
            output.mux(audio.encode(tone(number)))
            number += 1
            time.sleep(max(0, start + number / FRAME_RATE - time.monotonic()))
    # FFmpeg accepts nothing but this status.
    print(json.dumps({"status": 201, "encoded": number}))


try:
    main()
except av.FFmpegError as error:
    sys.exit(f"{error}")
