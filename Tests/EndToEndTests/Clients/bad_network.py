#!/usr/bin/env python3
"""Plays the program's stream in Chromium over a link that loses, delays, reorders and duplicates packets, becomes slow, fails
for a while, or changes ports (bad_link.py), and prints figures as JSON.

usage: bad_network.py PROGRAM SCENARIO [--seconds N] [--seed N]

    loss     50 ms of round trip; 2% of packets are lost for N seconds, then 10% for two
    changes  5% of packets are reordered and 5% duplicated; the viewer's port changes; nothing arrives for 5 s
    joins    N sessions one after the other at 100 ms of round trip and 5% of loss
    far      N sessions one after the other at 200 ms of round trip
    near     N sessions one after the other on a link without faults
    crowd    nine viewers have a good network, a tenth one of 500 kb/s
    steps    4 Mb/s, then 0.8 Mb/s for N seconds, then 4 Mb/s again; the only viewer

The clock of all figures is that of this machine. Frames are those that the browser's decoder counts (getStats); shares of them, and
of bytes, are those of what the program has encoded in the same time, which on a busy machine is less than 30 frames a second.
"""
import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request

from bad_link import SERVER_ADDRESS, VIEWER, Link, enter_own_network

FOLDER = os.path.dirname(os.path.abspath(__file__))
# Minimum interval that browsers count as a freeze at 30 frames per second: three intervals, or one and 150 ms.
FREEZE = 0.183
KEYFRAME_INTERVAL = 2


