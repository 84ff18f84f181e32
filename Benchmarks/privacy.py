#!/usr/bin/env python3
"""Searches for faces that privacy mode leaves to be seen: the measurement "privacy" of `run`.

Scenes of real faces at known places are composed, recorded by `vidicon record --faces privacy`, and each labeled face of the
recorded file is looked at: it must be covered. The labels are the judge. Two detectors of other families than the models in
use, OpenCV's cascades and dlib's, search the frames turned upright and enlarged; they can only add faces, those that they do not
see in the same frame without the composed ones.

    Benchmarks/privacy.py --program VIDICON --media FOLDER [--frames NUMBER] [--scene NAME]...

An end-to-end test runs it with few frames, and with `--unprotected`, where it must find the faces.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import cv2
import numpy

import verdict

# Luma of the cover, and its tolerance after encoding: faces in the dark are not much brighter or darker.
COVER, TOLERANCE = 40, 6
# Recordings of a scene, until it has its frames.
MAXIMUM_RECORDINGS = 20
# Faces of the photo of five: center and side of the box from the eyebrows to the chin.
FIVE = [(736, 363, 112), (580, 377, 107), (477, 265, 86), (367, 305, 117), (266, 124, 101)]
# The bits of a frame's number, as squares of this size at the lower edge.
BIT = 16


class Head:
    """A head cut out of a photo, with the place of its box."""

    def __init__(self, photo, x, y, side):
        reach = int(1.05 * side)
        padded = cv2.copyMakeBorder(photo, reach, reach, reach, reach, cv2.BORDER_REPLICATE)
        x, y = int(x) + reach, int(y) + reach
        self.image, self.side = padded[y - reach:y + reach, x - reach:x + reach], side
        across = numpy.linspace(-1, 1, 2 * reach)
        radius = numpy.sqrt(across[None] ** 2 + across[:, None] ** 2)
        self.alpha = numpy.clip((1 - radius) * 8, 0, 1).astype(numpy.float32)

    def turned(self, side, turn=0, angle=0.0):
        """The head with a box of another size, turned clockwise by quarters and by an angle in degrees."""
        factor = side / self.side
        method = cv2.INTER_AREA if factor < 1 else cv2.INTER_CUBIC
        image = cv2.resize(self.image, None, fx=factor, fy=factor, interpolation=method)
        alpha = cv2.resize(self.alpha, (image.shape[1], image.shape[0]))
        if angle:
            middle = (image.shape[1] / 2, image.shape[0] / 2)
            matrix = cv2.getRotationMatrix2D(middle, -angle, 1)
            image = cv2.warpAffine(image, matrix, (image.shape[1], image.shape[0]), borderMode=cv2.BORDER_REPLICATE)
            alpha = cv2.warpAffine(alpha, matrix, (image.shape[1], image.shape[0]))
        return numpy.rot90(image, -turn), numpy.rot90(alpha, -turn)


class Scenes:
    def __init__(self, media):
        photo = cv2.imread(str(media / "multi_face.jpg"))
        self.heads = [Head(photo, *face) for face in FIVE]
        single = self.frames(media / "single_face.mp4")
        self.heads.append(Head(single[0], 294, 204, 188))
        profile = cv2.imread(str(media / "camera.png"))
        self.profiles = [Head(profile, 226, 164, 64), Head(numpy.ascontiguousarray(profile[:, ::-1]), 511 - 226, 164, 64)]
        self.film = self.frames(media / "WolfgangLanger_Pexels.mp4")
        self.animation = self.frames(media / "no_face.mp4")
        self.garage = cv2.imread(str(media / "motorcycle_left.png"))
        self.noise = numpy.random.default_rng(1).normal(0, 2, (1440, 2560, 1)).astype(numpy.float32)
        self.rooms = {}
        self.leaves_faces_out = False

    @staticmethod
    def frames(path):
        film, frames = cv2.VideoCapture(str(path)), []
        while True:
            good, frame = film.read()
            if not good:
                return frames
            frames.append(frame)

    def room(self, width=1280, height=720):
        """A garage without people."""
        if (width, height) not in self.rooms:
            across = self.garage.shape[1]
            part = self.garage[:across * 9 // 16]
            self.rooms[width, height] = cv2.resize(part, (width, height), interpolation=cv2.INTER_CUBIC)
        return self.rooms[width, height].copy()

    def noisy(self, frame, index, scale=1.0):
        """A frame with the noise of a camera."""
        height, width = frame.shape[:2]
        left, top = index * 131 % (2560 - width), index * 71 % (1440 - height)
        noise = self.noise[top:top + height, left:left + width] * scale
        return numpy.clip(frame + noise, 0, 255).astype(numpy.uint8)

    def put(self, frame, head, x, y, side, turn=0, angle=0.0):
        """Puts a head into a frame, unless faces are left out; returns its label."""
        if self.leaves_faces_out:
            return (x, y, side)
        image, alpha = head.turned(side, turn, angle)
        height, width = image.shape[:2]
        left, top = int(x - width / 2), int(y - height / 2)
        low, high = max(0, left), min(frame.shape[1], left + width)
        upper, lower = max(0, top), min(frame.shape[0], top + height)
        if low < high and upper < lower:
            part = image[upper - top:lower - top, low - left:high - left].astype(numpy.float32)
            weight = alpha[upper - top:lower - top, low - left:high - left, None]
            target = frame[upper:lower, low:high]
            frame[upper:lower, low:high] = (part * weight + target * (1 - weight)).astype(numpy.uint8)
        return (x, y, side)

    def without_faces(self, name, index):
        """A frame of a scene as it is without its faces; None where a film shows them."""
        if name in FILMED:
            return None
        self.leaves_faces_out = True
        frame, _ = getattr(self, name)(index)
        self.leaves_faces_out = False
        return frame

    # Each scene returns a frame and its labels: center and side of each face's box.

    def one(self, index):
        frame = self.room()
        # A head that moves as a speaker's does.
        x, y = 640 + 40 * numpy.sin(index / 12), 330 + 12 * numpy.sin(index / 7)
        return frame, [self.put(frame, self.heads[5], x, y, 190, angle=8 * numpy.sin(index / 15))]

    def five(self, index):
        frame = self.room()
        return frame, [self.put(frame, head, 180 + 230 * number + 15 * numpy.sin(index / 9 + number), 340 + 60 * (number % 2), 60 + 20 * number)
                       for number, head in enumerate(self.heads[:5])]

    def grid(self, index, columns, rows, smallest, largest, width=1280, height=720, turn=0, moves=3):
        frame, labels, count = self.room(width, height), [], columns * rows
        for number in range(count):
            x = (number % columns + 0.5) * width / columns + moves * numpy.sin(index / 10 + number)
            y = (number // columns + 0.5) * height / rows + moves * numpy.cos(index / 11 + number)
            side = smallest + (largest - smallest) * (number * 7 % count) / count
            labels.append(self.put(frame, self.heads[number % 5], x, y, side, turn))
        return frame, labels

    def crowd(self, index):
        return self.grid(index, 10, 6, 60, 80, 1920, 1080)

    def crowd_of_small_faces(self, index):
        return self.grid(index, 10, 6, 40, 70, 1920, 1080)

    def smallest(self, index):
        return self.grid(index, 6, 3, 40, 44, turn=index // 40 % 4)

    def upside_down(self, index):
        return self.grid(index, 3, 2, 50, 150, turn=2)

    def sideways(self, index):
        return self.grid(index, 3, 2, 50, 150, turn=1 if index // 60 % 2 else 3)

    def lying(self, index):
        frame = self.room()
        return frame, [self.put(frame, self.heads[5], 640 + 10 * numpy.sin(index / 20), 420, 230, turn=1, angle=10 * numpy.sin(index / 30))]

    def half_out_of_frame(self, index):
        frame = self.room()
        labels = [self.put(frame, self.heads[0], 1275, 200 + index % 100, 140), self.put(frame, self.heads[3], 4, 500 - index % 60, 120)]
        labels.append(self.put(frame, self.heads[2], 640, 716, 160))
        labels.append(self.put(frame, self.heads[1], 300 + index % 50, 4, 130))
        # Turned and small ones too.
        labels.append(self.put(frame, self.heads[4], 1276, 560, 60, turn=index // 50 % 4))
        labels.append(self.put(frame, self.heads[5], 3, 180 + index % 40, 48))
        return frame, labels

    def profile(self, index):
        frame = self.room()
        labels = [self.put(frame, self.profiles[number], 250 + 380 * number + 20 * numpy.sin(index / 14), 250 + 60 * number, side)
                  for number, side in enumerate([110, 70])]
        labels.append(self.put(frame, self.profiles[index // 100 % 2], 1010, 330 + 30 * numpy.sin(index / 10), 200))
        return frame, labels

    def profile_from_the_start(self, index):
        # Recordings begin with profiles of which the models see little.
        return self.profile(27 + 26 * (index // 12 % 2) + index % 12)

    def behind_a_hand(self, index):
        # The film shows a hand in front of the face, whose middle stays at its place.
        frame = cv2.resize(self.film[(80 + index) % 260], (1280, 720), interpolation=cv2.INTER_CUBIC)
        return frame, [(860, 360, 140)]

    def entering_fast(self, index):
        frame, labels = self.room(), []
        step = index % 40
        if step < 30:
            x = -120 + step * 52
            labels.append(self.put(frame, self.heads[index // 40 % 5], x, 360 + 40 * numpy.sin(index), 130, turn=index // 40 % 4))
        return frame, labels

    def photo_on_a_phone(self, index):
        frame = self.room()
        x, y = 640 + 120 * numpy.sin(index / 14), 400 + 40 * numpy.cos(index / 9)
        phone = numpy.full((300, 150, 3), 235, numpy.uint8)
        label = self.put(phone, self.heads[index // 90 % 5], 75, 130, 70)
        phone = cv2.copyMakeBorder(phone, 12, 12, 8, 8, cv2.BORDER_CONSTANT, value=(20, 20, 20))
        left, top = int(x), int(y) - 160
        frame[top:top + phone.shape[0], left:left + phone.shape[1]] = phone
        return frame, [(left + 8 + label[0], top + 12 + label[1], label[2])]

    def dark(self, index):
        frame = self.room()
        side = 520 if index // 60 % 2 else 120
        labels = [self.put(frame, self.heads[index // 120 % 5], 640 + 20 * numpy.sin(index / 10), 360, side)]
        return self.noisy(frame * 0.12, index, 0.75), labels

    def motion_blurred(self, index):
        frame = self.room()
        x = 300 + 680 * (0.5 + 0.5 * numpy.sin(index / 12))
        labels = [self.put(frame, self.heads[index // 75 % 5], x, 360, 120)]
        length = 1 + int(18 * abs(numpy.cos(index / 12)))
        return cv2.blur(frame, (length, 1)), labels

    def zoom_and_exposure(self, index):
        # As after a client's requests to the camera: each frame may be closer, darker or brighter than the one before.
        frame, ((x, y, side),) = self.one(index)
        factor, gain = (1, 1.5, 2.2)[index // 10 % 3], (1, 0.3, 1.5)[index // 15 % 3]
        matrix = numpy.float32([[factor, 0, 640 * (1 - factor)], [0, factor, 360 * (1 - factor)]])
        frame = cv2.warpAffine(frame, matrix, (1280, 720), flags=cv2.INTER_CUBIC)
        frame = numpy.clip(frame * gain, 0, 255).astype(numpy.uint8)
        return frame, [(640 + factor * (x - 640), 360 + factor * (y - 360), factor * side)]

    def printed_crowd(self, index):
        # A poster on a wall: nothing moves.
        return self.grid(0, 8, 4, 42, 60, moves=0)

    def large_frame(self, index):
        return self.grid(index, 4, 3, 120, 400, 4096, 2160, moves=8)

    def empty_room(self, index):
        # The camera's noise, light that changes, and a camera that is turned.
        large = self.room(1440, 810)
        left = int(80 + 70 * numpy.sin(max(0, index - 300) / 40))
        light = 1 + 0.05 * numpy.sin(index / 35)
        return self.noisy(large[40:760, left:left + 1280] * light, index), []

    def empty_animation(self, index):
        # There and back again.
        count = len(self.animation)
        place = index % (2 * count - 2)
        return cv2.resize(self.animation[place if place < count else 2 * count - 2 - place], (1280, 720)), []


SCENES = ["one", "five", "crowd", "crowd_of_small_faces", "smallest", "upside_down", "sideways", "lying", "profile", "profile_from_the_start", "half_out_of_frame", "behind_a_hand",
          "entering_fast", "photo_on_a_phone", "dark", "motion_blurred", "zoom_and_exposure", "printed_crowd",
          "large_frame", "empty_room", "empty_animation"]
# Scenes whose faces are not composed into a frame.
FILMED = ["behind_a_hand"]


def write(scenes, name, first, count, path, rate):
    """Writes a part of a scene as a film whose frames carry their numbers; returns the labels of each frame."""
    labels, encoder = {}, None
    for index in range(first, first + count):
        frame, found = getattr(scenes, name)(index)
        labels[index] = found
        frame = numpy.ascontiguousarray(frame)
        for bit in range(16):
            value = 230 if index >> bit & 1 else 20
            frame[-BIT:, bit * BIT:(bit + 1) * BIT] = value
        if encoder is None:
            height, width = frame.shape[:2]
            encoder = subprocess.Popen(
                ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "bgr24", "-s", f"{width}x{height}", "-r", str(rate), "-i", "-",
                 "-c:v", "libx264", "-preset", "ultrafast", "-crf", "10", "-g", "30", "-pix_fmt", "yuv420p", str(path)], stdin=subprocess.PIPE)
        encoder.stdin.write(frame.tobytes())
    encoder.stdin.close()
    if encoder.wait():
        sys.exit(f"{name}: ffmpeg cannot write the film")
    return labels


def read(path):
    """The frames of a file: colors."""
    film = cv2.VideoCapture(str(path))
    while True:
        good, frame = film.read()
        if not good:
            return
        yield frame


def luma(frame):
    """Luma as encoded: 16 to 235."""
    return cv2.cvtColor(frame, cv2.COLOR_BGR2YUV)[:, :, 0].astype(numpy.int32) * 219 // 255 + 16


def number(plane):
    """The number in a frame; nil where it is covered."""
    value = 0
    for bit in range(16):
        cell = plane[-BIT + 4:-4, bit * BIT + 4:(bit + 1) * BIT - 4].mean()
        if 55 < cell < 150 or COVER - 3 < cell < COVER + 6:
            return None
        value |= int(cell > 100) << bit
    return value


class Detectors:
    """Detectors of other families, which may only add faces."""

    NAMES = ("opencv", "dlib")

    def __init__(self):
        import dlib
        self.dlib = dlib.get_frontal_face_detector()
        folder = next((path for path in (pathlib.Path("/usr/share/opencv4/haarcascades"), pathlib.Path(getattr(cv2, "data", cv2).haarcascades) if hasattr(cv2, "data") else None) if path and path.is_dir()), None)
        if folder is None:
            raise ImportError("opencv-data")
        self.cascade = cv2.CascadeClassifier(str(folder / "haarcascade_frontalface_alt2.xml"))

    def faces(self, frame, doubtful=False):
        """Boxes of faces in a frame and in the three turned ones: center and side, in pixels of the frame, and the detector.

        With doubtful ones too, there are more: what lossy coding may make a face of."""
        scale = min(2.0, 1280 / frame.shape[1])
        found = []
        for turn in range(4):
            turned = numpy.ascontiguousarray(numpy.rot90(frame, turn))
            gray = cv2.resize(cv2.cvtColor(turned, cv2.COLOR_BGR2GRAY), None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
            boxes = [("opencv", *box) for box in self.cascade.detectMultiScale(gray, 1.1, 2 if doubtful else 6, minSize=(36, 36))]
            boxes += [("dlib", r.left(), r.top(), r.width(), r.height()) for r in self.dlib.run(gray, 0, -0.5 if doubtful else 0)[0]]
            for detector, x, y, width, height in boxes:
                center = ((x + width / 2) / scale, (y + height / 2) / scale)
                found.append((self.back(center, turn, frame.shape), width / scale, detector))
        return found

    @staticmethod
    def back(center, turn, shape):
        (x, y), (height, width) = center, shape[:2]
        # numpy turns counterclockwise: (x, y) goes to (y, width - x).
        return {0: (x, y), 1: (width - y, x), 2: (width - x, height - y), 3: (y, height - x)}[turn]


def covered_part(plane):
    """The part of a frame that is covered. Blocks of 8 × 8 pixels that are the cover's luma as a whole: single dark pixels of what
    a camera sees have it as well."""
    height, width = (size // 8 for size in plane.shape)
    blocks = plane[:height * 8, :width * 8].reshape(height, 8, width, 8)
    return float(((blocks >= COVER - 3) & (blocks <= COVER + 3)).all((1, 3)).mean())


def is_covered(plane, x, y, side):
    """Whether the inner part of a face's box is covered: eyes, nose and mouth."""
    half = side * 0.42
    left, right = max(0, int(x - half)), min(plane.shape[1], int(x + half))
    top, bottom = max(0, int(y - half)), min(plane.shape[0], int(y + half))
    if right - left < 6 or bottom - top < 6:
        return True
    part = abs(plane[top:bottom, left:right] - COVER) <= TOLERANCE
    return part.mean() > 0.9


