#!/usr/bin/env python3
"""Plays an address in mpv without a display or sound card, and prints as JSON what it decoded.

usage: mpv_play.py URL FOLDER [--seconds 6]     stores two screenshots in FOLDER
"""
import argparse
import json
import pathlib
import socket
import subprocess
import sys
import time


class Player:
    """mpv, controlled over its JSON socket."""

    def __init__(self, url, folder):
        address = str(folder / "mpv.socket")
        self.process = subprocess.Popen(
            ["mpv", "--no-config", "--vo=null", "--ao=null", "--no-input-terminal", "--msg-level=all=warn", "--hwdec=no",
             "--osc=no", "--load-scripts=no", "--screenshot-format=png", f"--input-ipc-server={address}", url],
            stdin=subprocess.DEVNULL, stdout=sys.stderr)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        deadline = time.monotonic() + 20
        while True:
            try:
                self.socket.connect(address)
                break
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise SystemExit("mpv did not come up")
                time.sleep(0.05)
        self.lines = self.socket.makefile("rw")
        self.count = 0

    def ask(self, *command):
        self.count += 1
        self.lines.write(json.dumps({"command": command, "request_id": self.count}) + "\n")
        self.lines.flush()
        for line in self.lines:
            answer = json.loads(line)
            if answer.get("request_id") == self.count:
                return answer.get("data") if answer.get("error") == "success" else None
        raise SystemExit("mpv ended by itself")

    def property(self, name):
        return self.ask("get_property", name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()

    start = time.monotonic()
    player = Player(options.url, options.folder)
    try:
        while not player.property("vo-configured") or player.property("time-pos") is None:
            if time.monotonic() - start > 20:
                raise SystemExit("mpv showed no frame in 20 s")
            time.sleep(0.05)
        seen = {"firstFrameSeconds": time.monotonic() - start, "screenshots": []}
        position, begin = player.property("time-pos"), time.monotonic()
        for number in range(2):
            time.sleep(options.seconds / 2)
            screenshot = str(options.folder / f"mpv-{number}.png")
            player.ask("screenshot-to-file", screenshot, "video")
            seen["screenshots"].append(screenshot)
        # Writing a screenshot takes time, while playback continues.
        seen["playedSeconds"] = player.property("time-pos") - position
        seen["elapsedSeconds"] = time.monotonic() - begin
        seen["width"] = player.property("video-params/w")
        seen["height"] = player.property("video-params/h")
        seen["videoCodec"] = player.property("video-codec")
        seen["audioCodec"] = player.property("audio-codec")
        print(json.dumps(seen))
    finally:
        player.process.terminate()
        player.process.wait(10)


main()
