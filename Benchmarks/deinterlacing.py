"""The program's deinterlacer against libavfilter's bwdif: time of a frame, and how near it comes to the progressive original."""
import os
import pathlib
import re
import subprocess
import tempfile

from report import row

WIDTH, HEIGHT, RATE = 720, 576, 25
# Each of 50 progressive frames a second, of which every second one is that of an interlaced frame's first field.
SCENES = {
    "a film": ["-r", "50", "-i", None],
    "a pan over fine patterns": ["-f", "lavfi", "-i", "testsrc2=s=1440x576:r=50:d=4,crop=720:576:x='mod(n*6\\,720)'"],
    "a still test card with a moving bar": [
        "-f", "lavfi", "-i",
        "testsrc=s=720x576:r=1:d=1,loop=200:1,fps=50,drawbox=x='mod(t*300\\,600)':y=200:w=60:h=200:c=white:t=fill"],
}
FILTER = "setfield=tff,bwdif=mode=send_frame"
# The ratio of time that is allowed, of a filter in assembler that shows each frame one later; and how much worse the frames may be, in
# dB.
LIMIT_OF_TIME, LIMIT_OF_QUALITY = 4, 1


def ffmpeg(*arguments):
    """Runs ffmpeg on one thread; returns its processor time in seconds, and its log."""
    command = ["ffmpeg", "-hide_banner", "-nostdin", "-nostats", "-y", "-filter_threads", "1", *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    log = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(log[-2000:])
    return usage.ru_utime + usage.ru_stime, log


def raw(path, rate=RATE):
    """Options of an input of raw frames."""
    return ["-threads", "1", "-f", "rawvideo", "-s", f"{WIDTH}x{HEIGHT}", "-pix_fmt", "yuv420p", "-r", rate, "-i", path]


def noise(path, original):
    """Ratio of the peak to the noise of the luma, in dB, over all frames but the first, which has none before it."""
    trimmed = "[0]trim=start_frame=1[a];[1]trim=start_frame=1[b];[a][b]psnr"
    _, log = ffmpeg(*raw(path), *raw(original), "-lavfi", trimmed, "-f", "null", "-")
    return float(re.search(r"PSNR y:([\d.]+|inf)", log)[1])


def measure(settings):
    """A row for each scene: frames; then a row of the time of a frame."""
    times = {"ours": [], "theirs": []}
    with tempfile.TemporaryDirectory(dir=settings.tools) as name:
        folder = pathlib.Path(name)
        original, interlaced, ours, theirs = (folder / name for name in ("original", "interlaced", "ours", "theirs"))
        for scene, source in SCENES.items():
            source = [settings.video if part is None else part for part in source]
            size = f"scale={WIDTH}:{HEIGHT},format=yuv420p"
            ffmpeg(*source, "-frames:v", 200, "-vf", f"{size},select='not(mod(n,2))'", "-fps_mode", "passthrough", "-f", "rawvideo",
                   original)
            # The lines as they are: a filter against flicker would blur them.
            ffmpeg(*source, "-frames:v", 100, "-vf", f"{size},tinterlace=mode=interleave_top", "-fps_mode", "passthrough", "-f",
                   "rawvideo", interlaced)
            for _ in range(settings.rounds):
                command = [settings.tools / "deinterlace", WIDTH, HEIGHT, interlaced, ours]
                run = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True)
                times["ours"].append(float(run.stdout))
                repeated = ["-stream_loop", 9, *raw(interlaced)]
                filtered, _ = ffmpeg(*repeated, "-vf", FILTER, "-f", "null", "-")
                copied, _ = ffmpeg(*repeated, "-f", "null", "-")
                times["theirs"].append((filtered - copied) / 1000)
            ffmpeg(*raw(interlaced), "-vf", FILTER, "-f", "rawvideo", theirs)
            ratios = noise(ours, original), noise(theirs, original)
            # Both are exact where nothing is lost.
            difference = 0 if ratios[0] == ratios[1] else ratios[0] - ratios[1]
            row(f"frames of {scene}, interlaced 576i25 against its progressive original", f"{ratios[0]:.1f} dB",
                f"libavfilter's `bwdif`: {ratios[1]:.1f} dB", f"{difference:+.1f} dB", f"-{LIMIT_OF_QUALITY} dB",
                difference >= -LIMIT_OF_QUALITY)
    best = {side: min(values) for side, values in times.items()}
    ratio = best["ours"] / best["theirs"]
    row("processor time of deinterlacing a frame of 720x576", f"{1000 * best['ours']:.2f} ms",
        f"libavfilter's `bwdif`: {1000 * best['theirs']:.2f} ms", f"{ratio:.2f}", f"{LIMIT_OF_TIME}", ratio <= LIMIT_OF_TIME)
