import assert from "node:assert/strict";
import { test } from "node:test";
import { FaceTimeline, hasFrames, labelOf, onScreen } from "../../../Sources/WebPage/Site/faces.mjs";

const START = Date.parse("2026-11-21T07:41:03.000Z");
const told = (milliseconds, ...faces) => ({
  date: new Date(START + milliseconds).toISOString(), width: 640, height: 360,
  faces: faces.map(([id, x]) => ({ id, box: { x, y: 10, width: 20, height: 30 } })),
});
const places = (timeline, milliseconds) => timeline.at(START + milliseconds)?.faces.map(({ id, box }) => [id, box.x]) ?? null;

test("a picture has the faces of its time, which move evenly in between", () => {
  const timeline = new FaceTimeline();
  assert.equal(timeline.at(START), null);
  timeline.note(told(0, [1, 100]));
  timeline.note(told(100, [1, 200], [2, 50]));
  assert.equal(places(timeline, -1), null);
  assert.deepEqual(places(timeline, 0), [[1, 100]]);
  assert.deepEqual(places(timeline, 25), [[1, 125]]);
  assert.deepEqual(places(timeline, 100), [[1, 200], [2, 50]]);
  assert.deepEqual(places(timeline, 5000), [[1, 200], [2, 50]], "what does not change is not told again");
  assert.deepEqual(timeline.at(null).faces.length, 2, "the newest, where the picture's time is not known");
});

test("faces that go stay until then; after a pause they do not glide", () => {
  const timeline = new FaceTimeline();
  for (const message of [told(0, [1, 100]), told(100), told(5000, [1, 10]), told(6000, [1, 500])]) timeline.note(message);
  assert.deepEqual(places(timeline, 50), [[1, 100]]);
  assert.deepEqual(places(timeline, 100), []);
  assert.deepEqual(places(timeline, 5999), [[1, 10]]);
});

test("what comes again counts once, what is old goes, and what is broken is passed over", () => {
  const timeline = new FaceTimeline();
  timeline.note(told(0, [1, 100]));
  timeline.note(told(100, [1, 200]));
  timeline.note(told(100, [1, 300]));
  assert.deepEqual(places(timeline, 100), [[1, 300]]);
  timeline.note({ ...told(0), date: "yesterday" });
  timeline.note({ ...told(0), width: 0 });
  assert.deepEqual(places(timeline, 100), [[1, 300]]);
  timeline.note(told(70_000));
  assert.equal(places(timeline, 100), null);
});

test("a box lies where the picture does, which fits the screen, mirrored or not", () => {
  const box = { x: 64, y: 36, width: 128, height: 72 }, picture = { width: 640, height: 360 };
  assert.deepEqual(onScreen(box, picture, { width: 1280, height: 720 }, false), { x: 128, y: 72, width: 256, height: 144 });
  assert.deepEqual(onScreen(box, picture, { width: 1280, height: 720 }, true), { x: 896, y: 72, width: 256, height: 144 });
  assert.deepEqual(onScreen(box, picture, { width: 640, height: 560 }, false), { x: 64, y: 136, width: 128, height: 72 });
});

test("what is said of a face, and when there are frames by themselves", () => {
  assert.equal(labelOf({ id: 3 }), "Face 3");
  assert.equal(labelOf({ id: 3, smiling: true, leftEyeClosed: true }), "Face 3, smiling, winking");
  assert.equal(labelOf({ id: 3, leftEyeClosed: true, rightEyeClosed: true }), "Face 3, eyes closed");
  assert.deepEqual(["off", "track", "boxes", "privacy"].map((faces) => hasFrames({ faces })), [false, true, false, false]);
  assert.equal(hasFrames(null), false);
});
