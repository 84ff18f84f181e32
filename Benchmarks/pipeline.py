"""One stream's pipeline: capture, conversion, encoding, renditions, muxing and recording."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import time

from harness import core, cpu_seconds, cpu_while, prepare_video, running, thread_seconds, vidicon
from report import row


def measure_encode(settings):
    """One 720p30 stream from a file with one viewer, against ffmpeg decoding and encoding the same."""
    video = prepare_video(settings)
    ours = theirs = 0.0
    for _ in range(settings.rounds):
        with running("ffmpeg", "-v", "error", "-re", "-stream_loop", "-1", "-i", video, "-c:v", "libx264", "-preset",
                     "veryfast", "-tune", "zerolatency", "-threads", "2", "-b:v", "2300k", "-maxrate", "2300k", "-bufsize",
                     "2300k", "-g", "60", "-bf", "0", "-sc_threshold", "0", "-c:a", "aac", "-b:a", "64k", "-f", "null",
                     "-") as ffmpeg:
            time.sleep(2)
            theirs += cpu_while(ffmpeg, settings.seconds)
        with vidicon(settings, "--source", f"file:{video}", "--bitrate", "2300k") as process:
            with running("ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", process.url, "-c", "copy", "-f", "null",
                         "-"):
                time.sleep(2)
                ours += cpu_while(process, settings.seconds)
    row("720p30 file, one viewer; ffmpeg with the same x264 settings", core(ours, settings, settings.rounds),
        core(theirs, settings, settings.rounds), f"{ours / theirs:.2f}", "1.10", ours <= 1.10 * theirs)


def measure_rendition(settings):
    """Processor time of a rendition of 640x360 beside 720p, scaling included, against that of the main one's encoder with all its
    threads; a film, whose frames are decoded by another thread and need no conversion."""
    video = prepare_video(settings)
    with vidicon(settings, "--source", f"file:{video}", "--size", "1280x720", "--bitrate", "2300k", "--pass-through", "off",
                 "--rendition", "name=low,size=640x360,bitrate=450k") as process:
        time.sleep(2)
        main = low = 0.0
        unused = thread_seconds(process, "rendition")
        for _ in range(settings.rounds):
            with running(settings.tools / "sink", "tcp", "rtsp", process.port, "live", 1, 4 * settings.seconds + 15,
                         stdout=subprocess.DEVNULL):
                # The same minute of the film in turn with the rendition and without, so that its scenes count for both.
                for _ in range(2):
                    time.sleep(2)
                    begin = thread_seconds(process, "video")
                    time.sleep(settings.seconds)
                    alone = thread_seconds(process, "video") - begin
                    with running(settings.tools / "sink", "tcp", "rtsp", process.port, "live/low", 1, settings.seconds + 3,
                                 stdout=subprocess.DEVNULL):
                        time.sleep(2)
                        begin = [thread_seconds(process, name) for name in ("video", "rendition")]
                        time.sleep(settings.seconds)
                        both, encoding = (thread_seconds(process, name) - before
                                          for name, before in zip(("video", "rendition"), begin))
                    main += alone
                    low += encoding + both - alone
            # Its encoder is closed 10 s after its last viewer.
            time.sleep(12)
    row("a rendition of 640x360 with its scaling; the 720p encode of the same film", core(low, settings, 2 * settings.rounds),
        core(main, settings, 2 * settings.rounds), f"{low / main:.2f}", "0.35", low <= 0.35 * main)
    row("the same before its first viewer", core(unused, settings), "", "", "0", unused == 0)


@contextlib.contextmanager
def x_server(size):
    """An Xvfb server with its name in `display`."""
    with running("Xvfb", "-displayfd", "1", "-screen", "0", f"{size}x24", "-noreset", stdout=subprocess.PIPE,
                 stderr=subprocess.DEVNULL) as server:
        server.display = ":" + server.stdout.readline().strip()
        yield server


def measure_screen(settings):
    """Capture of a 1080p screen at 30 frames per second, still and with a video over all of it, against FFmpeg's x11grab.
    Both sides include the X server's time for copying."""
    for kind, limit in (("still", 0.02), ("moving", None)):
        with contextlib.ExitStack() as stack:
            server = stack.enter_context(x_server("1920x1080"))
            if kind == "moving":
                environment = {**os.environ, "DISPLAY": server.display, "SDL_VIDEODRIVER": "x11"}
                stack.enter_context(running("ffplay", "-v", "error", "-noborder", "-left", "0", "-top", "0", "-f", "lavfi",
                                            "-i", "testsrc2=s=1920x1080:r=30", env=environment))
            time.sleep(3)
            shown = cpu_while(server, settings.seconds)
            with vidicon(settings, "--source", f"screen:{server.display}", "--audio", "none", "--size", "640x360", "--fps",
                         "30") as process:
                time.sleep(2)
                begin = thread_seconds(process, "screen"), cpu_seconds(process), cpu_seconds(server)
                time.sleep(settings.seconds)
                end = thread_seconds(process, "screen"), cpu_seconds(process), cpu_seconds(server)
            ours, whole, copying = (after - before for before, after in zip(begin, end))
            with running("ffmpeg", "-v", "error", "-f", "x11grab", "-framerate", "30", "-i", server.display, "-f", "null",
                         "-") as ffmpeg:
                time.sleep(2)
                begin = cpu_seconds(ffmpeg), cpu_seconds(server)
                time.sleep(settings.seconds)
                theirs, their_copying = cpu_seconds(ffmpeg) - begin[0], cpu_seconds(server) - begin[1]
        row(f"capture of a {kind} screen of 1080p30; FFmpeg's x11grab", core(ours + max(0, copying - shown), settings),
            core(theirs + max(0, their_copying - shown), settings),
            f"{(ours + max(0, copying - shown)) / max(theirs + their_copying - shown, 0.01):.2f}",
            f"{limit:.0%} of a core" if limit else "reported", limit is None or ours < limit * settings.seconds)
        print(f"  (the capture thread alone {core(ours, settings)}, the whole program, scaling to 640x360 and encoding,"
              f" {core(whole, settings)})")


