#!/usr/bin/env python3
"""Compares the second look of privacy mode with covering each candidate from a score on: leaks against covers.

Each frame is the first one of a stream, which has nothing but itself to go by. The frames of `privacy.py` are searched by `PrivacyMeter`,
and each labeled face must be covered in what viewers would see.

    Benchmarks/looks.py --meter PRIVACYMETER --media FOLDER [--starts NUMBER] [--json]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import cv2
import numpy

import privacy

# Scores from which candidates are covered without a second look; nil with it.
ARMS = {"second look from 0.2 on": None, "covered from 0.2 on": 0.2, "covered from 0.3 on": 0.3, "covered from 0.6 on": 0.6}
# Scenes without faces, and the photo whose faces are the rest of it.
COVERED = {"empty_room": "garage", "empty_animation": "animation", "photo_of_five": "photo of five"}


class Frames:
    """Frames of a size with the labels of their faces."""

    def __init__(self):
        self.images, self.labels, self.scenes = [], [], []

    def add(self, scene, frame, labels):
        planes = cv2.cvtColor(numpy.ascontiguousarray(frame), cv2.COLOR_BGR2YUV_I420)
        self.images.append(planes.tobytes())
        self.labels.append(labels)
        self.scenes.append(scene)


def compose(media, starts):
    """The frames by their size."""
    scenes, sizes = privacy.Scenes(media), {}
    for name in privacy.SCENES:
        for start in range(starts):
            frame, labels = getattr(scenes, name)(37 * start)
            sizes.setdefault(frame.shape[1::-1], Frames()).add(name, frame, labels)
    photo = cv2.imread(str(media / "multi_face.jpg"))
    height, width = (size // 2 * 2 for size in photo.shape[:2])
    sizes.setdefault((width, height), Frames()).add("photo_of_five", photo[:height, :width], privacy.FIVE)
    return sizes


def search(meter, size, frames, score, path):
    """Luma of the frames that viewers would see, and the number of runs of models."""
    width, height = size
    arguments = [meter, str(width), str(height), "0", str(path)] + ([] if score is None else [str(score)])
    run = subprocess.run(arguments, input=b"".join(frames.images), capture_output=True)
    if run.returncode:
        sys.exit(f"PrivacyMeter failed: {run.stderr.decode()}")
    shown = numpy.fromfile(path, numpy.uint8).reshape(-1, height, width).astype(numpy.int32)
    if len(shown) != len(frames.images):
        sys.exit(f"{len(shown)} of {len(frames.images)} frames were shown")
    cost = json.loads(run.stdout)
    return shown, cost["searches"] + cost["looks"]


def is_within(label, size):
    """Whether the center of a face is within the frame, as the judge of `privacy.py` asks."""
    x, y, side = label
    return -0.1 * side < x < size[0] + 0.1 * side and -0.1 * side < y < size[1] + 0.1 * side


def measure(meter, media, starts):
    """A result for each arm: faces, those shown, mean covered parts of scenes, and runs of models for a frame."""
    sizes, results = compose(media, starts), {}
    with tempfile.TemporaryDirectory() as folder:
        for arm, score in ARMS.items():
            faces, shown_faces, runs, covered = 0, [], 0, {}
            for size, frames in sizes.items():
                shown, count = search(meter, size, frames, score, pathlib.Path(folder) / "shown")
                runs += count
                for plane, labels, scene in zip(shown, frames.labels, frames.scenes):
                    covered.setdefault(scene, []).append(privacy.covered_part(plane))
                    for label in labels:
                        if not is_within(label, size):
                            continue
                        faces += 1
                        if not privacy.is_covered(plane, *label):
                            shown_faces.append((scene, *(round(float(value)) for value in label)))
            frame_count = sum(len(frames.images) for frames in sizes.values())
            results[arm] = {
                "faces": faces, "shown": shown_faces, "runs": runs / frame_count,
                "covered": {name: float(numpy.mean(covered[scene])) for scene, name in COVERED.items()}}
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--meter", required=True)
    parser.add_argument("--media", required=True, type=pathlib.Path)
    parser.add_argument("--starts", type=int, default=16, help="number of frames of each scene")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = measure(options.meter, options.media, options.starts)
    if options.json:
        return print(json.dumps(results))
    print("| | faces shown | garage covered | animation covered | photo of five covered | runs for a frame |\n|---|---|---|---|---|---|")
    for arm, result in results.items():
        parts = " | ".join(f"{100 * part:.1f}%" for part in result["covered"].values())
        print(f"| {arm} | {len(result['shown'])} of {result['faces']} | {parts} | {result['runs']:.0f} |")
    for arm, result in results.items():
        print(f"{arm}: {result['shown'][:20]}", file=sys.stderr)


if __name__ == "__main__":
    main()
