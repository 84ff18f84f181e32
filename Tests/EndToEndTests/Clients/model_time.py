#!/usr/bin/env python3
"""Prints how long a face model takes in LiteRT, on one thread: the median of 100 runs in milliseconds.

usage: model_time.py FOLDER-OF-LITERT MODEL
"""
import sys
import time

sys.path.insert(0, sys.argv[1])
import numpy  # noqa: E402
from ai_edge_litert.interpreter import Interpreter  # noqa: E402

interpreter = Interpreter(sys.argv[2], num_threads=1)
interpreter.allocate_tensors()
details = interpreter.get_input_details()[0]
interpreter.set_tensor(details["index"], numpy.full(details["shape"], 0.5, numpy.float32))
times = []
for _ in range(105):
    begin = time.perf_counter()
    interpreter.invoke()
    times.append(time.perf_counter() - begin)
print(sorted(times[5:])[50] * 1000)
