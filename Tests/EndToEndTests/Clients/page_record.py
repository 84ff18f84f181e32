#!/usr/bin/env python3
"""Records with the buttons of a stream's page, clicked with the mouse, and plays the recording on the page of recordings.

usage: page_record.py URL     URL is such as http://127.0.0.1:8080/live; prints JSON
"""
import argparse
import json
from urllib.parse import urljoin

from browser import open_browser

parser = argparse.ArgumentParser()
parser.add_argument("url")
options = parser.parse_args()

STATE = "return document.getElementById('record').dataset.state === arguments[0];"
TIME = "return document.getElementById('record-time').textContent;"
READY = "return document.getElementById(arguments[0]).getAttribute('aria-disabled') !== 'true';"

with open_browser("chromium") as browser:
    browser.go(options.url)
    browser.until(STATE, "idle")
    states, labels = [], []

    def press(button, state):
        browser.until(READY, button)
        labels.append(browser.run("return document.getElementById(arguments[0]).textContent.trim();", button))
        browser.press(f"#{button}")
        browser.until(STATE, state)
        states.append(state)

    press("record-main", "recording")
    browser.until("return !['0:00', '0:01'].includes(document.getElementById('record-time').textContent);")
    press("record-main", "paused")
    paused = browser.run(TIME)
    browser.run_async("setTimeout(arguments[0], 1500);")
    still = browser.run(TIME)
    press("record-main", "recording")
    browser.until("return document.getElementById('record-time').textContent > arguments[0];", paused)
    press("record-stop", "idle")
    browser.go(urljoin(options.url, "/recordings/"))
    browser.until("return document.querySelectorAll('.rows .play').length === 1;")
    browser.press(".rows .play")
    browser.until("const film = document.getElementById('film'); return film.readyState >= 3 && film.currentTime > 0.3;")
    film = browser.run("const film = document.getElementById('film'); return { duration: film.duration, width: film.videoWidth };")
    print(json.dumps({
        "states": states, "labels": labels, "isPausedStill": paused == still, "duration": film["duration"],
        "width": film["width"], "complaints": browser.complaints(),
    }))
