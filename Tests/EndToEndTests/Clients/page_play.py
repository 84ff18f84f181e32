#!/usr/bin/env python3
"""Plays a stream's page in a real browser, and prints as JSON what was seen and heard.

usage: page_play.py URL FOLDER [--browser chromium|firefox] [--seconds 8 | --frames NUMBER] [--way stream|native|images]
       a screenshot is left in FOLDER

Each frame carries its time of capture as a strip of cells (see TimecodeStrip.swift), which is read back from what the
browser shows, at the moment that the page measures the latency: the two must agree.
Firefox, unlike Chromium, needs a sound card to let a page listen: without one the page only reports whether there is audio.
"""
import argparse
import json
import pathlib
import time
from urllib.parse import urlencode

from browser import open_browser, wait_for_segments
from strip import STRIP

# Measures the audio level, and reads the timecode strip of each frame.
WATCH = STRIP + """
const video = document.querySelector("video");
window.seen = { ages: [], unread: 0, loudest: 0, differences: [] };
const tiny = document.createElement("canvas");
tiny.width = 64;
tiny.height = 36;
const tinyContext = tiny.getContext("2d", { willReadFrequently: true });
let before = null, lastLook = 0;
const look = (now) => {
  if (now - lastLook >= 100) {
    lastLook = now;
    const captured = window.strip(video, video.videoWidth, video.videoHeight);
    const shown = parseFloat(document.getElementById("latency").textContent);
    if (captured === null) window.seen.unread += 1;
    else window.seen.ages.push({ age: Date.now() / 1000 - captured / 1e6, shown, at: now });
    tinyContext.drawImage(video, 0, 0, 64, 36);
    const frame = tinyContext.getImageData(0, 0, 64, 36).data;
    if (before) {
      let sum = 0;
      for (let index = 0; index < frame.length; index += 1) sum += Math.abs(frame[index] - before[index]);
      window.seen.differences.push(sum / frame.length);
    }
    before = frame;
  }
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
try {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  context.createMediaElementSource(video).connect(analyser).connect(context.destination);
  const samples = new Float32Array(analyser.fftSize);
  setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    window.seen.loudest = Math.max(window.seen.loudest, ...samples.map(Math.abs));
  }, 50);
  window.seen.audio = "heard";
  context.resume();
} catch (error) {
  window.seen.audio = String(error);
}
"""

STATE = """
const video = document.querySelector("video"), quality = video.getVideoPlaybackQuality();
const said = (id) => document.getElementById(id).textContent;
return { position: video.currentTime, muted: video.muted, decoded: quality.totalVideoFrames, dropped: quality.droppedVideoFrames,
  audioBytes: video.webkitAudioDecodedByteCount ?? null, hasAudio: video.mozHasAudio ?? video.webkitAudioDecodedByteCount > 0, width: video.videoWidth, height: video.videoHeight,
  badge: said("live"), latency: said("latency"), frameRate: said("fps"), size: said("size"), bitrate: said("bitrate"),
  viewers: said("viewers"), buffered: video.buffered.length ? video.buffered.end(video.buffered.length - 1) - video.buffered.start(0) : 0,
  ...window.seen };
"""


ENOUGH = """
const { ages, differences, loudest } = window.seen;
return document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames >= arguments[0]
  && ages.some(({ shown }) => Number.isFinite(shown)) && differences.length >= 10 && loudest > 0.01
  && document.getElementById("live").textContent === "Live";
"""


def median(values):
    return sorted(values)[len(values) // 2] if values else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--frames", type=int, help="end when as many have been decoded, and the page is live and was heard")
    parser.add_argument("--way")
    options = parser.parse_args()

    with open_browser(options.browser) as browser:
        if options.frames:
            wait_for_segments(options.url)
        start = time.monotonic()
        browser.go(options.url + ("?" + urlencode({"way": options.way}) if options.way else ""))
        browser.until("const v = document.querySelector('video'); return v && v.readyState >= 3 && !v.paused && v.currentTime > 0;")
        seen = {"firstFrameSeconds": time.monotonic() - start}
        if not options.frames:
            time.sleep(4)  # The distance to the live edge settles.
        browser.run(WATCH)
        before = browser.run(STATE)
        begin = time.monotonic()
        if options.frames:
            browser.until(ENOUGH, options.frames + before["decoded"])
        else:
            time.sleep(options.seconds)
        after = browser.run(STATE)
        elapsed = time.monotonic() - begin
        screenshot = str(options.folder / f"page-{options.browser}.png")
        browser.screenshot(screenshot)
        ages = after.pop("ages")
        seen.update(after)
        seen.update({
            "elapsedSeconds": elapsed, "playedSeconds": after["position"] - before["position"],
            "decoded": after["decoded"] - before["decoded"], "dropped": after["dropped"] - before["dropped"],
            "medianLatency": median([age["age"] for age in ages]), "latencies": len(ages),
            # The number on the page is up to half a second old: it is judged as a whole, not one by one.
            "shownMinusStrip": median([age["shown"] - age["age"] for age in ages if age["shown"] is not None]),
            "moving": median(after["differences"]), "screenshot": screenshot, "complaints": browser.complaints()})
        seen.pop("differences")
        print(json.dumps(seen))


main()