class Judge:
    """Judge of the recorded frames of a scene: which of its labeled faces they show."""

    def __init__(self, name, scenes, detectors, every, keep):
        self.name, self.scenes, self.detectors, self.every, self.keep = name, scenes, detectors, every, keep
        self.frames = self.faces = 0
        # Index of the frame, center and side of each face that is shown: labeled ones, and those that detectors add.
        self.leaks, self.added = [], []
        # Number of frames that the detectors have searched, and of faces that each of them adds.
        self.searched, self.added_by = 0, dict.fromkeys(Detectors.NAMES, 0)
        self.covered = []

    def judge(self, recorded, labels):
        """Looks at each label in each frame of a file; returns the number of frames."""
        first, count, last, frames = min(labels), len(labels), min(labels) - 1, 0
        for frame in read(recorded):
            plane = luma(frame)
            frames += 1
            self.covered.append(covered_part(plane))
            index = number(plane)
            if index not in labels:
                # The number is covered: the frame is at most the next one.
                index = min(first + count - 1, last + 1)
            last = index
            self.look(frame, plane, index, labels[index])
        return frames

    def look(self, frame, plane, index, labels):
        self.frames += 1
        before = len(self.leaks)
        for x, y, side in labels:
            if not (-0.1 * side < x < plane.shape[1] + 0.1 * side and -0.1 * side < y < plane.shape[0] + 0.1 * side):
                continue
            self.faces += 1
            if not is_covered(plane, x, y, side):
                self.leaks.append((index, round(float(x)), round(float(y)), round(float(side))))
        if self.keep and len(self.leaks) > before and len({leak[0] for leak in self.leaks}) <= 4:
            cv2.imwrite(str(self.keep / f"{self.name}-{index}.png"), frame)
        if not self.every or self.frames % self.every:
            return
        self.searched += 1
        found = [face for face in self.detectors.faces(frame) if not is_covered(plane, *face[0], face[1] * 0.7)]
        if not found:
            return
        # The detectors see faces in other things as well, which are there without the faces and with the same covers too.
        others = []
        faceless = self.scenes.without_faces(self.name, index)
        if faceless is not None:
            covers = cv2.erode((abs(plane - COVER) <= TOLERANCE).astype(numpy.uint8), numpy.ones((5, 5), numpy.uint8))
            covers = cv2.dilate(covers, numpy.ones((5, 5), numpy.uint8))
            others = self.detectors.faces(numpy.where(covers[..., None] > 0, frame, faceless), doubtful=True)
        for (x, y), side, detector in found:
            if not any(abs(x - u) + abs(y - v) < 0.5 * max(side, other) for (u, v), other, _ in others):
                self.added_by[detector] += 1
                self.added.append((index, round(float(x)), round(float(y)), round(float(side))))

    def result(self, requested):
        """The counts and leaks of the scene's recordings, which `verdict` judges, of a number of requested frames."""
        return {"scene": self.name, "requested": requested, "frames": self.frames, "faces": self.faces,
                "leaks": self.leaks, "added": self.added,
                "searched": self.searched, "added_by": self.added_by, "covered": sum(self.covered) / max(1, len(self.covered))}


