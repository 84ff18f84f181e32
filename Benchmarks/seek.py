"""Response times of viewers that seek in recordings while others watch live."""
import http.client
import json
import pathlib
import random
import shutil
import statistics
import tempfile
import threading
import time

from harness import vidicon, watched_by
from report import row


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def seek(port, files, until, times, failures):
    """One viewer: requests 16 kB at a random place of a random file on a kept connection, four times a second."""
    generator = random.Random()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    while time.monotonic() < until:
        file = generator.choice(files)
        first = generator.randrange(max(1, file["bytes"] - 16384))
        begin = time.monotonic()
        connection.request("GET", file["file"], headers={"Range": f"bytes={first}-{first + 16383}"})
        response = connection.getresponse()
        response.read()
        times.append(time.monotonic() - begin)
        if response.status != 206:
            failures.append(response.status)
        time.sleep(max(0, 0.25 - (time.monotonic() - begin)))


def list_all(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    files = []
    while True:
        begin = time.monotonic()
        connection.request("GET", f"/api/recordings?limit=1000&offset={len(files)}")
        answer = json.loads(connection.getresponse().read())
        files += answer["recordings"]
        if len(files) >= answer["total"]:
            return files, time.monotonic() - begin


def measure(settings, file_count=10_000, viewers=20):
    """Viewers that seek in many recordings, and the jitter of live viewers beside them."""
    with tempfile.TemporaryDirectory(dir=settings.tools) as name:
        folder = pathlib.Path(name)
        options = ["--audio", "tone", "--control", "machine", "--record", str(folder / "{name}.mp4")]
        # A small recording of the same stream and pattern, whose copies are other recordings of this recorder.
        with vidicon(settings, "--source", "bars", "--size", "320x180", "--fps", "30", *options):
            time.sleep(5)
        options += ["--source", "plasma", "--size", "1280x720", "--fps", "30", "--bitrate", "2300k"]
        recording = folder / "live.mp4"
        for number in range(2, file_count + 1):
            shutil.copyfile(recording, folder / f"live-{number}.mp4")
        with vidicon(settings, *options) as process:
            idle, alone = watched_by(settings, process, "tcp", "rtsp", process.port, 20)
            files, _ = list_all(process.http_port)
            files = [file for file in files if file["finished"]]
            if len(files) < file_count:
                raise SystemExit(f"only {len(files)} of {file_count} files are listed")
            times, failures = [], []
            until = time.monotonic() + settings.seconds + 1
            threads = [threading.Thread(target=seek, args=(process.http_port, files, until, times, failures))
                       for _ in range(viewers)]
            for thread in threads:
                thread.start()
            begun = len(times)
            busy, report = watched_by(settings, process, "tcp", "rtsp", process.port, 20)
            answered = len(times) - begun
            for thread in threads:
                thread.join()
            list_all(process.http_port)
            _, listing = list_all(process.http_port)
    if failures:
        raise SystemExit(f"{len(failures)} requests failed: {failures[:5]}")
    p99 = 1000 * percentile(times, 0.99)
    row(f"{viewers} viewers seek in {file_count} recordings, {len(times)} requests of 16 kB",
        f"p50 {1000 * statistics.median(times):.1f} ms, p99 {p99:.1f} ms", "", "", "p99 100 ms", p99 < 100)
    cost = 1e3 * (busy - idle) / answered
    row("processor time of such a request, kernel included", f"{cost:.2f} ms", "", "", "1 ms", cost < 1)
    row("jitter of 20 live viewers meanwhile; without them",
        f"p50 {report['jitterP50']:.1f} ms, p99 {report['jitterP99']:.1f} ms",
        f"p50 {alone['jitterP50']:.1f} ms, p99 {alone['jitterP99']:.1f} ms", "", "p99 10 ms more",
        report["jitterP99"] < alone["jitterP99"] + 10)
    row(f"a list of 1000 of {file_count} recordings", f"{1000 * listing:.0f} ms", "", "", "500 ms", listing < 0.5)
