#!/usr/bin/env python3
"""Pushes a stream by WHIP to a second copy of the program, at the other end of a link of its own (bad_link.py) that becomes slow and
wide again, and prints figures as JSON.

usage: push_link.py PROGRAM [--seconds 40] [--seed N]

640x360 with 2.3 Mb/s of video and a tone; 50 ms of round trip. After some seconds the link carries 1 Mb/s for as long as said, then
any rate. Times are in seconds after the link became slow or wide. The queue is that of the link.
"""
import argparse
import http.client
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request

from bad_link import VIEWER, VIEWER_ADDRESS, Link, enter_own_network, kill
from browser import FACTOR

TOKEN = "0123456789abcdef0123"
VIDEO_BITRATE, LINK_BITRATE = 2_300_000, 1_000_000


class Program:
    """A copy of the program, in this network or at the other end, and the last status that it has printed."""

    def __init__(self, program, *options, entry=(), environment=None):
        self.process = subprocess.Popen(
            [*entry, program, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--webrtc-port", "0", "--https-port", "0",
             "--no-discovery", "--size", "640x360", "--fps", "30", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=os.environ | (environment or {}))
        try:
            self.port = json.loads(self.process.stdout.readline())["httpPort"]
        except (ValueError, LookupError):
            kill(self.process)
            raise SystemExit("the program does not serve") from None
        self.stream = {}
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            event = json.loads(line)
            if event["event"] == "status":
                self.stream = event["streams"][0]

    def until(self, condition, seconds, what):
        deadline = time.monotonic() + seconds * FACTOR
        while not condition(self.stream):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"{what}: {json.dumps(self.stream)}")
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(10 * FACTOR):
            raise SystemExit(f"the program ended with {self.process.returncode}")


class Observer:
    """The push as the program shows it, twenty times a second, and the frames that it encodes."""

    def __init__(self, port):
        self.port, self.seen, self.ended, self.failure = port, [], threading.Event(), None
        self.thread = threading.Thread(target=self.observe, daemon=True)
        self.thread.start()

    def observe(self):
        try:
            while not self.ended.wait(0.05):
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/streams/live/pushes", timeout=10 * FACTOR) as response:
                    self.seen.append((time.time(), json.load(response)["pushes"][0]))
        except (OSError, http.client.HTTPException, ValueError, LookupError) as error:
            self.failure = error

    def end(self):
        self.ended.set()
        self.thread.join()
        if self.failure:
            raise SystemExit(f"the push is not shown: {self.failure!r}")

    def first(self, begin, condition):
        """Seconds from a time until a condition of the push; None where that did not come."""
        return next((at - begin for at, push in list(self.seen) if at >= begin and condition(push)), None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    enter_own_network()
    with Link(options.seed) as link:
        receiver = Program(options.program, "--source", f"whip:?token={TOKEN}", entry=("ip", "netns", "exec", VIEWER))
        sender = None
        try:
            sender = Program(
                options.program, "--source", "plasma", "--audio", "tone", "--bitrate", str(VIDEO_BITRATE), "--control", "machine",
                "--push", f"whip+http://{VIEWER_ADDRESS}:{receiver.port}/live/whip", environment={"VIDICON_PUSH_TOKEN": TOKEN})
            link.set(delay=0.025)
            receiver.until(
                lambda stream: stream.get("isSlateShown") is False and stream["publisher"]["framesReceived"] > 60, 30, "nothing arrives")
            observer = Observer(sender.port)
            time.sleep(3)
            narrow = link.set(rate=LINK_BITRATE, queue=60_000, only="down")
            time.sleep(8)
            bytes_before, begin, frames = link.counts()["down"]["bytes"], time.time(), receiver.stream["publisher"]["framesReceived"]
            time.sleep(options.seconds - 8)
            share = (link.counts()["down"]["bytes"] - bytes_before) * 8 / (time.time() - begin) / LINK_BITRATE
            frame_rate = (receiver.stream["publisher"]["framesReceived"] - frames) / (time.time() - begin)
            queues = [(at - narrow, delay) for at, delay in link.queue_delays()]
            wide = link.set(rate=None, only="down")
            deadline = time.monotonic() + 60 * FACTOR
            while (observer.first(wide, lambda push: push["videoBitrate"] >= 0.95 * VIDEO_BITRATE) is None
                   and observer.failure is None and time.monotonic() < deadline):
                time.sleep(0.2)
            observer.end()
            during = [push for at, push in observer.seen if narrow + 8 <= at < wide]
            bitrates = [push["videoBitrate"] for push in during]
            print(json.dumps({
                "secondsToOwnEncoding": observer.first(
                    narrow, lambda push: push["ownEncoding"] and push["videoBitrate"] < 0.9 * LINK_BITRATE),
                "isOwnEncoding": all(push["ownEncoding"] for push in during), "share": share, "frameRate": frame_rate,
                "queue": max([0] + [delay for at, delay in queues if at > 8]),
                "maximumQueue": max([0] + [delay for _, delay in queues]),
                "bitrates": [min(bitrates), max(bitrates)],
                "secondsToBitrate": observer.first(wide, lambda push: push["videoBitrate"] >= 0.95 * VIDEO_BITRATE),
                "reconnects": observer.seen[-1][1]["reconnects"], "states": sorted({push["state"] for _, push in observer.seen})}))
            sender.stop()
            receiver.stop()
        finally:
            kill(receiver.process, *([sender.process] if sender else []))


if __name__ == "__main__":
    main()
