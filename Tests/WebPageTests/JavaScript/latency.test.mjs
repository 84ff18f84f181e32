import assert from "node:assert/strict";
import { test } from "node:test";
import { LatencyController } from "../../../Sources/WebPage/Site/latency.mjs";

/** Simulates a stream with parts of 0.2 s in steps of 10 ms, and returns a log. */
function play({ seconds, startDistance, late = () => 0, holdBack = 0.6 }) {
  const controller = new LatencyController(holdBack);
  const log = { rates: new Set(), seeks: 0, stalls: 0, distances: [] };
  let position = 10 - startDistance;
  let end = 10;
  let rate = 1;
  let isDry = false;
  controller.noteArrival(end, 0);
  for (let step = 1; step <= seconds * 100; step += 1) {
    const now = step / 100;
    // A part arrives after the capture of its last frame, plus network delay.
    const due = 10 + 0.2 * Math.floor((now - late(Math.floor(now / 0.2))) / 0.2 + 1e-9);
    if (due > end) {
      end = due;
      controller.noteArrival(end, now);
      isDry = false;
    }
    if (!isDry) position += 0.01 * rate;
    if (position >= end) {
      position = end;
      if (!isDry) {
        controller.noteStall(now);
        log.stalls += 1;
      }
      isDry = true;
    }
    if (step % 20 !== 0 || isDry) continue;
    const decision = controller.decide({ position, bufferedEnd: end, now });
    if (decision.seekTo !== null) {
      assert.ok(decision.seekTo > position && decision.seekTo < end);
      position = decision.seekTo;
      log.seeks += 1;
    }
    rate = decision.rate;
    log.rates.add(rate);
    log.distances.push(decision.distance);
  }
  return { ...log, last: log.distances.at(-1), target: controller.target };
}

test("at the target distance the rate is 1", () => {
  const { rates, seeks, stalls } = play({ seconds: 30, startDistance: 0.6 });
  assert.deepEqual([...rates], [1]);
  assert.equal(seeks, 0);
  assert.equal(stalls, 0);
});

test("slightly behind, the rate rises to at most 1.05", () => {
  const { rates, seeks, last } = play({ seconds: 40, startDistance: 1.4 });
  assert.ok(Math.max(...rates) <= 1.05 && Math.min(...rates) >= 1);
  assert.equal(seeks, 0);
  assert.ok(Math.abs(last - 0.6) < 0.1, `${last}`);
});

test("too close, the rate falls to at least 0.97", () => {
  const { rates, last, stalls } = play({ seconds: 40, startDistance: 0.3 });
  assert.ok(Math.min(...rates) >= 0.97);
  assert.equal(stalls, 0);
  assert.ok(Math.abs(last - 0.6) < 0.13, `${last}`);
});

test("far behind, it seeks once to the target distance", () => {
  const { seeks, last } = play({ seconds: 10, startDistance: 8 });
  assert.equal(seeks, 1);
  assert.ok(Math.abs(last - 0.6) < 0.13, `${last}`);
});

test("delays below the hold-back cause no stalls or seeks, and few rate changes", () => {
  const { rates, seeks, stalls } = play({ seconds: 60, startDistance: 0.6, late: (part) => (part % 3) * 0.05 });
  assert.equal(stalls, 0);
  assert.equal(seeks, 0);
  assert.ok(rates.size <= 4, [...rates].join());
});

test("a network slower than the hold-back raises the target distance and then stalls less", () => {
  const late = (part) => (part % 40 >= 35 ? 0.9 : 0);
  const { stalls, target } = play({ seconds: 120, startDistance: 0.6, late });
  assert.ok(stalls >= 1 && stalls < 12, `${stalls}`);
  assert.ok(target > 0.6);
});

test("stalls raise the target up to a maximum, and time without stalls lowers it", () => {
  const controller = new LatencyController(0.6);
  for (let stall = 0; stall < 50; stall += 1) controller.noteStall(stall);
  assert.equal(controller.target, 2.1);
  controller.noteArrival(1000, 1000);
  for (let now = 50; now < 1000; now += 1) controller.decide({ position: 0, bufferedEnd: 0, now });
  assert.equal(controller.target, 0.6);
});

test("without an estimate of the edge the rate is 1: before the first arrival and after a jump", () => {
  const controller = new LatencyController(0.6);
  const nothing = { rate: 1, seekTo: null, distance: null };
  assert.deepEqual(controller.decide({ position: 0, bufferedEnd: 0, now: 0 }), nothing);
  controller.noteArrival(10, 0);
  controller.reset();
  assert.deepEqual(controller.decide({ position: 0, bufferedEnd: 0, now: 0 }), nothing);
});

test("the live edge follows the earliest arrival of the last ten seconds", () => {
  const controller = new LatencyController(0.6);
  controller.noteArrival(10, 1);
  controller.noteArrival(10.2, 1.5);
  assert.equal(controller.edge(2), 11);
  controller.noteArrival(20, 12);
  assert.ok(Math.abs(controller.edge(12) - 20) < 1e-9);
});
