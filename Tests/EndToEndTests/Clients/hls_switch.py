#!/usr/bin/env python3
"""Plays an HLS URL with hls.js in Chromium, whose network is limited for a while, and reports what is played.

usage: hls_switch.py URL --library FILE --limit BITS_PER_SECOND [--buffer SECONDS] [--seconds 12]

Prints as JSON, for the time before the limit, with it and after it: the heights that were played, in order, how long the video
stood still, and how long it played.
"""
import argparse
import json
import time
from urllib.parse import urlencode

from browser import open_browser
from hls_play import serve

# A frame that is shown for more than a quarter of a second is a stall.
WATCH = """
const video = document.querySelector("video");
window.shown = { last: performance.now(), still: 0, heights: [], gaps: [] };
const look = (now, frame) => {
  const gap = performance.now() - window.shown.last;
  if (gap > 250) { window.shown.still += gap; window.shown.gaps.push(Math.round(gap)); }
  window.shown.last = performance.now();
  if (window.shown.heights.at(-1) !== frame.height) window.shown.heights.push(frame.height);
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
"""

TAKE = """
const shown = window.shown, video = document.querySelector("video");
const result = { heights: shown.heights, still: shown.still / 1000, gaps: shown.gaps, position: video.currentTime,
  buffered: video.buffered.length ? video.buffered.end(video.buffered.length - 1) - video.currentTime : 0,
  estimate: Math.round(window.player.bandwidthEstimate), errors: window.errors };
window.shown.heights = shown.heights.slice(-1); window.shown.still = 0; window.shown.gaps = []; window.errors = [];
return result;
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--library", required=True)
    parser.add_argument("--limit", type=int, required=True)
    parser.add_argument("--buffer", type=float, help="distance from the live edge; with low latency, as hls.js has by default, without it")
    parser.add_argument("--seconds", type=float, default=12)
    options = parser.parse_args()
    port = serve(open(options.library, "rb").read())
    with open_browser("chromium") as browser:
        buffer = {} if options.buffer is None else {"buffer": options.buffer}
        query = urlencode({"with": "hlsjs", "url": options.url} | buffer)
        browser.go(f"http://127.0.0.1:{port}/?{query}")
        browser.until("const v = document.querySelector('video'); return v.readyState >= 3 && v.currentTime > 0;", seconds=25)
        time.sleep(4)
        browser.run(WATCH)
        browser.devtools("Network.enable")
        results = {}
        for name, limit in [("before", None), ("limited", options.limit), ("after", None)]:
            if name != "before":
                browser.devtools("Network.emulateNetworkConditions", offline=False, latency=0, uploadThroughput=-1,
                                 downloadThroughput=-1 if limit is None else limit / 8)
            begin, start = time.monotonic(), browser.run(TAKE)["position"]
            time.sleep(options.seconds)
            if name == "after":
                # Each segment weighs 50 ms in hls.js's average of seconds.
                height = results["before"]["heights"][-1]
                browser.until(f"return window.shown.heights.at(-1) === {height}", seconds=60)
            results[name] = browser.run(TAKE)
            results[name].update(playedSeconds=results[name].pop("position") - start, elapsedSeconds=time.monotonic() - begin)
        print(json.dumps(results))


if __name__ == "__main__":
    main()
