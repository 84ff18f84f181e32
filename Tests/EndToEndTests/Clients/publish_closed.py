#!/usr/bin/env python3
"""Opens the page that sends a camera as one who cannot send, in Chromium as on a phone, and prints as JSON what it showed.

usage: publish_closed.py URL NAME      URL with the token in its fragment, such as http://127.0.0.1:8080/live/publish#TOKEN

At NAME, a name of this machine that is not of the loopback interface, it is a page without encryption, for which browsers have no
camera. At 127.0.0.1 it is opened without the token, and with a wrong one.
"""
import json
import sys
import urllib.parse

from browser import open_browser

SEES = """
const find = (id) => document.getElementById(id), shown = (id) => find(id).checkVisibility();
return {
  isSecure: isSecureContext, problem: find("problem").textContent, isExplained: shown("insecure"),
  secure: shown("secure") ? find("secure").href : "", isTrustOffered: shown("trust"),
  buttons: [...document.querySelectorAll("button, select")].filter(({ id }) => shown(id)).map(({ id }) => id),
  overflow: document.documentElement.scrollWidth - innerWidth };
"""


def main():
    url, name = sys.argv[1:3]
    bare = url.partition("#")[0]
    port = urllib.parse.urlsplit(url).port
    with open_browser("chromium", webrtc=True, camera=True, local_names=[name]) as browser:
        browser.set_screen(390, 844, phone=True)
        browser.go(url.replace(f"127.0.0.1:{port}", f"{name}:{port}"))
        browser.until("return document.getElementById('trust').checkVisibility()")
        seen = {"insecure": browser.run(SEES)}
        browser.go(bare)
        browser.until("return document.getElementById('problem').textContent")
        seen["stranger"] = browser.run(SEES)
        browser.go("about:blank")
        browser.go(bare + "#wrong-0123456789abcdef")
        browser.until("return document.getElementById('start').onclick !== null")
        browser.press("#start")
        browser.until("return document.getElementById('problem').textContent")
        seen["guess"] = browser.run(SEES)
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
