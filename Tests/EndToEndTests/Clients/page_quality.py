#!/usr/bin/env python3
"""Plays a stream on its page in Chromium, limits the network for a while, and uses the menu of renditions.

usage: page_quality.py URL FOLDER --limit BITS_PER_SECOND

Prints as JSON the seconds until each change of the rendition, the maximum time that the video stood still at the change down
and after it, the entries of the menu, and which renditions were encoded; a screenshot is stored in FOLDER.
"""
import argparse
import json
import pathlib
import time
import urllib.request

from browser import open_browser

WATCH = """
const video = document.querySelector("video");
window.shown = { last: performance.now(), maximum: 0, height: 0 };
const look = (now, frame) => {
  window.shown.maximum = Math.max(window.shown.maximum, performance.now() - window.shown.last);
  window.shown.last = performance.now();
  window.shown.height = frame.height;
  video.requestVideoFrameCallback(look);
};
video.requestVideoFrameCallback(look);
"""
MENU = "return [...document.getElementById('quality').options].map(({ textContent }) => textContent);"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--limit", type=int, required=True)
    options = parser.parse_args()
    base, name = options.url.rsplit("/", 1)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_encoding():
        with opener.open(f"{base}/api/streams/{name}", timeout=10) as response:
            return json.load(response)["renditions"][0]["encoding"]

    with open_browser("chromium") as browser:
        def limit(bits):
            browser.devtools("Network.emulateNetworkConditions", offline=False, latency=0, uploadThroughput=-1,
                             downloadThroughput=-1 if bits is None else bits / 8)

        def until(height, seconds):
            start = time.monotonic()
            browser.until(f"return window.shown.height === {height};", seconds=seconds)
            return time.monotonic() - start

        def choose(value):
            browser.run("const menu = document.getElementById('quality'); menu.value = arguments[0]; menu.dispatchEvent(new Event('change'));", value)

        browser.go(options.url)
        browser.until("const v = document.querySelector('video'); return v && v.readyState >= 3 && !v.paused && v.currentTime > 0;")
        browser.run(WATCH)
        time.sleep(5)
        seen = {"menu": browser.run(MENU), "encodedWhileFast": is_encoding()}
        browser.devtools("Network.enable")
        browser.run("window.shown.maximum = 0;")
        limit(options.limit)
        seen["down"] = until(360, 40)
        time.sleep(5)
        # The change itself: from the limit on, until five seconds after the smaller rendition was first shown.
        seen["stillAtChange"] = browser.run("return Math.max(window.shown.maximum, performance.now() - window.shown.last) / 1000;")
        seen["menuWhileSlow"] = browser.run(MENU)
        seen["encodedWhileSlow"] = is_encoding()
        # The playback after the change is smooth.
        browser.run("window.shown.maximum = 0;")
        time.sleep(5)
        limit(None)
        seen["up"] = until(720, 40)
        choose("low")
        seen["chosen"] = until(360, 10)
        time.sleep(2)
        browser.run("document.getElementById('stage').dispatchEvent(new Event('pointermove'));")
        time.sleep(0.5)
        browser.screenshot(str(options.folder / "page-quality.png"))
        seen["menuWhileChosen"] = browser.run("return document.getElementById('quality').selectedOptions[0].textContent;")
        choose("main")
        seen["back"] = until(720, 10)
        seen["maximumStill"] = browser.run("return window.shown.maximum / 1000;")
        seen["state"] = browser.run("return document.getElementById('live').textContent;")
        seen["complaints"] = browser.complaints()
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
