"""Quality and cost of face detection, tracking and masking: the measurements "faces" and "privacy" of `run`.

The program `faces` applies the effects to real films. ffmpeg composes some of them, so that the times at which faces
appear are known. Faces that the privacy mask leaves visible are searched for in the encoded film with the detectors'
models in LiteRT, and with OpenCV's cascade.
"""
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import verdict
from harness import running
from report import row

TOP = pathlib.Path(__file__).resolve().parent.parent
MEDIA = TOP / ".build-media"
MODELS = pathlib.Path(os.environ.get("VIDICON_MODELS") or pathlib.Path(
    os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "vidicon/models")
WOLFGANG, SINGLE = "WolfgangLanger_Pexels.mp4", "single_face.mp4"
# A frontal face, 206 pixels from cheek to cheek, in the center of 320 × 360.
WOMAN, MAN = f"movie={MEDIA / WOLFGANG}:seek_point=8.5,crop=320:360:270:0", f"movie={MEDIA / SINGLE},crop=330:330:155:20"
EMPTY = f"movie={MEDIA / 'no_face.mp4'}:loop=0,setpts=N/30/TB,scale=1280:720"


class Film:
    """Frames of one size, from a file of the test media or a filter graph of ffmpeg."""

    def __init__(self, name, width, height, rate, file=None, graph=None, filters="null", frames=None):
        self.name, self.width, self.height, self.rate = name, width, height, rate
        end = f"{filters},scale={width}:{height}:out_range=tv:out_color_matrix=bt601,format=yuv420p"
        if graph:
            self.input = ["-f", "lavfi", "-i", f"{graph},{end}[out0]"]
        else:
            self.input = ["-i", str(MEDIA / file), "-vf", end]
        self.limit = ["-frames:v", str(frames)] if frames else []

    def command(self):
        return ["ffmpeg", "-v", "error", "-nostdin", *self.input, *self.limit, "-fps_mode", "passthrough", "-f", "rawvideo", "-"]

    def process(self, settings, effects, mode=None, encoded=None):
        """Metadata of each frame after the effects. Encodes the frames with a stream's settings into `encoded`, if given."""
        with tempfile.NamedTemporaryFile() as metadata:
            arguments = [settings.tools / "FacesBenchmark", *([mode] if mode else []), effects, str(self.width), str(self.height),
                         str(self.rate), metadata.name]
            source = subprocess.Popen(self.command(), stdout=subprocess.PIPE)
            middle = subprocess.Popen(arguments, stdin=source.stdout, stdout=subprocess.PIPE if encoded else subprocess.DEVNULL)
            if encoded:
                subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s",
                                f"{self.width}x{self.height}", "-r", str(self.rate), "-i", "-", "-c:v", "libx264", "-preset",
                                "veryfast", "-b:v", "2300k", encoded], stdin=middle.stdout, check=True)
                middle.stdout.close()
            source.stdout.close()
            if middle.wait() or source.wait():
                raise RuntimeError(f"{self.name} could not be measured")
            with open(metadata.name) as lines:
                return [json.loads(line) for line in lines]

    def cost(self, settings, effects):
        with subprocess.Popen(self.command(), stdout=subprocess.PIPE) as source:
            output = subprocess.run([settings.tools / "FacesBenchmark", "cost", effects, str(self.width), str(self.height),
                                     str(self.rate)], stdin=source.stdout, stdout=subprocess.PIPE, check=True).stdout
        return json.loads(output)

    def frames(self, numpy, path=None):
        """All frames of the film, or of an encoded file, as BGR arrays."""
        command = self.command() if path is None else ["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-f", "rawvideo", "-"]
        command[-3:-3] = ["-pix_fmt", "bgr24"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as ffmpeg:
            size = self.width * self.height * 3
            while len(content := ffmpeg.stdout.read(size)) == size:
                yield numpy.frombuffer(content, numpy.uint8).reshape(self.height, self.width, 3)


def shown(width, times, source=WOMAN):
    """A face of a width that is visible at times: x, y, first frame, frame after the last one."""
    parts, last = [f"{EMPTY},trim=end_frame={times[-1][3]}[back]"], "back"
    for index, (x, y, begin, end) in enumerate(times):
        parts.append(f"{source},scale=iw*{width / 206}:-2,setpts=N/30/TB+{begin}/30/TB[face{index}]")
        parts.append(f"[{last}][face{index}]overlay=x='if(between(t*30,{begin - 0.5},{end - 0.5}),{x},-2000)':y={y}:eof_action=pass[over{index}]")
        last = f"over{index}"
    return ";".join(parts) + f";[{last}]null"


EIGHT = ";".join(
    f"movie={MEDIA / WOLFGANG}:seek_point={7 + 0.4 * index},crop=320:360:270:0{',hflip' if index % 2 else ''},setpts=N/30/TB[f{index}]"
    for index in range(8)) + ";" + "".join(f"[f{index}]" for index in range(8)) + \
    "xstack=inputs=8:layout=0_0|w0_0|w0+w1_0|w0+w1+w2_0|0_h0|w0_h0|w0+w1_h0|w0+w1+w2_h0:shortest=1"
MOVING = {
    "enters at the left, leaves at the right": f"{EMPTY}[back];{WOMAN},setpts=N/30/TB[face];[back][face]overlay=x='-320+n*10':y=150",
    "two cross": f"{EMPTY}[back];{WOMAN},setpts=N/30/TB[one];{MAN},setpts=N/30/TB[two];"
                 "[back][one]overlay=x='40+n*10':y=100[both];[both][two]overlay=x='900-n*10':y=130:eof_action=repeat",
}

FILMS = [
    Film("a woman who cries, blinks, laughs", 640, 360, 24000 / 1001, WOLFGANG),
    Film("the same, 1280 × 720", 1280, 720, 24000 / 1001, WOLFGANG),
    Film("a man who smiles", 640, 360, 30, SINGLE),
    Film("five faces", 1000, 666, 30, "multi_face.jpg", filters="loop=loop=9:size=1", frames=10),
    Film("eight faces", 1280, 720, 30, graph=EIGHT, frames=150),
    *(Film(name, 1280, 720, 30, graph=graph, frames=160 if "enters" in name else 90) for name, graph in MOVING.items()),
    Film("at the edge", 1280, 720, 30, graph=shown(206, [(-110, 150, 15, 45), (1080, 300, 45, 75), (500, -90, 75, 105), (700, 480, 105, 135)])),
]
NEGATIVES = [Film("rooms", 960, 540, 30, "no_face.mp4"), Film("Big Buck Bunny", 1280, 720, 25, "bigbuckbunny.mp4")]


def measure(settings):
    """Quality and cost of face detection and tracking."""
    measure_quality(settings)
    measure_cost(settings)


def measure_quality(settings):
    film = FILMS[0]
    metadata = film.process(settings, "track-every")
    with open(TOP / "Tests/EffectsTests/Labels/WolfgangLanger_Pexels.csv") as lines:
        labels = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    errors = []
    for label in labels:
        face = metadata[int(label["frame"])]["faces"][0]
        (x, y, width, height), roll = face["box"], face["roll"]
        # The mask extends above the mesh.
        x, y = x + width / 2 + 0.05 * height * math.sin(roll), y + height / 2 - 0.05 * height * math.cos(roll)
        errors.append(math.hypot(x - float(label["x"]), y - float(label["y"])) / float(label["width"]))
    row(f"a mask's center in {len(errors)} frames of a moving head; labels made by hand, in face widths",
        f"mean {statistics.mean(errors):.1%}, worst {max(errors):.1%}", "", "", "8%", max(errors) <= 0.08)

    closed = {one["frame"] for one in metadata if one["faces"] and one["faces"][0]["areEyesClosed"]}
    right = sum(number in closed for number in range(34, 135))
    row("eyes reported as closed while they are, frames 34 to 134", f"{right} of 101", "", "", "all", right == 101)
    events = [(event["kind"], one["frame"]) for one in metadata for event in one["events"]]
    blinks = [frame for kind, frame in events if kind == "blink"]
    row("the blink of frame 288 is reported in frame", f"{[one for one in blinks if 284 < one < 296]}", "", "", "289 to 292",
        288 in closed and len([one for one in blinks if 289 <= one <= 292]) == 1)
    smiles = [frame for kind, frame in events if kind == "smile"]
    row("smiles of the woman, who cries before 140, and smiles from 249 and 293 on", f"reported in {smiles}", "", "", "5 frames",
        len(smiles) == 2 and 249 <= smiles[0] <= 254 and 293 <= smiles[1] <= 298)
    events = [one["frame"] for one in FILMS[2].process(settings, "track-every") for event in one["events"] if event["kind"] == "smile"]
    row("a smile that begins in frame 18", f"reported in {events}", "", "", "5 frames", len(events) == 1 and 18 <= events[0] <= 23)

    for width in (110, 160, 240, 400):
        side = int(320 * width / 206)
        places = [(100, 200), (1250 - side, 60), (640 - side // 2, 690 - int(360 * width / 206)), (20, 20)]
        times = [(x, max(0, y), 30 * index + 15, 30 * index + 30) for index, (x, y) in enumerate(places)]
        metadata = Film(f"{width}", 1280, 720, 30, graph=shown(width, times)).process(settings, "track", mode="paced")
        delays = []
        for x, y, begin, end in times:
            seen = [one["frame"] for one in metadata[begin:end] for face in one["faces"]
                    if x <= face["box"][0] + face["box"][2] / 2 <= x + side]
            delays.append((seen[0] - begin) / 30 if seen else math.inf)
        row(f"from the appearance of a face {width} pixels wide to its report, four times", f"worst {1e3 * max(delays):.0f} ms", "", "",
            "300 ms", max(delays) <= 0.3)

    for film in NEGATIVES:
        metadata = film.process(settings, "track-every")
        wrong = sum(bool(one["faces"]) for one in metadata)
        row(f"frames without a face in which one is reported: {film.name}", f"{wrong} of {len(metadata)}", "", "", "0", wrong == 0)
    metadata = FILMS[4].process(settings, "track-every")
    full = sum(len(one["faces"]) == 8 for one in metadata[5:])
    row("frames in which all of eight faces are reported", f"{full} of {len(metadata) - 5}", "", "", "all", full == len(metadata) - 5)


def measure_cost(settings):
    film = FILMS[1]
    mask = settings.tools / "mask.png"
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "color=orange:s=600x600,format=rgba,geq=r='X/3':g='Y/3':b=90:"
                    "a='255*lt(hypot(X-300,Y-300),290)'", "-frames:v", "1", mask], check=True)
    film.limit = ["-frames:v", "300"]
    for name, effect, limit in (("an image", f"face={mask}", 0.5), ("an oval", "oval", None), ("blur", "blur", 2), ("squares", "pixelate", None),
                                ("smoothing", "smooth", None), ("boxes", "boxes", None)):
        cost = film.cost(settings, f"track,{effect}")
        if name == "an image":
            row("processor time of all threads per frame of 1280 × 720: following one face", f"{cost['process'] - cost['means'][1]:.1f} ms",
                "", "", "6 ms", cost["process"] - cost["means"][1] <= 6)
        row(f"a mask over a face {cost['width']:.0f} pixels wide: {name}", f"{cost['effects'][1]:.2f} ms, mean {cost['means'][1]:.2f}", "", "",
            f"{limit} ms" if limit else "", limit is None or cost["effects"][1] <= limit)
        if name in ("an image", "blur"):
            share = cost["allocations"] / (cost["frames"] / 2)
            row(f"allocations per frame: {name}", f"{share:.2f} times", "", "", "0", share < 0.2)
    cost = film.cost(settings, "track-every,privacy")
    row("privacy: following, detecting and hiding in each frame", f"{sum(cost['means']):.1f} ms", "", "", "33 ms", sum(cost["means"]) < 33)
    film.limit = []
    cost = FILMS[4].cost(settings, "track,oval")
    row(f"following {cost['faces']} faces and hiding them", f"{cost['process']:.1f} ms, {cost['late']} of {cost['frames']} frames took more than 33 ms", "", "",
        "none", cost["faces"] == 8 and cost["late"] == 0)


class Detectors:
    """Independent face detectors: MediaPipe's models in LiteRT, and OpenCV's cascade."""

    def __init__(self, settings):
        sys.path[:0] = [str(settings.tools / "litert"), str(settings.tools / "opencv")]
        import cv2
        import numpy
        from ai_edge_litert.interpreter import Interpreter
        self.cv2, self.numpy = cv2, numpy
        self.model = Interpreter(model_path=str(MODELS / "face_detection_full_range.tflite"), num_threads=1)
        self.model.allocate_tensors()
        self.inputs, self.outputs = self.model.get_input_details(), self.model.get_output_details()
        self.cascade = cv2.CascadeClassifier(cv2.data.haarcascades + "haarcascade_frontalface_alt2.xml")

    def boxes(self, frame, with_cascade):
        """x, y, width and height of each detected face."""
        numpy, found = self.numpy, []
        height, width = frame.shape[:2]
        side = min(width, height)
        for left in sorted({0, (width - side) // 2, width - side}):
            tile = self.cv2.resize(frame[:, left:left + side], (192, 192), interpolation=self.cv2.INTER_AREA)
            values = tile[:, :, ::-1].astype(numpy.float32) * (2 / 255) - 1
            self.model.set_tensor(self.inputs[0]["index"], values[None])
            self.model.invoke()
            outputs = sorted((self.model.get_tensor(port["index"])[0] for port in self.outputs), key=lambda one: -one.shape[-1])
            for place in numpy.nonzero(outputs[1].ravel() > 0.41)[0]:
                x, y, w, h = outputs[0][place][:4] / 192
                x, y = x + (place % 48 + 0.5) / 48, y + (place // 48 + 0.5) / 48
                found.append((left + side * (x - w / 2), side * (y - h / 2), side * w, side * h))
        if with_cascade:
            gray = self.cv2.cvtColor(frame, self.cv2.COLOR_BGR2GRAY)
            found += [tuple(box) for box in self.cascade.detectMultiScale(gray, 1.1, 3, minSize=(60, 60))]
        return found


def overlap(one, other):
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0])
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1])
    shared = max(0, width) * max(0, height)
    return shared / (one[2] * one[3] + other[2] * other[3] - shared)


