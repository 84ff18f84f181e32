#!/usr/bin/env python3
"""Generates the golden outputs of the models with LiteRT, the oracle of these tests:

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install ai-edge-litert==2.3.0 numpy
    /tmp/oracle/bin/python Tests/InferenceTests/Goldens/make.py

Each file holds 32-bit floats, little-endian, of every seventh element of each output, concatenated; the inputs are
those of `Pattern` in GoldenTests.swift.
"""
import os
import pathlib

import numpy
from ai_edge_litert.interpreter import Interpreter

MODELS = pathlib.Path(
    os.environ.get("VIDICON_MODELS")
    or pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "vidicon/models")


def noise(shape):
    values, state = numpy.empty(int(numpy.prod(shape)), numpy.float32), 1
    for index in range(values.size):
        state = (state * 1_664_525 + 1_013_904_223) & 0xFFFFFFFF
        values[index] = state >> 24
    return values / 255


def waves(shape):
    _, height, width, channels = shape
    y, x, c = numpy.meshgrid(range(height), range(width), range(channels), indexing="ij")
    return numpy.abs(((5 * y + 3 * x + 40 * c) & 511) - 256).astype(numpy.float32).ravel() / 256


for model in sorted(MODELS.glob("*.tflite")):
    interpreter = Interpreter(model_path=str(model), num_threads=1)
    interpreter.allocate_tensors()
    port = interpreter.get_input_details()[0]
    for name, pattern in {"noise": noise, "waves": waves}.items():
        values = pattern(port["shape"])
        if model.name.startswith("face_detection"):
            values = 2 * values - 1
        interpreter.set_tensor(port["index"], values.reshape(port["shape"]))
        interpreter.invoke()
        outputs = [interpreter.get_tensor(output["index"]).ravel() for output in interpreter.get_output_details()]
        target = pathlib.Path(__file__).parent / f"{model.stem}.{name}"
        target.write_bytes(numpy.concatenate([output[::7] for output in outputs]).astype("<f4").tobytes())
        print(target.name, [output.size for output in outputs], [float(output.max() - output.min()) for output in outputs])
