import assert from "node:assert/strict";
import { test } from "node:test";
import { describe, NAMES, RunningTime, sentence } from "../../../Sources/WebPage/Site/recording.mjs";

test("each state has its words and its buttons", () => {
  const seen = (state) => {
    const { text, main, canStop, runs } = describe({ state });
    return [text, NAMES[main] ?? null, canStop, runs];
  };
  assert.deepEqual(seen("idle"), ["Not recording", "Record", false, false]);
  assert.deepEqual(seen("waiting"), ["Starting", "Pause", true, false]);
  assert.deepEqual(seen("recording"), ["Recording", "Pause", true, true]);
  assert.deepEqual(seen("paused"), ["Paused", "Resume", true, false]);
  assert.deepEqual(seen("finishing"), ["Finishing the file", null, false, false]);
  assert.deepEqual(seen("failed"), ["Stopped by itself", "Record", false, false]);
});

test("a state of a later server can be looked at, and nothing be done", () => {
  assert.equal(describe({ state: "dreaming" }).main, null);
});

test("why it has stopped is told while it has", () => {
  assert.equal(describe({ state: "failed", error: "the disk is full; make room" }).error, "The disk is full; make room.");
  assert.equal(describe({ state: "recording", error: "the disk is full" }).error, "");
  assert.equal(describe({ state: "failed" }).error, "");
  assert.deepEqual(["", "what?", "Done.", undefined].map(sentence), ["", "What?", "Done.", ""]);
});

test("time runs evenly between what is told, and not back", () => {
  const time = new RunningTime();
  time.note(5, true, 1000);
  assert.equal(time.at(1500), 5.5);
  assert.equal(time.at(2900), 6.9);
  time.note(6, true, 3000); // Told late: what was shown stays.
  assert.equal(time.at(3000), 6.9);
  assert.equal(time.at(4500), 7.5);
});

test("time stands while nothing runs, or nobody tells", () => {
  const time = new RunningTime();
  time.note(5, true, 0);
  assert.equal(time.at(60_000), 8);
  time.note(5.2, false, 61_000);
  assert.equal(time.at(70_000), 5.2);
});

test("a new recording begins at its beginning", () => {
  const time = new RunningTime();
  time.note(100, true, 0);
  time.at(1000);
  time.note(0, true, 2000);
  assert.equal(time.at(2500), 0.5);
});