def measure(options, scenes, name, count, folder, detectors):
    """Records a scene until `count` frames are recorded, and judges them. A busy machine drops frames: then more are recorded, of the
    same scene from there on, as long as there are any."""
    judge = Judge(name, scenes, detectors, options.every, options.keep)
    first = 0
    for _ in range(MAXIMUM_RECORDINGS):
        source, recorded = folder / "scene.mp4", folder / "recorded.mp4"
        recorded.unlink(missing_ok=True)
        labels = write(scenes, name, first, max(8, count - judge.frames), source, options.rate)
        run = subprocess.run(
            [options.program, "record", str(recorded), "--source", f"file:{source}", "--audio", "none", "--faces",
             "off" if options.unprotected else "privacy", "--bitrate", "8M", "--duration", f"{len(labels) / options.rate + 1}s"],
            capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{name}: vidicon failed: {run.stderr}")
        recorded_frames = judge.judge(recorded, labels)
        first += len(labels)
        if judge.frames >= count or recorded_frames == 0:
            break
    return judge.result(count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--media", required=True, type=pathlib.Path)
    parser.add_argument("--frames", type=int, default=20_000, help="number of recorded frames of all scenes together")
    parser.add_argument("--scene", action="append")
    parser.add_argument("--faces-only", action="store_true", help="omit the scenes without faces")
    parser.add_argument("--unprotected", action="store_true", help="record without privacy: this must fail")
    parser.add_argument("--rate", type=int, default=30, help="frames per second of the scenes; fewer on a slow or busy machine")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the frames with leaks")
    parser.add_argument("--every", type=int, default=15, help="search each of so many frames with the other detectors")
    parser.add_argument("--json", action="store_true", help="print a line of JSON about each scene")
    options = parser.parse_args()
    # Absent detectors are an error: a leak that they would find is not to be missed.
    sys.path.append(str(options.media / "detectors"))
    detectors = Detectors()
    scenes = Scenes(options.media)
    names = options.scene or [name for name in SCENES if not options.faces_only or not name.startswith("empty")]
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            count = -(-options.frames // len(names))
            result = measure(options, scenes, name, count, pathlib.Path(folder), detectors)
            failed = failed or not verdict.holds(result)
            leaks = sorted({leak[0] for leak in result["leaks"] + result["added"]})
            print(json.dumps(result) if options.json else
                  f"{name}: {result['frames']} of {count} frames, {result['faces']} faces, {len(result['leaks'])} visible, "
                  f"{len(result['added'])} more found (" + ", ".join(f"{name} {n}" for name, n in result["added_by"].items())
                  + f"; {result['searched']} frames searched), in {len(leaks)} frames; {100 * result['covered']:.1f}% covered"
                  + (f" of at most {100 * verdict.LIMIT:.0f}%" if name in verdict.NAMES else "")
                  + (f"; first: {json.dumps((result['leaks'] + result['added'])[:4])}" if leaks else ""), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
