#!/usr/bin/env python3
"""Opens the page of a stream that waits for a camera in Chromium, as a viewer and as an operator, and prints as JSON what it offers to
those who send.

usage: publish_share.py URL TOKEN_FILE IMAGE       IMAGE: where the screenshot with the QR code is stored
"""
import json
import pathlib
import sys

from browser import open_browser

ROWS = """
return document.getElementById("publish").checkVisibility()
  ? [...document.querySelectorAll("#publish-addresses li")].map((row) => row.querySelector("code").textContent) : [];
"""
TEXT = "return document.body.textContent + performance.getEntriesByType('resource').map(({ name }) => name).join()"


def main():
    url, file, image = sys.argv[1:4]
    token = pathlib.Path(file).read_text().strip()
    with open_browser("chromium", webrtc=True) as browser:
        browser.go(url)
        browser.until("return document.querySelectorAll('#addresses li').length")
        # Until the page has asked for the streams again.
        browser.until("return performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/streams')).length > 2")
        seen = {"viewer": browser.run(ROWS), "viewersText": browser.run(TEXT)}
        browser.go("about:blank")
        browser.go(f"{url}#control={token}")
        seen["operator"] = browser.until(f"const rows = (() => {{ {ROWS} }})(); return rows.length && rows;")
        browser.press("#publish-addresses .show")
        browser.until("return document.getElementById('code-image').naturalWidth > 0")
        browser.screenshot(image)
        seen["requested"] = browser.run("return performance.getEntriesByType('resource').map(({ name }) => name)")
        seen["complaints"] = browser.complaints()
        print(json.dumps(seen))


if __name__ == "__main__":
    main()
