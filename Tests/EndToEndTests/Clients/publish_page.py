#!/usr/bin/env python3
"""Opens the page that sends a camera in Chromium as on a phone, taps its buttons, and prints as JSON what it showed.

usage: publish_page.py URL --until FILE [--deny] [--flip] [--dark] [--screenshot FILE]

It publishes until the file exists, then stops. With --deny, the browser does not permit the camera. With --flip, it has several cameras: the
page takes the last one, changes to the first one, then finds the next one in use; and it goes on without microphone, and with another one.
"""
import argparse
import json
import os
import time

from browser import open_browser

# Chromium's second generated camera has 16 bits of gray, which it does not encode.
CAMERAS = 3
STATE = "return document.getElementById('state').dataset.state"
SEES = """
const text = (id) => document.getElementById(id).textContent, video = document.getElementById("preview");
const shown = (id) => document.getElementById(id).checkVisibility();
const menu = (id) => shown(id) ? [...document.getElementById(id).options].map(({ label }) => label) : [];
return {
  cameras: menu("camera"), microphones: menu("microphone"), camera: document.getElementById("camera").selectedIndex,
  address: location.href, state: text("state"), problem: text("problem"), facts: text("facts"), network: text("network"),
  isPublishing: "publishing" in document.body.dataset, previewWidth: video.videoWidth, isMuted: video.muted,
  buttons: [...document.querySelectorAll("button")].filter(({ id }) => shown(id)).map(({ id }) => id),
  overflow: document.documentElement.scrollWidth - innerWidth };
"""

# Lets the next request for a camera fail, as where another program has opened it.
IN_USE = """
const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = () => {
  navigator.mediaDevices.getUserMedia = real;
  return Promise.reject(new DOMException("Could not start video source", "NotReadableError"));
};
"""
CHOOSE = """
const menu = document.getElementById(arguments[0]);
menu.selectedIndex = (arguments[1] + menu.options.length) % menu.options.length;
menu.dispatchEvent(new Event("change"));
"""


def flip(browser):
    """The state of the page with another camera, after a flip, a flip that fails, without microphone, and with another one."""
    plays = "return document.getElementById('preview').videoWidth > 0 && document.getElementById('camera').selectedIndex === arguments[0]"
    browser.run(CHOOSE, "camera", -1)
    browser.until(plays, CAMERAS - 1)
    seen = {"chosen": browser.run(SEES)}
    browser.press("#flip")
    browser.until(plays, 0)
    seen["flipped"] = browser.run(SEES)
    browser.run(IN_USE)
    browser.press("#flip")
    browser.until("return document.getElementById('problem').textContent")
    browser.until(plays, 0)
    seen["failed"] = browser.run(SEES)
    browser.run(CHOOSE, "microphone", -1)
    browser.until("return !document.getElementById('mute').checkVisibility()")
    seen["silent"] = browser.run(SEES)
    browser.run(CHOOSE, "microphone", 1)
    browser.until("return document.getElementById('mute').checkVisibility()")
    seen["heard"] = browser.run(SEES)
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--until", required=True)
    parser.add_argument("--deny", action="store_true")
    parser.add_argument("--flip", action="store_true")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--screenshot")
    options = parser.parse_args()
    with open_browser("chromium", webrtc=True, dark=options.dark, names=["localhost"],
                      camera="denied" if options.deny else CAMERAS if options.flip else True) as browser:
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
            if options.flip:
                seen |= flip(browser)
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