MUX_ROUNDS = 20


def instructions(settings, program, *arguments):
    """Instructions of a run of a program, of all threads in user mode."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
               settings.tools / program, *arguments]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return int(re.search(r"I\s+refs:\s+([\d,]+)", report)[1].replace(",", ""))


def prepare_frames(settings):
    """A second of decoded 720p30, as I420."""
    frames = settings.tools / "720p30.yuv"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", prepare_video(settings), "-frames:v", "30", "-pix_fmt", "yuv420p",
                    "-f", "rawvideo", frames], check=True)
    return frames


def measure_mux(settings):
    """Muxing a second of 720p30 with audio, against encoding it; each is the difference between two runs."""
    frames = prepare_frames(settings)
    reading, encoding = (instructions(settings, "MuxBenchmark", mode, frames) for mode in ("read", "encode"))
    for mode, name in (("ts", "MPEG-TS"), ("mp4", "fragmented MP4")):
        ours = (instructions(settings, "MuxBenchmark", mode, frames) - encoding) / MUX_ROUNDS
        theirs = encoding - reading
        row(f"muxing a second of 720p30 and audio as {name}; encoding it", f"{ours / 1e6:.2f} M instructions",
            f"{theirs / 1e6:.0f} M instructions", f"{ours / theirs:.2%}", "1%", ours <= 0.01 * theirs)


def measure_convert(settings):
    """Converting a frame to the encoder's format, against bare calls of libyuv: the difference of 100 frames and none."""
    for how, options in (("", []), (" and mirroring it", ["mirror"])):
        def frame(mode):
            none, hundred = (instructions(settings, "ConvertBenchmark", mode, *options, count) for count in ("0", "100"))
            return (hundred - none) / 100
        ours, theirs = frame("canvas"), frame("libyuv")
        row(f"converting a YUYV frame of 720p{how}; libyuv alone", f"{ours / 1e3:.0f} k instructions",
            f"{theirs / 1e3:.0f} k instructions", f"{ours / theirs:.3f}", "1.2", ours <= 1.2 * theirs)


def measure_record(settings):
    """Recording a second of 720p30 with audio, including threads and files, against encoding it."""
    frames, film = prepare_frames(settings), settings.tools / "recorded.mp4"
    reading, encoding = (instructions(settings, "RecordingMeter", mode, frames) for mode in ("read", "encode"))
    theirs = encoding - reading
    ours = (instructions(settings, "RecordingMeter", "record", frames, film) - encoding) / MUX_ROUNDS
    film.unlink()
    row("recording a second of 720p30 and audio, finishing the file included; encoding it", f"{ours / 1e6:.2f} M instructions",
        f"{theirs / 1e6:.0f} M instructions", f"{ours / theirs:.2%}", "2%", ours <= 0.02 * theirs)


def measure_finish(settings):
    """Finishing an hour's recording as a progressive file, against a synced copy of it; and its cost, kernel included."""
    frames, film, copy = prepare_frames(settings), settings.tools / "recorded.mp4", settings.tools / "copy.mp4"
    ours = theirs = user = kernel = encoding = 0.0
    for _ in range(settings.rounds):
        output = subprocess.run([settings.tools / "RecordingMeter", "finish", frames, film], check=True, capture_output=True)
        report = json.loads(output.stdout)
        ours += report["seconds"]
        user += report["user"] / report["duration"]
        kernel += report["kernel"] / report["duration"]
        output = subprocess.run([settings.tools / "RecordingMeter", "cost", frames], check=True, capture_output=True)
        peer = json.loads(output.stdout)
        encoding += (peer["user"] + peer["kernel"]) / peer["seconds"]
        begin = time.monotonic()
        shutil.copyfile(film, copy)
        with open(copy, "rb") as file:
            os.fsync(file.fileno())
        theirs += time.monotonic() - begin
        copy.unlink()
        film.unlink()
    gigabytes = report["bytes"] / 1e9
    limit = theirs / settings.rounds + 2 * gigabytes
    row(f"finishing an hour's recording of {gigabytes:.2f} GB; copying it", f"{ours / settings.rounds:.2f} s",
        f"{theirs / settings.rounds:.2f} s", f"{ours / theirs:.2f}", f"copy + 2 s per GB: {limit:.2f} s", ours / settings.rounds <= limit)
    cost = user + kernel
    row("processor time for recording a second of 720p30 and audio, kernel included; encoding it",
        f"{1e6 * cost / settings.rounds:.0f} µs, of which {1e6 * kernel / settings.rounds:.0f} µs in the kernel",
        f"{1e6 * encoding / settings.rounds:.0f} µs", f"{cost / encoding:.2%}", "2%", cost <= 0.02 * encoding)
