#!/usr/bin/env python3
"""Plays an address in the Media Source of OBS Studio (made for 29, Debian 12's) on a virtual display, and prints as JSON
the frames that it displays.

usage: obs_play.py URL FOLDER [--seconds 4] [--options "rtsp_transport=tcp"]     stores two screenshots in FOLDER

OBS reports a Media Source as playing even when its URL is unreachable: only the screenshots show whether it plays.
"""
import argparse
import base64
import json
import pathlib
import time

from obs_studio import SCENE, SOURCE, running, until


def watch(remote, folder, seconds):
    def size():
        transform = (remote.ask("GetSceneItemTransform", sceneName=SCENE, sceneItemId=1) or {}).get("sceneItemTransform", {})
        return transform if transform.get("sourceWidth") else None

    transform = until(size, 30, "OBS showed no frame")
    seen = {"width": int(transform["sourceWidth"]), "height": int(transform["sourceHeight"]), "screenshots": []}
    for number in range(2):
        time.sleep(seconds / 2)
        shot = remote.ask("GetSourceScreenshot", sourceName=SOURCE, imageFormat="png", imageWidth=640)
        if not shot:
            raise SystemExit("OBS gave no screenshot")
        screenshot = folder / f"obs-{number}.png"
        screenshot.write_bytes(base64.b64decode(shot["imageData"].split(",", 1)[1]))
        seen["screenshots"].append(str(screenshot))
    seen["state"] = remote.ask("GetMediaInputStatus", inputName=SOURCE)["mediaState"]
    return seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--options", default="")
    options = parser.parse_args()

    media = {"is_local_file": False, "input": options.url, "input_format": "", "ffmpeg_options": options.options,
             "buffering_mb": 1, "reconnect_delay_sec": 2}
    with running(media) as remote:
        print(json.dumps(watch(remote, options.folder, options.seconds)))


main()
