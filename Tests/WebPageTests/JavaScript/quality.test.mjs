import assert from "node:assert/strict";
import { test } from "node:test";
import { levelsOf, QualityController } from "../../../Sources/WebPage/Site/quality.mjs";

const LEVELS = [
  { name: "main", label: "720p", url: "/cam/live.m3u8", bitrate: 2_364_000 },
  { name: "low", label: "360p", url: "/cam/low/live.m3u8", bitrate: 514_000 },
];

/** Plays `seconds` of parts of 0.2 s over a link with `rate(time)` bits per second; returns the levels in order, with times. */
function play(quality, { from = 0, seconds, rate, floor = 0.001 }) {
  const changes = [];
  for (let now = from; now < from + seconds; now += 0.2) {
    const before = quality.current;
    // A keyframe each second.
    const share = Math.round(now * 5) % 5 === 0 ? 2 : 0.75;
    const bits = LEVELS[before].bitrate * 0.2 * share;
    quality.noteTransfer({ bytes: bits / 8, seconds: floor + bits / rate(now), duration: 0.2 });
    const after = quality.decide(now);
    if (after !== before) changes.push([LEVELS[after].name, Math.round((now - from) * 10) / 10]);
  }
  return changes;
}

test("in a fast network the highest rendition stays", () => {
  const quality = new QualityController(LEVELS);
  assert.deepEqual(play(quality, { seconds: 120, rate: () => 50e6 }), []);
  // Twice its bitrate is enough.
  assert.deepEqual(play(quality, { seconds: 120, rate: () => 5e6 }), []);
});

test("in a network that carries less, the lower one follows within two seconds, and stays", () => {
  const quality = new QualityController(LEVELS);
  const changes = play(quality, { seconds: 120, rate: () => 1.2e6 });
  assert.equal(changes.length, 1);
  assert.equal(changes[0][0], "low");
  assert.ok(changes[0][1] <= 2, String(changes));
});

test("a network that becomes too slow is recognized in a second of media, and the lower one is likely before", () => {
  for (const rate of [1.2e6, 2e6]) {
    const quality = new QualityController(LEVELS);
    let likelyAt = null;
    const changes = play(quality, { seconds: 30, rate: (now) => {
      if (quality.likely === 1 && quality.current === 0) likelyAt ??= now;
      return now < 20 ? 50e6 : rate;
    } });
    assert.equal(changes.length, 1, String(changes));
    assert.ok(changes[0][0] === "low" && changes[0][1] >= 20 && changes[0][1] <= 21, String(changes));
    assert.ok(likelyAt !== null && likelyAt <= changes[0][1], String(likelyAt));
    assert.equal(quality.likely, null);
  }
});

test("a single late part changes nothing, and makes no other one likely", () => {
  const quality = new QualityController(LEVELS);
  for (let round = 0; round < 5; round += 1) {
    play(quality, { from: round * 4, seconds: 4, rate: () => 20e6 });
    quality.noteTransfer({ bytes: 60_000, seconds: 1, duration: 0.2 });
    assert.equal(quality.decide(round * 4 + 4), 0);
    assert.equal(quality.likely, null);
  }
});

test("when the network has recovered the higher one is back after ten seconds", () => {
  const quality = new QualityController(LEVELS);
  const changes = play(quality, { seconds: 60, rate: (now) => now < 20 ? 1e6 : 20e6 });
  assert.deepEqual(changes.map(([name]) => name), ["low", "main"]);
  assert.ok(changes[1][1] >= 30 && changes[1][1] <= 36, String(changes));
});

test("each failed trial doubles the time until the next", () => {
  const quality = new QualityController(LEVELS);
  // Small transfers look fast, large ones are not.
  const rate = () => quality.current === 0 ? 1.5e6 : 10e6;
  const changes = play(quality, { seconds: 300, rate });
  const lowered = changes.filter(([name]) => name === "low").map(([, time]) => time);
  assert.ok(lowered.length <= 6, String(lowered));
  const gaps = lowered.slice(1).map((time, index) => time - lowered[index]);
  assert.ok(gaps.every((gap, index) => index === 0 || gap > gaps[index - 1] * 1.5), String(gaps));
});

test("a stall in a busy network lowers at once, one of another cause does not", () => {
  const quality = new QualityController(LEVELS);
  play(quality, { seconds: 4, rate: () => 20e6 });
  quality.noteStall(4);
  assert.equal(quality.current, 0);
  play(quality, { from: 4, seconds: 4, rate: () => 3.8e6 });
  quality.noteStall(8);
  assert.equal(quality.current, 1);
});

test("media that was to be had long ago lowers at once, before its transfer has ended, unless the page was asleep", () => {
  const quality = new QualityController(LEVELS);
  for (const age of [0, 0.7, 0.75, 1.5, 0, 0.9, 0.1]) quality.noteWaiting(age, 1);
  assert.equal(quality.current, 0);
  quality.noteWaiting(0.85, 2);
  quality.noteWaiting(1.05, 2.2);
  assert.equal(quality.current, 1);
  quality.noteWaiting(5, 9);
  quality.noteWaiting(5, 9.2);
  assert.equal(quality.current, 1);
});

test("nothing is decided from little media, and there is nothing below the lowest", () => {
  const quality = new QualityController(LEVELS);
  quality.noteTransfer({ bytes: 60_000, seconds: 3, duration: 0.2 });
  assert.equal(quality.decide(1), 0);
  const lowest = new QualityController(LEVELS.slice(1));
  for (let part = 0; part < 20; part += 1) lowest.noteTransfer({ bytes: 60_000, seconds: 3, duration: 0.2 });
  assert.equal(lowest.decide(60), 0);
  assert.equal(lowest.likely, null);
});

test("the levels are the stream's own playlist and those of its renditions, highest first", () => {
  const stream = {
    hls: "/cam/index.m3u8", video: { width: 1280, height: 720, bitrate: 2_300_000 },
    renditions: [
      { name: "tiny", hls: "/cam/tiny/live.m3u8", width: 320, height: 180, bitrate: 150_000, failed: false },
      { name: "low", hls: "/cam/low/live.m3u8", width: 360, height: 640, bitrate: 450_000, failed: false },
      { name: "poor", hls: "/cam/poor/live.m3u8", width: 640, height: 360, bitrate: 300_000, failed: false },
      { name: "broken", hls: "/cam/broken/live.m3u8", width: 160, height: 90, bitrate: 90_000, failed: true },
    ],
  };
  const levels = levelsOf(stream);
  assert.deepEqual(levels.map(({ name }) => name), ["main", "low", "poor", "tiny"]);
  assert.deepEqual(levels.map(({ label }) => label), ["720p", "360p (low)", "360p (poor)", "180p"]);
  assert.equal(levels[0].url, "/cam/live.m3u8");
  assert.deepEqual(levelsOf({ ...stream, renditions: [] }), []);
  assert.deepEqual(levelsOf({ ...stream, renditions: undefined }), []);
  assert.deepEqual(levelsOf({ ...stream, video: null }), []);
});
