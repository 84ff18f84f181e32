"""Viewers over RTMP, against a bare C loop and against nginx-rtmp."""
import contextlib
import json
import subprocess
import time

from harness import STREAM, core, cpu_seconds, cpu_while, free_port, part, passed_through, running, vidicon
from report import row

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/pid; error_log stderr emerg;
load_module /usr/lib/nginx/modules/ngx_rtmp_module.so;
events {{ worker_connections 4096; }}
rtmp {{ server {{ listen 127.0.0.1:{port}; chunk_size 65536; application live {{ live on; wait_key on; }} }} }}
"""


@contextlib.contextmanager
def nginx_with(settings, process):
    """nginx with its RTMP module, which a program sends the stream to; its port is `rtmp_port`."""
    folder = settings.tools / "nginx"
    folder.mkdir(exist_ok=True)
    port = free_port()
    (folder / "conf").write_text(NGINX.format(folder=folder.resolve(), port=port))
    with running("nginx", "-p", folder.resolve(), "-c", (folder / "conf").resolve()) as nginx:
        nginx.rtmp_port = port
        with running("ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", process.url, "-c", "copy", "-f", "flv",
                     f"rtmp://127.0.0.1:{port}/live/live"):
            time.sleep(3)
            yield nginx


def rtmp_watched(settings, process, kind, port, viewers):
    """Processor time of a process while RTMP viewers play its stream, in seconds, and the viewers' report."""
    with running(settings.tools / "rtmp_sink", kind, port, "live", viewers, settings.seconds, stdout=subprocess.PIPE) as sink:
        if sink.stdout.readline() != "ready\n":
            raise SystemExit("the viewers did not get ready")
        begin = cpu_seconds(process)
        report = sink.stdout.readline()
        return cpu_seconds(process) - begin, json.loads(report)


def measure(settings):
    """RTMP viewers of a stream that another process encodes, against a bare C loop that sends the same, and against nginx."""
    recording = settings.tools / "rtmp_recording"
    with passed_through(settings, "--rtmp-port", "0") as process:
        time.sleep(2)
        subprocess.run([settings.tools / "rtmp_sink", "record", str(process.rtmp_port), "live", "8", recording], check=True)
        for viewers, limit in ((200, 0.10), (500, 0.23), (1000, 0.45)):
            ours = idle = bare = theirs = 0.0
            for _ in range(settings.rounds):
                idle += cpu_while(process, settings.seconds)
                with running(settings.tools / "tcp_floor", recording, viewers, stdout=subprocess.PIPE) as floor:
                    bare += rtmp_watched(settings, floor, "floor", floor.stdout.readline().strip(), viewers)[0]
                cpu, report = rtmp_watched(settings, process, "rtmp", process.rtmp_port, viewers)
                ours += cpu
                with nginx_with(settings, process) as nginx:
                    theirs += rtmp_watched(settings, nginx, "rtmp", nginx.rtmp_port, viewers)[0]
            ours -= idle
            rate = report["bytes"] * 8 / viewers / settings.seconds / 1e6
            name = f"{viewers} viewers over RTMP, {rate:.1f} Mb/s each"
            row(f"{name}; a bare C loop", core(ours, settings, settings.rounds), core(bare, settings, settings.rounds),
                f"{ours / bare:.2f}", f"1.25, {100 * limit:.0f}% of a core",
                ours <= 1.25 * bare and ours <= limit * settings.seconds * settings.rounds)
            row(f"{name}; nginx-rtmp", core(ours, settings, settings.rounds), core(theirs, settings, settings.rounds),
                f"{ours / theirs:.2f}", "1.00", ours <= theirs)
    with vidicon(settings, *STREAM, "--rtmp-port", "0") as process, nginx_with(settings, process) as nginx:
        ours, theirs = (
            sorted(map(float, subprocess.run([settings.tools / "rtmp_sink", "first", str(port), "live", "20", "700"], check=True,
                                             capture_output=True, text=True).stdout.split()))
            for port in (process.rtmp_port, nginx.rtmp_port))
    row("connect to the first 4 kB of a keyframe over RTMP, 20 times; nginx-rtmp",
        *(f"p50 {part(times, 0.5):.0f} ms, worst {times[-1]:.0f} ms" for times in (ours, theirs)), "", "p50 350 ms",
        part(ours, 0.5) <= 350)
