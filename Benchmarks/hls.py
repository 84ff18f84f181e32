"""Viewers of HLS, against nginx with the same segments in files, and latency in a browser."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time
import urllib.request

from harness import STREAM, TICKS, core, cpu_seconds, free_port, running, serving_seconds, vidicon
from report import row

NGINX_FILES = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr emerg;
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  types {{ application/vnd.apple.mpegurl m3u8; video/mp2t ts; }}
  server {{ listen 127.0.0.1:{port} backlog=4096; root {folder}/files; }}
}}
"""


def serving_modes(process):
    """Processor time of the threads that serve connections in user mode and in kernel mode, in seconds."""
    user = kernel = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().startswith("NIO-ELT-1-#"):
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            user, kernel = user + int(fields[11]), kernel + int(fields[12])
    return user / TICKS, kernel / TICKS


@contextlib.contextmanager
def nginx_with_files(settings, segments):
    """nginx with a playlist that gets a segment each second, of some that repeat; its port is `http_port`."""
    folder = (settings.tools / "nginx-files").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    files = folder / "files" / "live"
    files.mkdir(parents=True)
    for number, segment in enumerate(segments):
        (folder / f"{number}.ts").write_bytes(segment)

    def publish(number):
        os.link(folder / f"{number % len(segments)}.ts", files / f"{number}.ts")
        first = max(0, number - 5)
        lines = ["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-TARGETDURATION:1", f"#EXT-X-MEDIA-SEQUENCE:{first}"]
        lines += [line for i in range(first, number + 1) for line in ("#EXTINF:1.00000,", f"{i}.ts")]
        (folder / "part").write_text("\n".join(lines) + "\n")
        (folder / "part").rename(files / "playlist.m3u8")

    ended = threading.Event()

    def publish_each_second():
        number = 1
        while not ended.wait(1):
            publish(number)
            number += 1

    publish(0)
    port = free_port()
    (folder / "conf").write_text(NGINX_FILES.format(folder=folder, port=port))
    publisher = threading.Thread(target=publish_each_second)
    publisher.start()
    try:
        with running("nginx", "-p", folder, "-c", folder / "conf") as nginx:
            nginx.http_port = port
            time.sleep(1)
            yield nginx
    finally:
        ended.set()
        publisher.join()


def hls_segments(process):
    """The segments of the TS playlist of a stream."""
    address = f"http://127.0.0.1:{process.http_port}/live"
    playlist = urllib.request.urlopen(f"{address}/playlist.m3u8").read().decode()
    names = [line for line in playlist.splitlines() if line and not line.startswith("#")]
    return [urllib.request.urlopen(f"{address}/{name}").read() for name in names]


def hls_watched(settings, process, viewers, processor_time):
    """Difference of a processor time while viewers of HLS play, and their report."""
    with running(settings.tools / "hls_sink", str(process.http_port), "/live/playlist.m3u8", str(viewers),
                 str(settings.seconds), stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = processor_time(process)
        report = json.loads(sink.stdout.readline())
        return [end - start for start, end in zip(begin, processor_time(process))], report


def measure(settings):
    """1000 viewers of the TS playlist, each with a persistent connection: one playlist and one segment per second; nginx with
    such segments in files."""
    viewers = 1000
    with vidicon(settings, *STREAM) as process:
        time.sleep(2)
        (used, user, kernel), report = hls_watched(
            settings, process, viewers, lambda process: (serving_seconds(process), *serving_modes(process)))
        segments = hls_segments(process)
    theirs, their_report = None, None
    if shutil.which("nginx"):
        with nginx_with_files(settings, segments) as nginx:
            (theirs,), their_report = hls_watched(settings, nginx, viewers, lambda nginx: (cpu_seconds(nginx),))
    rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
    modes = f"{core(user, settings)} in user mode, {core(kernel, settings)} in the kernel"
    responses = (report["playlists"] + report["segments"]) / viewers / settings.seconds
    row(f"{viewers} keep-alive viewers of HLS in MPEG-TS, {rate:.1f} Mb/s and {responses:.1f} responses a second each; nginx with files",
        f"{core(used, settings)} ({modes}); answers p50 {report['answerP50']} ms, p99 {report['answerP99']} ms",
        f"{core(theirs, settings)}; p99 {their_report['answerP99']} ms" if theirs else "",
        f"{used / theirs:.2f}" if theirs else "", "15% of a core",
        used < 0.15 * settings.seconds and report["segments"] > 0.9 * viewers * settings.seconds)
    if theirs and not 0.9 < report["bytes"] / their_report["bytes"] < 1.1:
        print(f"  (unequal work: {report['bytes']} bytes against {their_report['bytes']})")


def measure_delay(settings):
    """Latency in Chromium, from the timecode strip: the web page's player, and hls.js with the TS playlist."""
    clients = pathlib.Path(__file__).parent.parent / "Tests/EndToEndTests/Clients"
    library = pathlib.Path(settings.video).parent / "hls.mjs"
    with vidicon(settings, "--source", "bars", *STREAM[2:]) as process:
        address = f"http://127.0.0.1:{process.http_port}/live"
        for name, limit, command in (
                ("the web page (low latency)", 1.2, ["page_play.py", address, settings.tools, "--seconds", str(settings.seconds)]),
                ("hls.js and the TS playlist", 4.0, ["hls_play.py", "hlsjs", f"{address}/playlist.m3u8", "--library", library,
                                                    "--seconds", str(settings.seconds)])):
            output = subprocess.run(["python3", clients / command[0], *map(str, command[1:])], check=True, capture_output=True)
            p50 = json.loads(output.stdout)["medianLatency"]
            row(f"capture to frame in Chromium: {name}", f"p50 {p50:.2f} s", "", "", f"{limit} s", p50 < limit)
