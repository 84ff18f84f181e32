"""Programs under measurement, their viewers, and the processor time and memory that they use."""
import contextlib
import json
import os
import pathlib
import socket
import struct
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
STREAM = ["--source", "plasma", "--audio", "tone", "--size", "1280x720", "--fps", "30", "--bitrate", "2300k"]
UNIT_HEADER = struct.Struct("<qII")  # struct unit_header of Sources/units.h.


def cpu_seconds(process):
    """Processor time of all threads of a process in user and kernel mode, in seconds."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def free_port():
    """A port at which no program listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def certificate(settings):
    """Files of a certificate for this machine, and of its key."""
    files = [settings.tools.resolve() / name for name in ("certificate.pem", "key.pem")]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", files[1], "-out", files[0]], check=True, stderr=subprocess.DEVNULL)
    return files


def thread_seconds(process, name):
    """Processor time of the threads of a process with a name, in seconds."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def serving_seconds(process):
    """Processor time of the threads that serve connections, in seconds: what viewers cost, whatever the encoder does meanwhile."""
    return sum(thread_seconds(process, f"NIO-ELT-1-#{loop}") for loop in range(os.cpu_count() + 1))


def resident_megabytes(process):
    """Resident memory of a process, in MB."""
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    raise SystemExit("no VmRSS")


def cpu_while(process, seconds):
    """Processor time of a process in the next seconds."""
    begin = cpu_seconds(process)
    time.sleep(seconds)
    return cpu_seconds(process) - begin


def core(seconds, settings, rounds=1):
    """Processor time of some rounds as a share of a core."""
    return f"{100 * seconds / settings.seconds / rounds:.1f}% of a core"


def part(values, share):
    """The value below which a share of sorted values is."""
    return values[min(len(values) - 1, int(share * len(values)))]


def jitter(report):
    """Jitter of frames in a report of viewers."""
    return f"p50 {report['jitterP50']:.1f} ms, p99 {report['jitterP99']:.1f} ms"


def age(report):
    """Age of frames when they arrive at viewers; the histogram of `sink` ends at 200 ms."""
    return f"p50 {report['ageP50']:.1f} ms, p99 {report['ageP99']:.1f} ms"


@contextlib.contextmanager
def running(*command, **options):
    """Runs a program for the duration of the context."""
    options = {"stdin": subprocess.DEVNULL, "text": True} | options
    process = subprocess.Popen([str(part) for part in command], **options)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


@contextlib.contextmanager
def vidicon(settings, *options):
    """Runs `vidicon serve` on free ports of this machine."""
    with running(settings.program, "serve", "--json", "--rtsp-port", "0", "--http-port", "0", "--no-discovery", "--bind",
                 "127.0.0.1", *options, stdout=subprocess.PIPE) as process:
        started = json.loads(process.stdout.readline())
        process.port, process.http_port = started["rtspPort"], started["httpPort"]
        process.rtsps_port, process.rtmp_port = started.get("rtspsPort"), started.get("rtmpPort")
        process.https_port = started.get("httpsPort")
        process.url = f"rtsp://127.0.0.1:{process.port}/live"
        # Drains the status lines, which would fill the pipe; exits with the program.
        subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        yield process


@contextlib.contextmanager
def passed_through(settings, *options):
    """A stream that another process encodes: serving alone is measured, not how much slower an encoder runs beside it."""
    with vidicon(settings, *STREAM) as origin:
        with vidicon(settings, "--source", origin.url, "--pass-through", "on", "--rendition", "none", *options) as process:
            yield process


def recorded_units(recording):
    """Access units of the video in a file of `record`: arrival, in nanoseconds after the first unit, and the payloads of the RTP packets."""
    data, position = recording.read_bytes(), 0
    while position < len(data):
        arrival, length, track = UNIT_HEADER.unpack_from(data, position)
        position += UNIT_HEADER.size
        if track == 0:
            payloads, packet = [], position
            while packet < position + length:
                size = struct.unpack_from(">H", data, packet + 2)[0]
                # Behind "$", channel and length: the RTP header without extension, RFC 3550 section 5.1.
                payloads.append(data[packet + 16:packet + 4 + size])
                packet += 4 + size
            yield arrival, payloads
        position += length


@contextlib.contextmanager
def viewers_of(settings, transport, kind, port, viewers):
    """Viewers that all play; their report is the next line of output, after `settings.seconds`."""
    with running(settings.tools / "sink", transport, kind, port, "live", viewers, settings.seconds,
                 stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        yield sink


def watched_by(settings, process, transport, kind, port, viewers):
    """Processor time of a process while viewers play its stream, in seconds, and the viewers' report."""
    with viewers_of(settings, transport, kind, port, viewers) as sink:
        begin = cpu_seconds(process)
        report = sink.stdout.readline()
        return cpu_seconds(process) - begin, json.loads(report)


def served_to(settings, process, transport, port, viewers):
    """Processor time of the serving threads while viewers play the stream, in seconds, and the viewers' report."""
    with viewers_of(settings, transport, "rtsp", port, viewers) as sink:
        begin = serving_seconds(process)
        report = sink.stdout.readline()
        return serving_seconds(process) - begin, json.loads(report)


def prepare_video(settings):
    """A minute of 720p30 with audio, looped from the short test video."""
    video = settings.tools / "720p30.mp4"
    if not video.exists():
        part = settings.tools / "part.mp4"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", "-stream_loop", "-1", "-i", settings.video, "-t", "60", "-r", "30", "-ac", "2",
             "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-c:a", "aac", "-b:a", "128k", part], check=True)
        part.rename(video)
    return video