def measure_privacy(settings):
    """Faces that privacy mode shows: in films, then in 20,000 frames of composed scenes that the program has recorded."""
    if not settings.scenes_only:
        measure_films(settings)
    measure_scenes(settings)


def measure_scenes(settings):
    """Verdict of `privacy.py` on scenes that the program has recorded."""
    # At 15 frames per second the search has the time that it needs on two cores.
    options = ["--program", settings.program, "--media", MEDIA, "--json", "--rate", "15", "--every", "30", "--frames", settings.frames,
               *(["--unprotected"] if settings.unprotected else []), *(word for name in settings.scene for word in ("--scene", name))]
    scenes = []
    # Debian's Python has OpenCV.
    with running("/usr/bin/python3", TOP / "Benchmarks/privacy.py", *options, stdout=subprocess.PIPE) as judge:
        for scene in map(json.loads, judge.stdout):
            scenes.append(scene)
            print(f"  ({scene['scene']}: {scene['frames']} frames, {scene['faces']} faces, {len(scene['leaks'])} shown, "
                  f"{len(scene['added'])} more found, {scene['covered']:.1%} covered)", flush=True)
        status = judge.wait()
    frames, faces = (sum(scene[key] for scene in scenes) for key in ("frames", "faces"))
    leaks, added = (sum(len(scene[key]) for scene in scenes) for key in ("leaks", "added"))
    # The judge's status agrees with what it has printed, unless it ended before it had judged all scenes.
    is_complete = bool(scenes) and (status == 0) == all(map(verdict.holds, scenes))
    row(f"faces that are shown in {frames} recorded frames, scenes: {len(scenes)}", f"{leaks} of {faces}, {added} more found", "", "",
        "0, with enough frames", is_complete and all(map(verdict.is_hidden, scenes)))
    for scene in scenes:
        if name := verdict.NAMES.get(scene["scene"]):
            row(f"covered part of {name}, mean of {scene['frames']} frames", f"{scene['covered']:.1%}", "", "",
                f"{verdict.LIMIT:.0%}", verdict.is_visible(scene))


