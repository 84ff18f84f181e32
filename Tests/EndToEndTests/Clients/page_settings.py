#!/usr/bin/env python3
"""Changes a stream through its page's controls, and prints the resulting states as JSON.

usage: page_settings.py URL FOLDER --browser chromium|firefox     URL is such as http://127.0.0.1:8080/live; a screenshot is left
"""
import argparse
import json
import pathlib
import urllib.request

from browser import open_browser, timeout, wait_for_segments

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--browser", required=True)
options = parser.parse_args()
base, name = options.url.rsplit("/", 1)


def state():
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{base}/api/streams/{name}", timeout=timeout(10)) as answer:
        return json.load(answer)


CHOOSE = """
const select = document.getElementById(arguments[0]);
select.focus();
if (![...select.options].some((option) => option.value === arguments[1])) select.append(new Option(arguments[1], arguments[1]));
select.value = arguments[1];
select.dispatchEvent(new Event("change"));
"""
PRESS = "document.getElementById(arguments[0]).focus(); document.activeElement.click(); return document.activeElement.id;"
TEXT = "return document.getElementById(arguments[0]).textContent;"
seen = {}
with open_browser(options.browser) as browser:
    wait_for_segments(options.url)
    browser.go(options.url)
    browser.until("return document.querySelectorAll('#source-video option').length > 2;")
    browser.until("const v = document.querySelector('video'); return v.readyState >= 3 && v.currentTime > 0;")
    seen["groups"] = browser.run("return [...document.querySelectorAll('#source-video optgroup')].map((group) => group.label);")
    browser.run(CHOOSE, "source-video", "plasma")
    browser.until("return document.getElementById('source').getAttribute('aria-busy') === 'false'"
                  " && document.getElementById('source-video').value === 'plasma';")
    seen["source"] = state()["source"]["video"]
    for button in ("mirror", "rotate", "mute", "pause"):
        browser.run(PRESS, f"source-{button}")
    browser.until("return ['mirror', 'mute', 'pause'].every((id) => document.getElementById(`source-${id}`).getAttribute('aria-pressed')"
                  " === 'true') && document.getElementById('source-turned').textContent === '90°';")
    seen["changed"] = {key: state()[key] for key in ("mirror", "rotation", "mute", "pause")}
    for button in ("mute", "pause"):
        browser.run(PRESS, f"source-{button}")
    browser.run(PRESS, "source-preview")
    seen["preview"] = browser.run("return getComputedStyle(document.querySelector('video')).transform;")
    seen["previewAsTold"] = state()["previewMirrored"]
    browser.until("return Number(document.getElementById('level').getAttribute('aria-valuenow')) > -60;")
    browser.run(CHOOSE, "source-video", "v4l2:/dev/video99")
    browser.until("return !document.getElementById('source-problem').hidden;")
    seen["problem"] = browser.run(TEXT, "source-problem")
    browser.until("return document.getElementById('source-video').value === 'plasma';")
    browser.screenshot(options.folder / f"settings-{options.browser}.png")
    seen["complaints"] = [line for line in browser.complaints() if "502" not in line and "400" not in line]
print(json.dumps(seen, ensure_ascii=False))
