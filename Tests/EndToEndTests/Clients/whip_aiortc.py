#!/usr/bin/env python3
"""Publishes generated video and a tone by WHIP with aiortc, an implementation of WebRTC that shares no code with browsers, and prints
as JSON what became of it.

usage: whip_aiortc.py URL --bearer TOKEN --until FILE [--codec h264] [--size 480x640] [--takeover] [--retry] [--after FILE]

With --size the frames have that size in place of 640x360, and are white in their upper quarter. With --retry the offer is sent again where
another publisher sends, after the time that the server names; with --after the first one is sent once that file exists. It publishes until
the other file exists, or the server ends the session.
"""
import argparse
import asyncio
import fractions
import json
import math
import os
import struct
import time
import urllib.error
import urllib.parse
import urllib.request

from aiortc import MediaStreamTrack, RTCPeerConnection, RTCRtpSender, RTCSessionDescription, VideoStreamTrack
from av import AudioFrame, VideoFrame

RATE = 48_000
BLOCK = 960


def request(method, url, headers, body=None):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=20) as response:
            return response.status, dict(response.headers), response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read().decode()


class Bars(VideoStreamTrack):
    """A bar that moves over a gradient, below a white field where the size is another."""

    def __init__(self, width, height):
        super().__init__()
        self.count = 0
        self.width, self.height = width, height
        self.white = 0 if (width, height) == (640, 360) else height // 4

    async def recv(self):
        pts, time_base = await self.next_timestamp()
        frame = VideoFrame(self.width, self.height, "yuv420p")
        row = bytearray(x * 200 // self.width + 20 for x in range(self.width))
        start = self.count * 8 % (self.width - 40)
        row[start:start + 40] = bytes([235]) * 40
        luma = frame.planes[0]
        white, below = (bytes(line) + bytes(luma.line_size - self.width) for line in (bytes([235]) * self.width, row))
        luma.update(white * self.white + below * (self.height - self.white))
        for plane in frame.planes[1:]:
            plane.update(bytes([128]) * plane.buffer_size)
        frame.pts, frame.time_base = pts, time_base
        self.count += 1
        return frame


class Tone(MediaStreamTrack):
    """A tone of 1 kHz."""

    kind = "audio"

    def __init__(self):
        super().__init__()
        self.start = None
        self.count = 0

    async def recv(self):
        now = time.monotonic()
        self.start = self.start or now
        await asyncio.sleep(max(0, self.start + self.count * BLOCK / RATE - now))
        samples = []
        for sample in range(self.count * BLOCK, (self.count + 1) * BLOCK):
            samples += [int(8_000 * math.sin(2 * math.pi * 1000 * sample / RATE))] * 2
        frame = AudioFrame("s16", "stereo", BLOCK)
        frame.planes[0].update(struct.pack(f"<{len(samples)}h", *samples))
        frame.sample_rate, frame.pts, frame.time_base = RATE, self.count * BLOCK, fractions.Fraction(1, RATE)
        self.count += 1
        return frame


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--bearer", required=True)
    parser.add_argument("--until", required=True)
    parser.add_argument("--codec", default="h264")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--takeover", action="store_true")
    parser.add_argument("--retry", action="store_true")
    parser.add_argument("--after")
    options = parser.parse_args()
    headers = {"Authorization": f"Bearer {options.bearer}"}
    peer = RTCPeerConnection()
    bars = Bars(*map(int, options.size.split("x")))
    video = peer.addTransceiver(bars, direction="sendonly")
    video.setCodecPreferences([
        codec for codec in RTCRtpSender.getCapabilities("video").codecs
        if codec.mimeType.lower() == f"video/{options.codec}"])
    peer.addTransceiver(Tone(), direction="sendonly")
    # Finds the candidates, which takes seconds where a STUN server does not answer.
    await peer.setLocalDescription(await peer.createOffer())
    while options.after and not os.path.exists(options.after):
        await asyncio.sleep(0.05)
    loop = asyncio.get_running_loop()
    url = options.url + ("?takeover=1" if options.takeover else "")
    while True:
        status, fields, text = await loop.run_in_executor(None, lambda: request(
            "POST", url, {"Content-Type": "application/sdp", **headers}, peer.localDescription.sdp.encode()))
        if status != 409 or not options.retry:
            break
        await asyncio.sleep(int(fields["Retry-After"]))
    seen = {"status": status, "retryAfter": fields.get("Retry-After")}
    if status == 201:
        await peer.setRemoteDescription(RTCSessionDescription(text, "answer"))
        while not os.path.exists(options.until) and peer.connectionState not in ("failed", "closed"):
            await asyncio.sleep(0.1)
        session = urllib.parse.urljoin(options.url, fields["Location"])
        seen.update({
            "connection": peer.connectionState, "frames": bars.count,
            "deleted": (await loop.run_in_executor(None, lambda: request("DELETE", session, headers)))[0]})
    await peer.close()
    print(json.dumps(seen))


if __name__ == "__main__":
    asyncio.run(main())