def measure_looks(settings):
    """Leaks and covers of privacy mode with its second look, and of covering each candidate from a score on."""
    # Debian's Python has OpenCV.
    command = ["/usr/bin/python3", TOP / "Benchmarks/looks.py", "--meter", settings.tools / "PrivacyMeter", "--media", MEDIA, "--json"]
    arms = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    look, *others = arms.values()
    fewest = min(len(arm["shown"]) for arm in others)
    for name, arm in arms.items():
        parts = ", ".join(f"{part:.1%} of the {scene}" for scene, part in arm["covered"].items())
        # First frames of the animation keep what its films do not: nothing of earlier frames is covered in them.
        faceless = (look["covered"][scene] for scene in ("garage", "animation"))
        holds = arm is not look or len(look["shown"]) <= fewest and all(part <= verdict.LIMIT for part in faceless)
        row(f"privacy in first frames, {name}: faces that are shown; covered", f"{len(arm['shown'])} of {arm['faces']}; {parts}", "", "",
            "no more shown than otherwise, 10% of the garage and of the animation" if arm is look else "", holds)


def measure_films(settings):
    """Faces that independent detectors find in encoded films."""
    detectors = Detectors(settings)
    encoded = str(settings.tools / "private.mp4")
    for film in FILMS:
        film.process(settings, "track-every,privacy", encoded=encoded)
        frames, visible, seen = 0, [], 0
        for before, after in zip(film.frames(detectors.numpy), film.frames(detectors.numpy, encoded), strict=True):
            # The cascade is slow: every fifth frame.
            originals = detectors.boxes(before, frames % 5 == 0)
            left = detectors.boxes(after, frames % 5 == 0)
            # A detection counts only where the original has a face too.
            if any(overlap(one, other) > 0.3 for one in left for other in originals):
                visible.append(frames)
            seen += bool(originals)
            frames += 1
        row(f"encoded frames with a visible face, of {seen} with one: {film.name}", f"{len(visible)} of {frames}", "", "", "0", not visible)
        if visible:
            print(f"  (in frames {visible[:20]})")


