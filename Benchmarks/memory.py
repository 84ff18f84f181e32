"""Resident memory of the program, and of a viewer over each protocol."""
import subprocess
import time

from harness import STREAM, certificate, resident_megabytes, running, vidicon
from report import row

VIEWERS = 500


def with_viewers(settings, process, command, count):
    """Resident memory of a process in MB while viewers play."""
    program, *rest = command
    with running(settings.tools / program, *rest, count, settings.seconds, stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        time.sleep(settings.seconds / 2)
        return resident_megabytes(process)


def memory_of(settings, options, command):
    """Resident memory of the program alone in MB, and of one of many viewers in kB, without what the first viewer starts."""
    with vidicon(settings, *STREAM, *options) as process:
        # The program returns the memory that only its start has used after 3 s, and frames that are not needed after 4 s.
        time.sleep(12)
        alone = resident_megabytes(process)
        one, many = (with_viewers(settings, process, command(process), count) for count in (1, VIEWERS))
        return alone, 1000 * (many - one) / (VIEWERS - 1)


def measure(settings):
    """Resident memory of the program without viewers, and of a viewer over each protocol but WebRTC, which `webrtc` measures."""
    file, key = certificate(settings)
    protocols = {
        "RTSP over TCP": ([], lambda process: ("sink", "tcp", "rtsp", process.port, "live")),
        "RTSP over UDP": (["--rtsp-udp"], lambda process: ("sink", "udp", "rtsp", process.port, "live")),
        "RTSPS": (["--rtsps-port", "0", "--tls-cert", file, "--tls-key", key],
                  lambda process: ("sink", "tls", "rtsp", process.rtsps_port, "live")),
        "RTMP": (["--rtmp-port", "0"], lambda process: ("rtmp_sink", "rtmp", process.rtmp_port, "live")),
        "HLS": ([], lambda process: ("hls_sink", process.http_port, "/live/playlist.m3u8")),
    }
    measured = {name: memory_of(settings, *protocol) for name, protocol in protocols.items()}
    alone = measured["RTSP over TCP"][0]
    row("resident memory without viewers", f"{alone:.0f} MB", "", "", "60 MB", alone <= 60)
    for name, (_, viewer) in measured.items():
        # TLS has buffers and keys of its own.
        limit = 120 if name == "RTSPS" else 60
        row(f"resident memory of a viewer over {name}, one of {VIEWERS}", f"{viewer:.0f} kB", "", "", f"{limit} kB",
            viewer <= limit)
