#!/usr/bin/env python3
"""Plays a stream over a link of its own (bad_link.py) that becomes too slow for any video and wide again, and prints figures as JSON.

usage: slow_for_a_while.py PROGRAM aiortc|chromium [--seed N]

640x360 with 1.2 Mb/s of video, a rendition of 250 kb/s and a tone; 50 ms of round trip. The link carries 100 kb/s until the viewer
has audio alone, then any rate. aiortc (whep_aiortc.py) has no transport-wide feedback: its own estimate is at most 1.5 times what it gets.
Chromium (whep_watch.py) has none of audio alone. Times are in seconds after the link became slow or wide.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time

from bad_link import SERVER_ADDRESS, VIEWER, Link, enter_own_network, kill
from bad_network import FOLDER, Server, Viewer
from browser import FACTOR

# Time for which a higher rendition is tried, and some seconds in which it would be given up.
TRIAL = 25


class Browser:
    """Chromium, and the times at which its decoder had frames."""

    def __init__(self, server):
        self.viewer = Viewer(server, SERVER_ADDRESS, ("ip", "netns", "exec", VIEWER))

    def __enter__(self):
        self.viewer.join()
        return self

    def __exit__(self, *_):
        self.viewer.__exit__()

    def last_frames(self, seconds):
        """Number of frames of the last seconds, and the width of the last one."""
        samples = [sample for sample in self.viewer.look().samples[0] if "decoded" in sample]
        last = samples[-1]
        before = next(sample for sample in samples if sample["time"] > last["time"] - seconds)
        return last["decoded"] - before["decoded"], last["width"]


class Client:
    """aiortc, which prints what it has decoded at its end."""

    def __init__(self, server):
        self.folder = tempfile.TemporaryDirectory()
        self.end = os.path.join(self.folder.name, "end")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", VIEWER, sys.executable, os.path.join(FOLDER, "whep_aiortc.py"),
             f"http://{SERVER_ADDRESS}:{server.port}/live/whep", "--until", self.end], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        kill(self.process)
        self.folder.cleanup()

    def last_frames(self, seconds):
        now = time.time()
        open(self.end, "w").close()
        seen = json.loads(self.process.communicate(timeout=60 * FACTOR)[0])
        return sum(arrival > (now - seconds) * 1e6 for arrival in seen["arrivals"]), seen["width"]


def rendition_within(server, names, seconds):
    """Seconds until the viewer has one of some renditions."""
    begin = time.monotonic()
    while True:
        viewers = server.viewers()
        if viewers and viewers[0]["rendition"] in names:
            return time.monotonic() - begin
        if time.monotonic() - begin > seconds * FACTOR:
            raise SystemExit(f"none of {names} in time: {json.dumps(viewers)}")
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("client", choices=("aiortc", "chromium"))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    enter_own_network()
    video = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "15", "--bitrate", "1200k",
             "--rendition", "name=low,size=320x180,bitrate=250k", "--cors", "*"]
    with contextlib.ExitStack() as stack:
        link = stack.enter_context(Link(options.seed))
        server = stack.enter_context(Server(options.program, *video))
        link.set(delay=0.025)
        client = stack.enter_context(Client(server) if options.client == "aiortc" else Browser(server))
        rendition_within(server, ["main"], 30)
        time.sleep(5)
        link.set(rate=100_000, queue=20_000, only="down")
        to_audio = rendition_within(server, ["audio"], 60)
        link.set(rate=None, only="down")
        to_video = rendition_within(server, ["low", "main"], 60)
        to_main = to_video + rendition_within(server, ["main"], 120)
        time.sleep(TRIAL)
        viewer = server.viewers()[0]
        frames, width = client.last_frames(3)
        print(json.dumps({
            "secondsToAudio": to_audio, "secondsToVideo": to_video, "secondsToMain": to_main, "rendition": viewer["rendition"],
            "estimatedBitrate": viewer["estimatedBitrate"], "width": width, "lastFrames": frames}))


if __name__ == "__main__":
    main()
