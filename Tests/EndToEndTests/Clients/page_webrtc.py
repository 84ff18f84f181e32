#!/usr/bin/env python3
"""Opens a stream's page in a browser, and prints as JSON how it plays: by WebRTC, or by what is left without it.

usage: page_webrtc.py URL [--without] [--browser firefox] [--tones] [--own-addresses] [--screenshot FILE]

With --tones, it also prints the loudest frequency of each of two channels, in Hz, 0 for silence. With --without, the browser has no RTCPeerConnection, as where it is switched off. Firefox has no H.264 for it as packaged.
"""
import argparse
import json
import os
import time

from browser import open_browser
from strip import STRIP

PLAYS = """
const video = document.querySelector("video");
return video && video.readyState >= 2 && !video.paused && video.currentTime > 0 && document.getElementById("way").textContent.length > 1
  && /[0-9]/.test(document.getElementById("latency").textContent);
"""

# Measures what is audible in the stream of the video element, and the latency of the shown frame.
LISTEN = STRIP + """
const video = document.querySelector("video");
window.ages = [];
const look = () => {
  const captured = window.strip(video, video.videoWidth, video.videoHeight);
  if (captured !== null) window.ages.push(Date.now() / 1000 - captured / 1e6);
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
window.loudest = 0;
if (video.srcObject instanceof MediaStream && video.srcObject.getAudioTracks().length) {
  const context = new AudioContext(), analyser = context.createAnalyser(), samples = new Float32Array(analyser.fftSize);
  context.createMediaStreamSource(video.srcObject).connect(analyser);
  setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    window.loudest = Math.max(window.loudest, ...samples.map(Math.abs));
  }, 50);
  context.resume();
}
"""

# The loudest frequency of each channel of the stream of the video element. `window.tones()`
TONES = """
const context = new AudioContext(), splitter = context.createChannelSplitter(2);
context.createMediaStreamSource(document.querySelector("video").srcObject).connect(splitter);
const channels = [0, 1].map((channel) => {
  const analyser = new AnalyserNode(context, { fftSize: 8192 });
  splitter.connect(analyser, channel);
  return analyser;
});
context.resume();
window.tones = () => channels.map((analyser) => {
  const levels = new Float32Array(analyser.frequencyBinCount);
  analyser.getFloatFrequencyData(levels);
  const loudest = levels.indexOf(Math.max(...levels));
  return levels[loudest] > -60 ? loudest * context.sampleRate / analyser.fftSize : 0;
});
"""


def tones(browser):
    """the frequencies of both channels, a second after both have one"""
    browser.run(TONES)
    browser.until("return window.tones().every(Boolean)")
    time.sleep(1)
    return browser.run("return window.tones()")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--own-addresses", action="store_true")
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--tones", action="store_true")
    parser.add_argument("--screenshot")
    options = parser.parse_args()
    with open_browser(options.browser, names=("::1", "fd00:5::9"), webrtc=True, own_addresses=options.own_addresses) as browser:
        if options.without:
            browser.devtools("Page.addScriptToEvaluateOnNewDocument", source="delete globalThis.RTCPeerConnection")
        if options.screenshot:
            browser.set_screen(860, 760)
        browser.go(options.url)
        browser.until(PLAYS)
        # The page gives up WebRTC that does not connect within some seconds, as on a machine that does other work: it is opened
        # again then, but in the long suite, which has a machine for itself.
        is_quiet = os.environ.get("VIDICON_TEST_TIMING") == "1"
        for _ in range(0 if is_quiet or options.without or options.browser != "chromium" else 3):
            if browser.run("return document.getElementById('way').textContent").startswith("WebRTC"):
                break
            browser.complaints()
            browser.go(options.url)
            browser.until(PLAYS)
        browser.run(LISTEN)
        browser.until("return window.ages.length >= 60")
        if not options.without and options.browser == "chromium":
            browser.until("return window.loudest > 0.01", seconds=20)
        ages = sorted(browser.run("return window.ages"))
        if options.screenshot:
            browser.screenshot(options.screenshot)
        print(json.dumps({
            "tones": tones(browser) if options.tones else None,
            "way": browser.run("return document.getElementById('way').textContent"),
            "shownLatency": float(browser.run("return parseFloat(document.getElementById('latency').textContent)")),
            "medianLatency": ages[len(ages) // 2], "loudest": browser.run("return window.loudest"),
            "complaints": browser.complaints()}))


if __name__ == "__main__":
    main()
