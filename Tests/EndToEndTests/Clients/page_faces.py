#!/usr/bin/env python3
"""Selects face detection and masks on a stream's page, and prints the results as JSON.

usage: page_faces.py URL FOLDER --browser chromium|firefox     URL is such as http://127.0.0.1:8080/live; screenshots are stored in FOLDER

The mask is an image of one color, uploaded from the page.
"""
import argparse
import json
import pathlib

from browser import open_browser

parser = argparse.ArgumentParser()
parser.add_argument("url")
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--browser", required=True)
options = parser.parse_args()

CHOOSE = """
const select = document.getElementById(arguments[0]);
select.value = arguments[1];
select.dispatchEvent(new Event("change"));
"""
# Bounding box of the face boxes drawn over the player, relative to the canvas; null without any.
FRAME = """
const frames = document.getElementById("frames");
if (frames.hidden || !frames.width) return null;
const canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [frames.width, frames.height];
const context = canvas.getContext("2d");
context.drawImage(frames, 0, 0);
const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
let [left, top, right, bottom] = [Infinity, Infinity, -1, -1];
for (let index = 0; index < data.length; index += 4) {
  // #ffd60a, opaque.
  if (data[index] < 250 || Math.abs(data[index + 1] - 214) > 5 || data[index + 2] > 20 || data[index + 3] < 250) continue;
  const x = index / 4 % canvas.width, y = Math.floor(index / 4 / canvas.width);
  [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
}
if (right < 0) return null;
return { x: left / canvas.width, y: top / canvas.height, width: (right - left) / canvas.width, height: (bottom - top) / canvas.height };
"""
# Selects a green image in the file chooser.
SEND = """
const done = arguments[arguments.length - 1], canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [64, 64];
const context = canvas.getContext("2d");
context.fillStyle = "rgb(0 200 0)";
context.fillRect(0, 0, 64, 64);
canvas.toBlob((blob) => {
  const files = new DataTransfer(), chooser = document.getElementById("effects-file");
  files.items.add(new File([blob], "mask.png", { type: "image/png" }));
  chooser.files = files.files;
  chooser.dispatchEvent(new Event("change"));
  done(true);
}, "image/png");
"""
# Fraction of the frame with the color of the mask.
GREEN = """
const video = document.querySelector("video"), canvas = document.createElement("canvas");
[canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
const context = canvas.getContext("2d");
context.drawImage(video, 0, 0);
const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
let count = 0;
for (let index = 0; index < data.length; index += 4) {
  if (data[index] < 60 && data[index + 1] > 150 && data[index + 2] < 60) count += 1;
}
return count / (canvas.width * canvas.height);
"""
seen = {}
with open_browser(options.browser) as browser:
    browser.go(options.url)
    browser.until("const v = document.querySelector('video'); return v.readyState >= 3 && v.currentTime > 0;")
    seen["before"] = browser.run(FRAME)
    browser.run(CHOOSE, "effects-faces", "track")
    seen["frame"] = browser.until(FRAME)
    browser.screenshot(options.folder / f"frames-{options.browser}.png")
    seen["label"] = browser.run("return document.getElementById('effects-frames').getAttribute('aria-pressed');")
    browser.run_async(SEND)
    seen["green"] = browser.until(f"const part = (() => {{ {GREEN} }})(); return part > 0.02 && part;")
    seen["mask"] = browser.run("return document.getElementById('effects-mask').value;")
    browser.screenshot(options.folder / f"mask-{options.browser}.png")
    browser.run(CHOOSE, "effects-mask", "")
    browser.run(CHOOSE, "effects-faces", "off")
    browser.until("return document.getElementById('frames').hidden && document.getElementById('effects').getAttribute('aria-busy') === 'false';")
    seen["problem"] = browser.run("return document.getElementById('effects-problem').textContent;")
    seen["complaints"] = browser.complaints()
print(json.dumps(seen, ensure_ascii=False))
