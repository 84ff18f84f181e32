#!/usr/bin/env python3
"""Changes the pushes of a stream, and prints what its page shows of them as JSON.

usage: page_pushes.py URL PUSH CLOSED KEY --browser chromium|firefox

URL is such as http://127.0.0.1:8080/live; PUSH and CLOSED are URLs of servers that have KEY in their stream keys: one that takes
the stream, and one that does not answer.
"""
import argparse
import json
import urllib.request

from browser import open_browser

parser = argparse.ArgumentParser()
for name in ("url", "push", "closed", "key"):
    parser.add_argument(name)
parser.add_argument("--browser", required=True)
options = parser.parse_args()
base, stream = options.url.rsplit("/", 1)


def replace(pushes):
    request = urllib.request.Request(f"{base}/api/streams/{stream}/pushes", json.dumps({"pushes": pushes}).encode(),
                                     {"Content-Type": "application/json"}, method="PUT")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
        return json.load(answer)


# Each push as the texts of its parts.
SHOWN = "return [...document.querySelectorAll('#push-list li')].map((item) => [...item.children].map((part) => part.textContent));"
HIDDEN = "return document.getElementById('pushes').hidden;"
STATES = ("const states = [...document.querySelectorAll('#push-list li strong')].map((state) => state.textContent);"
          "return states.length === arguments[0].length && states.every((state, index) => state.startsWith(arguments[0][index]));")
# The document, what it keeps, and what its scripts can read of the pushes.
READABLE = """
const done = arguments[arguments.length - 1];
const texts = [document.documentElement.outerHTML, location.href, JSON.stringify(localStorage), JSON.stringify(sessionStorage),
  JSON.stringify(performance.getEntriesByType("resource"))];
Promise.all(["/pushes", ""].map((path) => fetch(`/api/streams/${arguments[0]}${path}`).then((answer) => answer.text())))
  .then((answers) => done(texts.concat(answers)));
"""
seen, readable = {}, []
with open_browser(options.browser) as browser:
    def note(name):
        seen[name] = browser.run(SHOWN)
        readable.extend(browser.run_async(READABLE, stream))

    browser.go(options.url)
    browser.until("return document.querySelectorAll('#source-video option').length > 2;")
    seen["hiddenAtFirst"] = browser.run(HIDDEN)
    first = replace([{"url": options.push}])["pushes"][0]["id"]
    browser.until(STATES, ["Sending"])
    browser.until("return /\\d [kM]b\\/s/.test(document.getElementById('push-list').textContent);")
    note("added")
    replace([{"id": first}, {"url": options.closed}])
    browser.until(STATES, ["Sending", "Again in"])
    note("both")
    replace([{"id": first}])
    browser.until(STATES, ["Sending"])
    note("one")
    seen["hiddenWhileSending"] = browser.run(HIDDEN)
    replace([])
    browser.until(HIDDEN)
    note("none")
    seen["texts"] = len(readable)
    seen["keyIsReadable"] = any(options.key in text for text in readable)
    seen["complaints"] = browser.complaints()
print(json.dumps(seen, ensure_ascii=False))
