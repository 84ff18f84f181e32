#!/usr/bin/env python3
"""Opens the page that sends a camera in a Chromium that does not know the certificate, reads the warning, goes on as a person does, sends,
and prints as JSON what it showed.

usage: publish_warned.py URL --until FILE      URL with the token in its fragment, such as https://127.0.0.1:8443/live/publish#TOKEN

It publishes until the file exists, then stops.
"""
import argparse
import json
import os
import time

from browser import FACTOR, open_browser

# Typed anywhere on Chromium's warning, it goes on as its link does.
BYPASS = "thisisunsafe"
IS_PAGE = "return document.getElementById('start') !== null"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--until", required=True)
    options = parser.parse_args()
    with open_browser("chromium", webrtc=True, camera=True, warns=True) as browser:
        browser.set_screen(390, 844, phone=True)
        browser.go(options.url)
        seen = {"warning": browser.run("return document.body.innerText"), "isPage": browser.run(IS_PAGE)}
        for character in BYPASS:
            for kind in ("keyDown", "keyUp"):
                browser.devtools("Input.dispatchKeyEvent", type=kind, key=character, **({"text": character} if kind == "keyDown" else {}))
        browser.until("return typeof document.getElementById('start')?.onclick === 'function'")
        seen["isSecure"] = browser.run("return isSecureContext")
        browser.press("#start")
        browser.until("return document.getElementById('state').dataset.state === 'live'")
        deadline = time.monotonic() + 120 * FACTOR
        while not os.path.exists(options.until) and time.monotonic() < deadline:
            time.sleep(0.1)
        seen["width"] = browser.run("return document.getElementById('preview').videoWidth")
        seen["problem"] = browser.run("return document.getElementById('problem').textContent")
        browser.press("#stop")
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
