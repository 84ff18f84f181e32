#!/usr/bin/env python3
"""Uses the pages of a server below a path as a person does, and prints as JSON what they show and request.

usage: page_below.py ROOT TOKEN [--browser chromium|firefox]     ROOT is such as http://127.0.0.1:8088/cam/

From the list of streams it follows the link to the stream, plays it by each way, controls it with the operator's TOKEN, and opens
the pages of recordings and of publishers.
"""
import argparse
import json

from browser import open_browser

PLAYS = """
const video = document.querySelector("video"), way = document.getElementById("way");
return video && video.readyState >= 2 && !video.paused && video.currentTime > 0 && way.textContent.length > 1 && way.textContent;
"""
ADDRESSES = """
const rows = [...document.querySelectorAll("#addresses li")];
return rows.length > 5 && Object.fromEntries(rows.map((row) =>
  [row.querySelector("strong").textContent, row.querySelector("code").textContent]));
"""
REQUESTED = "return performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.startsWith('http'));"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("token")
    parser.add_argument("--browser", default="chromium")
    options = parser.parse_args()
    requested, ways = set(), []
    with open_browser(options.browser, webrtc=True) as browser:
        browser.go(options.root)
        browser.until("const image = document.querySelector('.card img'); return image && image.naturalWidth > 0;")
        card = browser.run("return document.querySelector('.card').href;")
        requested.update(browser.run(REQUESTED))
        # The operator's address of the terminal, below the path; with a slash at its end the stream's page is a redirection.
        browser.go(f"{card}/#control={options.token}")
        browser.until("return document.getElementById('source').hidden === false;")
        page = browser.run("return location.href;")
        name = browser.run("return document.getElementById('name').textContent;")
        ways.append(browser.until(PLAYS))
        addresses = browser.until(ADDRESSES)
        browser.run("document.getElementById('source-mirror').click();")
        browser.until("return document.getElementById('source-mirror').getAttribute('aria-pressed') === 'true';")
        browser.run("document.querySelector('#addresses .show').click();"
                    "document.getElementById('code-image').decode().then(() => { window.hasCode = true; });")
        browser.until("return window.hasCode === true;")
        requested.update(browser.run(REQUESTED))
        for way in ("stream", "images"):
            browser.go(f"{card}?way={way}")
            ways.append(browser.until(PLAYS) if way == "stream" else browser.until(
                "const image = document.getElementById('image'); return !image.hidden && image.naturalWidth > 0 && 'images';"))
            requested.update(browser.run(REQUESTED))
        links = [browser.run("return document.querySelector('.all').href;")]
        browser.go(options.root + "recordings/")
        browser.until("return !document.getElementById('empty').hidden || !document.getElementById('problem').hidden;")
        links.append(browser.run("return document.querySelector('.brand').href;"))
        requested.update(browser.run(REQUESTED))
        browser.go(f"{card}/publish")
        browser.until("return document.getElementById('problem').textContent;")
        publisher = browser.run("return document.getElementById('name').textContent;")
        requested.update(browser.run(REQUESTED))
        print(json.dumps({
            "card": card, "page": page, "name": name, "ways": ways, "addresses": addresses, "links": links,
            "publisher": publisher, "requested": len(requested),
            "outside": sorted(url for url in requested if not url.startswith(options.root)),
            "complaints": browser.complaints()}))


if __name__ == "__main__":
    main()
