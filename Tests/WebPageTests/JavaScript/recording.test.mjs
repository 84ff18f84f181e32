import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, NAMES, RunningTime, sentence } from "../../../Sources/WebPage/Site/recording.mjs";

test("each state has a label and its commands", () => {
  const seen = (state) => {
    const { text, main, canStop, runs } = describe({ state });
    return [text, NAMES[main] ?? null, canStop, runs];
  };
  assert.deepEqual(seen("idle"), ["Not recording", "Record", false, false]);
  assert.deepEqual(seen("waiting"), ["Starting", "Pause", true, false]);
  assert.deepEqual(seen("recording"), ["Recording", "Pause", true, true]);
  assert.deepEqual(seen("paused"), ["Paused", "Resume", true, false]);
  assert.deepEqual(seen("finishing"), ["Finishing file", "Record", false, false]);
  assert.deepEqual(seen("failed"), ["Failed", "Record", false, false]);
});

test("an unknown state of a later server has no commands", () => {
  assert.equal(describe({ state: "dreaming" }).main, null);
});

test("the reason of a failure is shown in that state only", () => {
  assert.equal(describe({ state: "failed", error: "the disk is full; make room" }).error, "The disk is full; make room.");
  assert.equal(describe({ state: "recording", error: "the disk is full" }).error, "");
  assert.equal(describe({ state: "failed" }).error, "");
  assert.deepEqual(["", "what?", "Done.", undefined].map(sentence), ["", "What?", "Done.", ""]);
});

test("time is interpolated between reports, and never decreases", () => {
  const time = new RunningTime();
  time.note(5, true, 1000);
  assert.equal(time.at(1500), 5.5);
  assert.equal(time.at(2900), 6.9);
  time.note(6, true, 3000); // A late report does not decrease the time.
  assert.equal(time.at(3000), 6.9);
  assert.equal(time.at(4500), 7.5);
});

test("time stops when the recording does not run, or without reports", () => {
  const time = new RunningTime();
  time.note(5, true, 0);
  assert.equal(time.at(60_000), 8);
  time.note(5.2, false, 61_000);
  assert.equal(time.at(70_000), 5.2);
});

test("a new recording starts at zero", () => {
  const time = new RunningTime();
  time.note(100, true, 0);
  time.at(1000);
  time.note(0, true, 2000);
  assert.equal(time.at(2500), 0.5);
});
