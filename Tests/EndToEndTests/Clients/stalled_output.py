#!/usr/bin/env python3
"""Serves with --json into a pipe of one page that no process reads, and prints the outcome as JSON.

usage: stalled_output.py VIDICON

Twelve streams with long names make the first line longer than the pipe.
"""
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from browser import free_port

F_SETPIPE_SZ = 1031


def main():
    port = free_port()
    streams = "".join(f"  - name: {'n' * 80}{number}\n    source: bars\n    audio: none\n    size: 160x90\n    fps: 5\n"
                      for number in range(12))
    read, write = os.pipe()
    fcntl.fcntl(write, F_SETPIPE_SZ, 4096)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "vidicon.yaml")
        with open(path, "w") as file:
            file.write("streams:\n" + streams)
        program = subprocess.Popen(
            [sys.argv[1], "serve", "--json", "--config", path, "--rtsp-port", "0", "--http-port", str(port),
             "--no-discovery"], stdin=subprocess.DEVNULL, stdout=write)
        os.close(write)
        health, end = [], time.monotonic() + 30
        while len(health) < 3 and time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                    health.append(answer.status)
            except OSError:
                pass
            # Each second brings a line that finds the pipe full.
            time.sleep(1)
        begin = time.monotonic()
        program.send_signal(signal.SIGINT)
        try:
            status = program.wait(20)
        except subprocess.TimeoutExpired:
            program.kill()
            status = -1
    print(json.dumps({"health": health, "exit": status, "secondsToExit": round(time.monotonic() - begin, 2)}))


main()
