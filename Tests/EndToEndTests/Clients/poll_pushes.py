#!/usr/bin/env python3
"""poll_pushes.py PORT PID [DEVICE]: prints a line of JSON every 50 ms until it is ended: the time of the monotonic clock, the first
push of the stream "live", the resident memory of the program in kB, and the bytes that a network device has sent since it exists.

It runs where the program does, which may be a network namespace. A device at one end of a wire (veth) counts what has passed the
queueing discipline that limits its rate, which is what the host at the other end receives.
"""
import http.client
import json
import pathlib
import sys
import time


def sent_bytes(device):
    for line in pathlib.Path("/proc/self/net/dev").read_text().splitlines():
        name, _, fields = line.partition(":")
        if name.strip() == device:
            return int(fields.split()[8])
    return 0


def resident_kilobytes(process):
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def main():
    port, process, device = int(sys.argv[1]), sys.argv[2], "".join(sys.argv[3:4])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    while True:
        begin = time.monotonic()
        connection.request("GET", "/api/streams/live/pushes")
        pushes = json.loads(connection.getresponse().read())["pushes"]
        print(json.dumps({"time": begin, "push": pushes[0] if pushes else None, "memory": resident_kilobytes(process),
                          "linkBytes": sent_bytes(device)}), flush=True)
        time.sleep(max(0.0, begin + 0.05 - time.monotonic()))


main()
