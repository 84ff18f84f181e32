#!/usr/bin/env python3
"""Plays a stream in aiortc (whep_aiortc.py) over a link of its own (bad_link.py) that becomes too slow for any video and wide again, and
prints figures as JSON.

usage: whep_aiortc_link.py PROGRAM [--seed N]

640x360 with 1.2 Mb/s of video, a rendition of 250 kb/s and a tone; 50 ms of round trip. The link carries 100 kb/s until the viewer
has audio alone, then any rate. aiortc has no transport-wide feedback; its own estimate is at most 1.5 times what it gets. Times are in
seconds after the link became slow or wide.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from bad_link import SERVER_ADDRESS, VIEWER, Link, enter_own_network, kill
from bad_network import FOLDER, Server
from browser import FACTOR


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
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    enter_own_network()
    video = ["--source", "bars", "--audio", "tone", "--size", "640x360", "--fps", "15", "--bitrate", "1200k",
             "--rendition", "name=low,size=320x180,bitrate=250k"]
    with Link(options.seed) as link, Server(options.program, *video) as server, tempfile.TemporaryDirectory() as folder:
        link.set(delay=0.025)
        end = os.path.join(folder, "end")
        client = subprocess.Popen(
            ["ip", "netns", "exec", VIEWER, sys.executable, os.path.join(FOLDER, "whep_aiortc.py"),
             f"http://{SERVER_ADDRESS}:{server.port}/live/whep", "--until", end], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            rendition_within(server, ["main"], 30)
            time.sleep(5)
            link.set(rate=100_000, queue=20_000, only="down")
            to_audio = rendition_within(server, ["audio"], 60)
            wide = link.set(rate=None, only="down")
            to_video = rendition_within(server, ["low", "main"], 60)
            to_main = to_video + rendition_within(server, ["main"], 120)
            time.sleep(5)
            estimate = server.viewers()[0]["estimatedBitrate"]
            open(end, "w").close()
            seen = json.loads(client.communicate(timeout=60 * FACTOR)[0])
        finally:
            kill(client)
        arrivals = [arrival / 1e6 - wide for arrival in seen["arrivals"]]
        print(json.dumps({
            "secondsToAudio": to_audio, "secondsToVideo": to_video, "secondsToMain": to_main, "estimatedBitrate": estimate,
            "width": seen["width"], "firstFrame": next((arrival for arrival in arrivals if arrival > 1), None),
            "lastFrames": sum(arrival > arrivals[-1] - 3 for arrival in arrivals)}))


if __name__ == "__main__":
    main()
