#!/usr/bin/env python3
"""Opens the page that sends a camera in Chromium as on a phone, taps its buttons, and prints as JSON what it showed.

usage: publish_page.py URL --until FILE [--deny] [--dark] [--screenshot FILE]

It publishes until the file exists, then stops. With --deny, the browser does not permit the camera.
"""
import argparse
import json
import os
import time

from browser import open_browser

STATE = "return document.getElementById('state').dataset.state"
SEES = """
const text = (id) => document.getElementById(id).textContent, video = document.getElementById("preview");
const shown = (id) => document.getElementById(id).checkVisibility();
return {
  address: location.href, state: text("state"), problem: text("problem"), facts: text("facts"), network: text("network"),
  isPublishing: "publishing" in document.body.dataset, previewWidth: video.videoWidth, isMuted: video.muted,
  buttons: [...document.querySelectorAll("button")].filter(({ id }) => shown(id)).map(({ id }) => id),
  overflow: document.documentElement.scrollWidth - innerWidth };
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--until", required=True)
    parser.add_argument("--deny", action="store_true")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--screenshot")
    options = parser.parse_args()
    with open_browser("chromium", webrtc=True, dark=options.dark, camera="denied" if options.deny else True,
                      names=["localhost"]) as browser:
        browser.set_screen(390, 844, phone=True)
        browser.go(options.url)
        browser.until("return document.getElementById('start').onclick !== null")
        seen = {"before": browser.run(SEES)}
        browser.press("#start")
        if options.deny:
            browser.until("return document.getElementById('problem').textContent")
            seen["after"] = browser.run(SEES)
        else:
            browser.until(STATE + " === 'live'")
            browser.until("return document.getElementById('facts').textContent && document.getElementById('network').textContent")
            browser.press("#mute")
            seen["isMuted"] = browser.run("return document.getElementById('mute').getAttribute('aria-pressed')")
            browser.press("#mute")
            while not os.path.exists(options.until):
                time.sleep(0.1)
            seen["live"] = browser.run(SEES)
        if options.screenshot:
            browser.screenshot(options.screenshot)
        if not options.deny:
            browser.press("#stop")
            seen["after"] = browser.run(SEES)
        seen["complaints"] = browser.complaints()
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