def pattern(count):
    """Input values of the models, the same as those of `InferenceBenchmark`."""
    return [(((index * 2_654_435_761) & 0xFFFFFFFF) >> 16 & 0xFF) / 255 for index in range(count)]


def litert(settings, model):
    """A function that runs a model once with LiteRT on one thread, and the outputs."""
    sys.path.insert(0, str(settings.tools / "litert"))
    import numpy
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=str(model), num_threads=1)
    interpreter.allocate_tensors()
    for port in interpreter.get_input_details():
        values = numpy.array(pattern(int(port["shape"].prod())), numpy.float32)
        interpreter.set_tensor(port["index"], values.reshape(port["shape"]))
    interpreter.invoke()
    outputs = [interpreter.get_tensor(port["index"]).ravel() for port in interpreter.get_output_details()]
    return interpreter.invoke, numpy.concatenate(outputs)


def measure_inference(settings):
    """Each face model on one thread, alternating with LiteRT: the minimum time, since other load can only add time,
    and the median."""
    with running(settings.tools / "InferenceBenchmark", stdout=subprocess.PIPE, stdin=subprocess.PIPE) as process:
        def ask(runs, model):
            process.stdin.write(f"- {runs} {model}\n")
            process.stdin.flush()
            return [float(number) for number in process.stdout.readline().split()]

        for model in sorted(MODELS.glob("*.tflite")):
            peer, outputs = litert(settings, model)
            ours, theirs = [], []
            for _ in range(20):
                ours += ask(20, model)
                for _ in range(20):
                    begin = time.perf_counter()
                    peer()
                    theirs.append(time.perf_counter() - begin)

            def text(times):
                return f"{1e3 * min(times):.2f} ms, median {1e3 * statistics.median(times):.2f}"

            error = max(abs(one - other) for one, other in zip(ask(0, model), outputs))
            ratio = min(ours) / min(theirs)
            row(f"{model.stem}; LiteRT", text(ours), text(theirs), f"{ratio:.2f}", "1.30",
                ratio <= 1.3 and error <= 1e-4 * float(outputs.max() - outputs.min()))
