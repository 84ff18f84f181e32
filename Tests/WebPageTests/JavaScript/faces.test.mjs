import assert from "node:assert/strict";
import { test } from "node:test";
import { FaceTimeline, hasBoxes, labelOf, onScreen } from "../../../Sources/WebPage/Site/faces.mjs";

const START = Date.parse("2026-11-21T07:41:03.000Z");
const event = (milliseconds, ...faces) => ({
  date: new Date(START + milliseconds).toISOString(), width: 640, height: 360,
  faces: faces.map(([id, x]) => ({ id, box: { x, y: 10, width: 20, height: 30 } })),
});
const places = (timeline, milliseconds) => timeline.at(START + milliseconds)?.faces.map(({ id, box }) => [id, box.x]) ?? null;

test("a frame has the faces of its capture time, interpolated between events", () => {
  const timeline = new FaceTimeline();
  assert.equal(timeline.at(START), null);
  timeline.note(event(0, [1, 100]));
  timeline.note(event(100, [1, 200], [2, 50]));
  assert.equal(places(timeline, -1), null);
  assert.deepEqual(places(timeline, 0), [[1, 100]]);
  assert.deepEqual(places(timeline, 25), [[1, 125]]);
  assert.deepEqual(places(timeline, 100), [[1, 200], [2, 50]]);
  assert.deepEqual(places(timeline, 5000), [[1, 200], [2, 50]], "unchanged positions are not sent again");
  assert.deepEqual(timeline.at(null).faces.length, 2, "the newest event for an unknown capture time");
});

test("faces stay until they disappear; positions are not interpolated over a pause", () => {
  const timeline = new FaceTimeline();
  for (const message of [event(0, [1, 100]), event(100), event(5000, [1, 10]), event(6000, [1, 500])]) timeline.note(message);
  assert.deepEqual(places(timeline, 50), [[1, 100]]);
  assert.deepEqual(places(timeline, 100), []);
  assert.deepEqual(places(timeline, 5999), [[1, 10]]);
});

test("repeated events replace earlier ones, old ones expire, malformed ones are ignored", () => {
  const timeline = new FaceTimeline();
  timeline.note(event(0, [1, 100]));
  timeline.note(event(100, [1, 200]));
  timeline.note(event(100, [1, 300]));
  assert.deepEqual(places(timeline, 100), [[1, 300]]);
  timeline.note({ ...event(0), date: "yesterday" });
  timeline.note({ ...event(0), width: 0 });
  assert.deepEqual(places(timeline, 100), [[1, 300]]);
  timeline.note(event(70_000));
  assert.equal(places(timeline, 100), null);
});

test("boxes are mapped to a letterboxed screen, mirrored or not", () => {
  const box = { x: 64, y: 36, width: 128, height: 72 }, frame = { width: 640, height: 360 };
  assert.deepEqual(onScreen(box, frame, { width: 1280, height: 720 }, false), { x: 128, y: 72, width: 256, height: 144 });
  assert.deepEqual(onScreen(box, frame, { width: 1280, height: 720 }, true), { x: 896, y: 72, width: 256, height: 144 });
  assert.deepEqual(onScreen(box, frame, { width: 640, height: 560 }, false), { x: 64, y: 136, width: 128, height: 72 });
});

test("labels of faces, and when boxes are drawn by default", () => {
  assert.equal(labelOf({ id: 3 }), "Face 3");
  assert.equal(labelOf({ id: 3, smiling: true, leftEyeClosed: true }), "Face 3, smiling, winking");
  assert.equal(labelOf({ id: 3, leftEyeClosed: true, rightEyeClosed: true }), "Face 3, eyes closed");
  assert.deepEqual(["off", "track", "boxes", "privacy"].map((faces) => hasBoxes({ faces })), [false, true, false, false]);
  assert.equal(hasBoxes(null), false);
});
