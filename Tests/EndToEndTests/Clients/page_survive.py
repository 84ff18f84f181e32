#!/usr/bin/env python3
"""Does to a stream's page in Chromium what happens to pages, and prints as JSON how it came through.

usage: page_survive.py URL
"""
import json
import sys
import time

from browser import open_browser

PLAYS = """
const v = document.querySelector("video"), said = (id) => document.getElementById(id).textContent;
return !v.paused && v.readyState >= 3 && said("live") === "Live" && parseFloat(said("latency")) < 2;
"""
# One part of media comes damaged.
DAMAGE = """
const real = window.fetch;
let isDone = false;
window.fetch = async (url, options) => {
  const response = await real(url, options);
  if (isDone || !/\\.m4s/.test(url)) return response;
  isDone = true;
  const bytes = new Uint8Array(await response.arrayBuffer());
  for (let index = 8; index < bytes.length; index += 1) bytes[index] = 255 - bytes[index];
  return new Response(bytes, { status: 200 });
};
return true;
"""
# One part of media is not there any more.
MISSING = """
const real = window.fetch;
let isDone = false;
window.fetch = (url, options) => {
  if (isDone || !/\\.m4s/.test(url)) return real(url, options);
  isDone = true;
  return Promise.resolve(new Response("", { status: 404 }));
};
return true;
"""
POSITION = "return document.querySelector('video').currentTime;"
KEY = """
document.body.dispatchEvent(new KeyboardEvent("keydown", { key: arguments[0], bubbles: true, cancelable: true }));
return true;
"""


def recovers(browser, seconds=20):
    """how many seconds it takes until it plays, live, and goes on to"""
    begin = time.monotonic()
    browser.until(PLAYS, seconds=seconds)
    took = time.monotonic() - begin
    before = browser.run(POSITION)
    time.sleep(1)
    after = browser.run(POSITION)
    if after - before < 0.5:
        raise SystemExit(f"it says that it plays, but stands at {after}")
    return round(took, 2)


def network(browser, offline):
    browser.devtools("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)


def main():
    url = sys.argv[1]
    took = {}
    with open_browser("chromium") as browser:
        browser.devtools("Network.enable")
        browser.go(url)
        took["start"] = recovers(browser)

        browser.run("document.body.focus(); return true;")
        browser.run(KEY, " ")
        browser.until("return document.querySelector('video').paused && document.getElementById('live').textContent === 'Paused';")
        time.sleep(2)
        browser.run(KEY, " ")
        took["pause"] = recovers(browser)

        browser.run(KEY, "m")
        browser.until("return document.querySelector('video').muted && document.getElementById('mute').ariaLabel === 'Turn sound on';")
        browser.run(KEY, "m")
        browser.until("return !document.querySelector('video').muted;")

        network(browser, True)
        browser.until("return document.getElementById('message').textContent !== '';", seconds=30)
        took["message"] = browser.run("return document.getElementById('message').textContent;")
        network(browser, False)
        took["network"] = recovers(browser)

        browser.run(DAMAGE)
        time.sleep(1)
        took["damage"] = recovers(browser)

        browser.run(MISSING)
        time.sleep(1)
        took["missing"] = recovers(browser)

        browser.run("document.querySelector('video').currentTime -= 30; return true;")
        took["seek"] = recovers(browser)

        # Another tab comes to the front, for longer than a page without sound goes on.
        browser.run(KEY, "m")
        here = browser.call("GET", browser.session + "/window")
        other = browser.call("POST", browser.session + "/window/new", {"type": "tab"})["handle"]
        browser.call("POST", browser.session + "/window", {"handle": other})
        time.sleep(11)
        browser.call("DELETE", browser.session + "/window")
        browser.call("POST", browser.session + "/window", {"handle": here})
        took["hidden"] = recovers(browser)

        took["buffered"] = browser.run("const b = document.querySelector('video').buffered; return b.end(b.length - 1) - b.start(0);")
        print(json.dumps(took))


main()
