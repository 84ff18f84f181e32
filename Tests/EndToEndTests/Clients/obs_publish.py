#!/usr/bin/env python3
"""Publishes a file, looped, from OBS Studio to an RTMP server, until its standard input ends; prints "publishing" when OBS sends.

usage: obs_publish.py [--own-encoder-settings] FILE SERVER KEY

--own-encoder-settings: those of OBS, with B-frames, instead of quicker ones without.
"""
import argparse
import sys

from obs_studio import running, until

# QUICK encodes quicker than OBS does by itself, and without B-frames.
PROFILE = """
[Output]
Mode=Simple
Reconnect=true
RetryDelay=1
[SimpleOutput]
VBitrate=800
ABitrate=64
StreamEncoder=x264
"""
QUICK = """Preset=ultrafast
UseAdvanced=true
x264Settings=keyint=60
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--own-encoder-settings", action="store_true")
    parser.add_argument("file")
    parser.add_argument("server")
    parser.add_argument("key")
    options = parser.parse_args()

    media = {"is_local_file": True, "local_file": options.file, "looping": True}
    service = {"server": options.server, "key": options.key, "use_auth": False}
    with running(media, PROFILE + ("" if options.own_encoder_settings else QUICK), service) as remote:
        if remote.ask("StartStream") is None:
            raise SystemExit("OBS does not start its stream")

        def status():
            status = remote.ask("GetStreamStatus") or {}
            return status if status.get("outputActive") and status.get("outputBytes") else None

        until(status, 30, "OBS sent nothing")
        print("publishing", flush=True)
        sys.stdin.read()
        remote.ask("StopStream")


main()
