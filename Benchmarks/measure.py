#!/usr/bin/env python3
"""Measures the built program against its peers in one run, and prints a table. Called by Benchmarks/run."""
import argparse
import pathlib

import faces
import hls
import latency
import memory
import pipeline
import pushing
import rtmp
import seek
import serving
import webrtc

MEASUREMENTS = {
    "encode": pipeline.measure_encode,
    "mux": pipeline.measure_mux,
    "convert": pipeline.measure_convert,
    "record": pipeline.measure_record,
    "finish": pipeline.measure_finish,
    "seek": seek.measure,
    "hls": hls.measure,
    "hlsdelay": hls.measure_delay,
    "rtmp": rtmp.measure,
    "rtmpdelay": latency.measure_rtmp_delay,
    "push": pushing.measure_push,
    "pushkills": pushing.measure_kills,
    "ingest": pushing.measure_ingest,
    "tcp": serving.measure_tcp,
    "udp": serving.measure_udp,
    "webrtc": webrtc.measure_fan_out,
    "webrtcjoin": webrtc.measure_join,
    "rtsps": serving.measure_rtsps,
    "viewers": serving.measure_viewers,
    "jitter": serving.measure_jitter,
    "memory": memory.measure,
    "forward": latency.measure_forward,
    "rendition": pipeline.measure_rendition,
    "screen": pipeline.measure_screen,
    "join": latency.measure_join,
    "delay": latency.measure_delay,
    "switch": latency.measure_switch,
    "inference": faces.measure_inference,
    "faces": faces.measure,
    "privacy": faces.measure_privacy,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--program", required=True)
    parser.add_argument("--tools", type=pathlib.Path, required=True)
    parser.add_argument("--video", required=True)
    parser.add_argument("--viewers", type=int, help="number of viewers of tcp, udp and webrtc: 200, 500 and 1000, 500, and 500, without it")
    parser.add_argument("--seconds", type=int, default=15, help="duration of each measurement")
    parser.add_argument("--kills", type=int, default=20, help="number of times that pushkills kills a server")
    parser.add_argument("--rounds", type=int, default=2, help="number of times each side runs, alternating")
    settings = parser.parse_args()
    for name in settings.names:
        if name not in MEASUREMENTS:
            parser.error(f"there is no measurement {name}")
    print("| measured | Vidicon | against | ratio | limit | holds |\n|---|---|---|---|---|---|", flush=True)
    for name in settings.names or MEASUREMENTS:
        MEASUREMENTS[name](settings)


if __name__ == "__main__":
    main()
