import assert from "node:assert/strict";
import { test } from "node:test";
import { CaptureTimes, ServerClock } from "../../../Sources/WebPage/Site/clock.mjs";

test("the response with the minimum round trip gives the offset", () => {
  const clock = new ServerClock();
  assert.equal(clock.offset, 0);
  clock.note(1000, 1400, 6390); // Slow response: 5190.
  clock.note(2000, 2010, 7005);
  clock.note(3000, 3100, 8010);
  assert.equal(clock.offset, 5000);
});

test("old responses expire, so that a changed clock is followed", () => {
  const clock = new ServerClock();
  clock.note(0, 1, 0.5 + 100);
  for (let sample = 1; sample <= 12; sample += 1) clock.note(sample * 1000, sample * 1000 + 10, sample * 1000 + 5 - 700);
  assert.equal(clock.offset, -700);
});

test("responses without a time, or received before they were sent, are ignored", () => {
  const clock = new ServerClock();
  clock.note(0, 10, NaN);
  clock.note(10, 0, 100);
  assert.equal(clock.offset, 0);
});

test("media time maps to capture time by the preceding anchor", () => {
  const times = new CaptureTimes();
  assert.equal(times.at(0), null);
  times.note(10, 100_000);
  times.note(11, 101_040); // The source's clock runs a little fast.
  assert.equal(times.at(10.5), 100_500);
  assert.equal(times.at(11), 101_040);
  assert.equal(times.at(12.5), 102_540);
  assert.equal(times.at(9), 99_000);
});

test("an anchor at an earlier media time replaces those after it", () => {
  const times = new CaptureTimes();
  times.note(10, 100_000);
  times.note(11, 101_000);
  times.note(10.5, 200_000);
  assert.equal(times.at(11), 200_500);
});

test("the last minute of anchors gives the newest capture times", () => {
  const times = new CaptureTimes();
  for (let second = 0; second < 10_000; second += 1) times.note(second, second * 1000);
  assert.equal(times.at(9_999.5), 9_999_500);
});
