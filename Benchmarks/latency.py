"""Latencies: of joining, forwarding, decoded frames, and switches of the source."""
import contextlib
import json
import struct
import subprocess
import time
import urllib.request

from harness import STREAM, UNIT_HEADER, part, passed_through, recorded_units, running, vidicon
from report import row


def measured(settings, mode, url, count):
    output = subprocess.run([settings.tools / "watch", mode, url, str(count)], check=True, capture_output=True, text=True)
    return sorted(float(line) for line in output.stdout.split())


def measure_join(settings):
    with vidicon(settings, *STREAM) as process:
        time.sleep(3)
        times = measured(settings, "first", process.url, 20)
    p50, worst = part(times, 0.5), times[-1]
    row("connect to first decoded frame, 20 times", f"p50 {p50:.0f} ms, worst {worst:.0f} ms", "", "", "600 ms", worst < 600)
    # The encoder of another process makes no keyframe for a viewer of this one.
    with passed_through(settings) as process:
        time.sleep(3)
        cached, waited = (measured(settings, "first", process.url + query, 20) for query in ("?start=cached", ""))
    row("the same of a stream that is passed through, with `?start=cached`; without",
        *(f"p50 {part(times, 0.5):.0f} ms, worst {times[-1]:.0f} ms" for times in (cached, waited)), "", "p50 500 ms",
        part(cached, 0.5) < 500)


def measure_delay(settings):
    with vidicon(settings, "--source", "bars", *STREAM[2:]) as process:
        time.sleep(1)
        times = measured(settings, "delay", process.url, settings.seconds)
    if len(times) < 30:
        raise SystemExit(f"only {len(times)} timecode strips were read")
    row("capture to decoded frame over TCP on loopback", f"p50 {part(times, 0.5):.1f} ms, p99 {part(times, 0.99):.1f} ms",
        "", "", "reported", True)


def measure_rtmp_delay(settings):
    """Latency over RTMP, with a reader that decodes each frame as it comes."""
    with vidicon(settings, "--source", "bars", *STREAM[2:], "--rtmp-port", "0") as process:
        time.sleep(1)
        times = measured(settings, "delay", f"rtmp://127.0.0.1:{process.rtmp_port}/live/live", settings.seconds)
    if len(times) < 30:
        raise SystemExit(f"only {len(times)} timecode strips were read")
    row("capture to decoded frame over RTMP on loopback", f"p50 {part(times, 0.5):.1f} ms, p99 {part(times, 0.99):.1f} ms",
        "", "", "p50 25 ms", part(times, 0.5) <= 25)


def recorded_access_units(recording, first):
    """Arrival times of the access units in a file of `record` by their payload, in seconds of the monotonic clock."""
    return {b"".join(payloads): (first + arrival) / 1e9 for arrival, payloads in recorded_units(recording)}


def measure_forward(settings):
    """Forwarding of an access unit, last byte in to last byte out: the same access units at a viewer of a stream, and at one of a
    second program that passes that stream through."""
    with vidicon(settings, *STREAM[:2], "--audio", "none", *STREAM[4:]) as origin:
        with vidicon(settings, "--source", origin.url, "--audio", "none", "--pass-through", "on", "--rendition",
                     "none") as process:
            time.sleep(3)
            files = [settings.tools / name for name in ("forward-in", "forward-out")]
            with contextlib.ExitStack() as stack:
                viewers = [stack.enter_context(running(settings.tools / "record", server.port, "live", settings.seconds, file,
                                                       stdout=subprocess.PIPE)) for server, file in zip((origin, process), files)]
                firsts = [int(viewer.stdout.readline()) for viewer in viewers]
                for viewer in viewers:
                    viewer.wait()
    arrived, forwarded = (recorded_access_units(file, first) for file, first in zip(files, firsts))
    times = sorted(1e3 * (forwarded[unit] - arrived[unit]) for unit in forwarded if unit in arrived)
    if len(times) < 10 * settings.seconds:
        raise SystemExit(f"only {len(times)} access units are the same at both viewers")
    p50, p99 = part(times, 0.5), part(times, 0.99)
    row(f"forwarding of an access unit, one viewer, {len(times)} of them", f"p50 {p50:.2f} ms, p99 {p99:.2f} ms", "", "",
        "p50 1 ms", p50 <= 1)


def recorded_frames(recording):
    """RTP timestamps of the frames in a file of `record`, and arrival times, in seconds after the first unit."""
    data, position, frames = recording.read_bytes(), 0, []
    while position < len(data):
        arrival, length, track = UNIT_HEADER.unpack_from(data, position)
        position += UNIT_HEADER.size
        if track == 0:
            # Behind "$", channel and length, and the first four bytes of the RTP header.
            frames.append((struct.unpack_from(">I", data, position + 8)[0], arrival / 1e9))
        position += length
    return frames


def measure_switch(settings):
    """Maximum timestamp step between frames at each source switch, at an RTSP viewer. The same in as many intervals
    without a switch shows the machine's share."""
    recording, count = settings.tools / "switches", settings.seconds
    with vidicon(settings, *STREAM, "--control", "machine") as process:
        time.sleep(2)
        with running(settings.tools / "record", process.port, "live", 2 * count + 2, recording,
                     stdout=subprocess.PIPE) as viewer:
            time.sleep(1)
            switches = []
            for number in range(count):
                body = json.dumps({"video": ("bars", "plasma")[number % 2]}).encode()
                request = urllib.request.Request(f"http://127.0.0.1:{process.http_port}/api/streams/live/source", body,
                                                 {"Content-Type": "application/json"}, method="PUT")
                begin = time.monotonic()
                urllib.request.urlopen(request, timeout=10).close()
                switches.append((begin, time.monotonic() + 0.1))
                time.sleep(max(0.0, begin + 2 - time.monotonic()))
            first = int(viewer.stdout.readline()) / 1e9
    frames = recorded_frames(recording)

    def maximum_step(begin, end):
        return max((after[0] - before[0] & 0xFFFFFFFF) / 90 for before, after in zip(frames, frames[1:])
                   if begin <= first + after[1] <= end)

    def text(gaps):
        return f"p50 {part(gaps, 0.5):.0f} ms, worst {gaps[-1]:.0f} ms"

    ours = sorted(maximum_step(begin, end) for begin, end in switches)
    others = sorted(maximum_step(begin + 0.9, end + 0.9) for begin, end in switches)
    limit = 2 * 1000 / 30
    row(f"between two frames of 30 a second at {count} switches of the source; between them", text(ours), text(others), "",
        f"two intervals: {limit:.0f} ms", ours[-1] < limit + 1)
