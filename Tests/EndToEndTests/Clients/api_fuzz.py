#!/usr/bin/env python3
"""Generates requests from a server's OpenAPI document with schemathesis, and prints its report; fails if a check fails.

usage: api_fuzz.py http://HOST:PORT TOKEN --packages FOLDER [OPTION ...]
       TOKEN is the client's; OPTIONs are those of schemathesis; FOLDER is where scripts/setup has put schemathesis; api_fuzz.toml has the checks

Runs the phases examples, coverage and fuzzing with the same requests each time.
"""
import argparse
import os
import pathlib
import sys

parser = argparse.ArgumentParser()
parser.add_argument("server")
parser.add_argument("token")
parser.add_argument("--packages", required=True)
options, further = parser.parse_known_args()
sys.path.insert(0, options.packages)

import requests  # noqa: E402
from schemathesis import serializer  # noqa: E402
from schemathesis.cli import schemathesis  # noqa: E402

serializer.alias(["application/sdp", "application/trickle-ice-sdpfrag"], "text/plain")

whole_request = requests.Session.request


def request(session, method, url, **settings):
    """Reads the first bytes only of Motion JPEG, which does not end; schemathesis does so with event streams."""
    response = whole_request(session, method, url, **settings)
    if response.headers.get("Content-Type", "").startswith("multipart/x-mixed-replace"):
        response._content = response.raw.read1(65536)
        response.close()
    return response


requests.Session.request = request
# Requests on this machine only.
os.environ["NO_PROXY"] = "*"
schemathesis([
    "--config-file", str(pathlib.Path(__file__).with_suffix(".toml")), "run", options.server + "/api/openapi.json",
    "--url", options.server,  # schemathesis does not resolve the relative URL of the server.
    "--phases", "examples,coverage,fuzzing", "--header", f"Authorization: Bearer {options.token}",
    "--generation-deterministic",
    "--continue-on-failure", "--no-color", "--warnings", "off", *further,
])