class Server:
    """The program, and what it says of itself over HTTP."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen(
            [program, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--webrtc-port", "0", "--no-discovery",
             "--control", "machine", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.port = json.loads(self.process.stdout.readline() or "{}")["httpPort"]
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        # Frames and bytes encoded, by time.
        self.encoded = []
        self.counting = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.count, daemon=True).start()
        return self

    def count(self):
        """Counts what is encoded, four times a second."""
        while not self.counting.wait(0.25):
            before = time.time()
            totals = self.metrics("frames_encoded_total", "encoded_bytes_total")
            self.encoded.append(((before + time.time()) / 2, *totals))

    def rates(self, begin, end):
        """Frames and bits that were encoded each second of a time, which lasts a second and more."""
        entries = [entry for entry in list(self.encoded) if begin <= entry[0] <= end]
        first, last = entries[0], entries[-1]
        seconds = last[0] - first[0]
        return (last[1] - first[1]) / seconds, (last[2] - first[2]) * 8 / seconds

    def __exit__(self, *_):
        self.counting.set()
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(10):
            raise SystemExit(f"the program ended with {self.process.returncode}")

    def get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            return response.read().decode()

    def metrics(self, *names):
        """Sums of metrics over their labels."""
        lines = self.get("/metrics").splitlines()
        return [sum(float(line.rsplit(" ", 1)[1]) for line in lines
                    if line.startswith((f"vidicon_{name}{{", f"vidicon_{name} "))) for name in names]

    def keyframes(self):
        return self.metrics("keyframes_total")[0]

    def viewers(self):
        return json.loads(self.get("/api/streams/live"))["webrtcViewers"]


class Viewer:
    """One browser, with whep_watch.py, and all that its sessions have counted."""

    def __init__(self, server, host, entry=(), peers=1, name="live"):
        self.process = subprocess.Popen(
            [*entry, sys.executable, os.path.join(FOLDER, "whep_watch.py"), f"http://{host}:{server.port}", name,
             "--peers", str(peers)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.samples = [[] for _ in range(peers)]
        self.frames = [[] for _ in range(peers)]
        self.receive()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)

    def receive(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the browser has ended")
        result = json.loads(line)
        if isinstance(result, dict) and "failure" in result:
            raise SystemExit(result["failure"])
        return result

    def call(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.receive()

    def join(self):
        return self.call("join")

    def leave(self):
        self.call("leave")

    def look(self):
        for index, new in enumerate(self.call("look")):
            self.samples[index] += new["samples"]
            self.frames[index] += new["frames"]
        return self

    def between(self, begin, end, index=0):
        """The first and last sample of a time, which have counted video."""
        samples = [sample for sample in self.samples[index] if begin <= sample["time"] <= end and "decoded" in sample]
        return samples[0], samples[-1]

    def grown(self, name, begin, end, index=0):
        first, last = self.between(begin, end, index)
        return last[name] - first[name]

    def frame_rate(self, begin, end, index=0):
        first, last = self.between(begin, end, index)
        return (last["decoded"] - first["decoded"]) / (last["time"] - first["time"])

    def bitrate(self, begin, end, index=0):
        first, last = self.between(begin, end, index)
        return (last["bytes"] - first["bytes"]) * 8 / (last["time"] - first["time"])

    def first_frame(self, begin, index=0):
        """Seconds from a time to the first sample with a further decoded frame."""
        count = max((sample["decoded"] for sample in self.samples[index] if sample["time"] <= begin and "decoded" in sample))
        return next((sample["time"] for sample in self.samples[index]
                     if sample["time"] > begin and sample.get("decoded", 0) > count), float("inf")) - begin

    def last_freeze_end(self, begin, end, index=0):
        """Seconds from a time to the end of the last freeze after it; 0 without one."""
        frames = [time for time in self.frames[index] if time <= end]
        return max([0] + [last - begin for first, last in zip(frames, frames[1:]) if last - first >= FREEZE and last > begin])


def wait_until(moment):
    time.sleep(max(0, moment - time.time()))


def playing(program, options, seed):
    """A link, the program, and one viewer at its other end."""
    stack = contextlib.ExitStack()
    link = stack.enter_context(Link(seed))
    server = stack.enter_context(Server(program, *options))
    viewer = stack.enter_context(Viewer(server, SERVER_ADDRESS, ("ip", "netns", "exec", VIEWER)))
    return stack, link, server, viewer


def frame_share(viewer, server, begin, end, index=0):
    """Share of the encoded frames of a time that a viewer has decoded."""
    return viewer.frame_rate(begin, end, index) / server.rates(begin, end)[0]


def loss(options):
    stack, link, server, viewer = playing(options.program, STREAM, options.seed)
    with stack:
        link.set(delay=0.025)
        viewer.join()
        # Past the keyframe of the start.
        time.sleep(2)
        keyframes = server.keyframes()
        begin = link.set(loss=0.02)
        wait_until(begin + options.seconds)
        additional = server.keyframes() - keyframes - options.seconds / KEYFRAME_INTERVAL
        end = link.set(loss=0.10)
        wait_until(end + 2)
        clean = link.set(loss=0)
        wait_until(clean + 3)
        viewer.look()
        last = clean + 2.9
        return {
            "seconds": options.seconds, "frameRate": viewer.frame_rate(begin, end),
            "frameShare": frame_share(viewer, server, begin, end), "freezes": viewer.grown("freezes", begin, end),
            "additionalKeyframes": additional, "retransmitted": viewer.grown("retransmitted", begin, end),
            "packetsLost": link.counts()["down"]["lost"],
            "burst": {"freezes": viewer.grown("freezes", end, last), "secondsToFrames": viewer.last_freeze_end(clean, last),
                      "frameShareAfter": frame_share(viewer, server, clean + 0.5, last)}}


def changes(options):
    stack, link, server, viewer = playing(options.program, STREAM, options.seed)
    with stack:
        link.set(delay=0.025)
        viewer.join()
        time.sleep(2)
        begin = link.set(reordering=0.05, duplication=0.05)
        wait_until(begin + 3)
        link.set(reordering=0, duplication=0)
        rebound = link.rebind()
        wait_until(rebound + 6)
        failed = link.set(outage=True)
        wait_until(failed + 5)
        back = link.set(outage=False)
        wait_until(back + 5)
        viewer.look()
        return {
            "reordered": {"frameShare": frame_share(viewer, server, begin, rebound),
                          "freezes": viewer.grown("freezes", begin, rebound)},
            "rebound": {"secondsToFrames": viewer.last_freeze_end(rebound, failed),
                        "frameShare": frame_share(viewer, server, failed - 2, failed)},
            "outage": {"secondsToFrames": viewer.first_frame(back + 0.05),
                       "frameShare": frame_share(viewer, server, back + 3, back + 5)},
            "sessions": len(server.viewers()), "connection": viewer.samples[0][-1]["connection"]}


def joins(options, delay=0.05, loss=0.05, pause=0):
    stack, link, _, viewer = playing(options.program, STREAM, options.seed)
    with stack:
        link.set(delay=delay, loss=loss)
        seconds = []
        for _ in range(options.seconds):
            seconds += viewer.join()
            viewer.leave()
            time.sleep(pause)
        seconds.sort()
        return {"median": seconds[len(seconds) // 2], "late": seconds[len(seconds) * 95 // 100], "seconds": seconds}


def near(options):
    # Keyframes for viewers have a budget, which others who come one by one use less of.
    return joins(options, delay=0, loss=0, pause=1.5)


def far(options):
    return joins(options, delay=0.1, loss=0)


def crowd(options):
    low = ["--rendition", "name=low,size=320x180,bitrate=200k"]
    stack, link, server, slow = playing(options.program, STREAM + low, options.seed)
    with stack, Viewer(server, "127.0.0.1", peers=9) as nine:
        nine.join()
        time.sleep(4)
        link.set(delay=0.025)
        joined = link.set(rate=500_000, queue=30_000, only="down")
        slow.join()
        while not any(viewer["rendition"] == "low" for viewer in server.viewers()) and time.time() < joined + 20:
            time.sleep(0.1)
        moved = time.time()
        wait_until(max(moved + 4, joined + options.seconds))
        end = time.time()
        nine.look()
        slow.look()

        def rate_shares(begin, end):
            encoded = server.rates(begin, end)[1]
            return [nine.bitrate(begin, end, index) / encoded for index in range(9)]

        return {
            "secondsToLow": moved - joined, "slowWidth": slow.samples[0][-1]["width"],
            "slowFreezes": slow.samples[0][-1]["freezes"], "slowFrameShare": frame_share(slow, server, end - 2, end),
            "frameShares": [frame_share(nine, server, joined, end, index) for index in range(9)],
            "freezes": sum(nine.grown("freezes", joined, end, index) for index in range(9)),
            "lost": sum(nine.grown("lost", joined, end, index) for index in range(9)),
            "framesSkipped": sum(viewer["framesSkipped"] for viewer in server.viewers() if viewer["rendition"] != "low"),
            # Of the bitrate that they had before the slow one came.
            "rateShares": [after / before for before, after in
                           zip(rate_shares(joined - 3, joined), rate_shares(joined, end))]}


def steps(options):
    video = ["--source", "plasma", "--audio", "none", "--size", "640x360", "--fps", "30", "--bitrate", "4M"]
    stack, link, _, viewer = playing(options.program, video, options.seed)
    with stack:
        link.set(delay=0.025)
        begin = link.set(rate=4_000_000, queue=100_000, only="down")
        viewer.join()
        wait_until(begin + 10)
        fall = link.set(rate=800_000, only="down")
        wait_until(fall + options.seconds)
        delays = [(at - fall, delay) for at, delay in link.queue_delays()]
        rise = link.set(rate=4_000_000, only="down")
        regained = None
        while regained is None and time.time() < rise + 30:
            time.sleep(0.5)
            viewer.look()
            now = time.time()
            if now > rise + 2 and viewer.bitrate(now - 2, now) >= 3_200_000:
                regained = now - rise
        return {
            "used": viewer.bitrate(fall - 4, fall) / 4e6, "maximumQueue": max([0] + [delay for at, delay in delays if at >= 0]),
            "queue": max([0] + [delay for at, delay in delays if at > 3]),
            "usedAfterFall": viewer.bitrate(fall + 5, rise) / 0.8e6, "secondsToRate": regained,
            "freezes": viewer.grown("freezes", fall + 3, rise)}


STREAM = ["--source", "plasma", "--audio", "tone", "--size", "640x360", "--fps", "30"]
SCENARIOS = {"loss": (loss, 15), "changes": (changes, 0), "joins": (joins, 6), "far": (far, 8), "near": (near, 20),
             "crowd": (crowd, 8), "steps": (steps, 15)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    enter_own_network()
    run, seconds = SCENARIOS[options.scenario]
    options.seconds = options.seconds or seconds
    print(json.dumps(run(options)))


if __name__ == "__main__":
    main()
