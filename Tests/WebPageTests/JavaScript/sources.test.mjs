import assert from "node:assert/strict";
import { test } from "node:test";
import { adjustable, levelShare, levelText, menus, nextRotation } from "../../../Sources/WebPage/Site/sources.mjs";

const LIST = {
  devices: [
    { kind: "camera", specification: "v4l2:/dev/video0", name: "Cam" },
    { kind: "camera", specification: "v4l2:/dev/video1", name: "Other", problem: "it is busy" },
    { kind: "screen", specification: "screen::0", name: "Screen" },
    { kind: "microphone", specification: "mic:hw:0", name: "Mic" },
  ],
  generators: [
    { kind: "video", specification: "plasma", name: "Plasma" }, { kind: "audio", specification: "tone", name: "Beeps" },
  ],
};
const shown = (menu) => menu.map(({ label, options }) => [label, ...options.map((option) =>
  (option.isChosen ? "*" : "") + option.label + (option.isDisabled ? "!" : ""))]);

test("sources are grouped, and the current one is selected", () => {
  const { video, audio } = menus(LIST, { video: "plasma", audio: "mic:hw:0", started: { video: "plasma", audio: "tone" } });
  assert.deepEqual(shown(video), [["Cameras", "Cam", "Other (it is busy)!"], ["Screens", "Screen"], ["Test patterns", "*Plasma"]]);
  assert.deepEqual(shown(audio), [["Microphones", "*Mic"], ["Without a microphone", "Beeps"]]);
});

test("the initial and the current source are listed even when no device has them", () => {
  const { video, audio } = menus(LIST, { video: "rtsp://cam/1", audio: "auto", started: { video: "file:film.mp4", audio: "auto" } });
  assert.deepEqual(shown(video).at(-1), ["Other", "film.mp4", "*cam (rtsp)"]);
  assert.deepEqual(shown(audio).at(-1), ["Other", "*Default for the video"]);
});

test("the current camera is enabled despite its problem; without devices and sources the menus are empty", () => {
  const { video } = menus(LIST, { video: "v4l2:/dev/video1", started: {} });
  assert.deepEqual(shown(video)[0], ["Cameras", "Cam", "*Other (it is busy)"]);
  assert.deepEqual(menus({ devices: [], generators: [] }, { started: {} }), { video: [], audio: [] });
});

test("the level meter starts at -60 dBFS", () => {
  assert.deepEqual([-120, -60, -30, 0, 3, NaN, -Infinity].map(levelShare), [0, 0, 0.5, 1, 1, 0, 0]);
  assert.deepEqual([-12.4, -60, -120].map(levelText), ["-12 dB", "silent", "silent"]);
});

test("rotation advances by 90 degrees", () => {
  assert.deepEqual([0, 90, 180, 270].map(nextRotation), [90, 180, 270, 0]);
});

test("only controls that can be changed are shown", () => {
  const control = { readOnly: false, kind: "integer", minimum: 0, maximum: 9 };
  const list = [control, { ...control, readOnly: true }, { ...control, maximum: 0 }, { ...control, kind: "boolean", maximum: 0 }];
  assert.deepEqual(adjustable(list), [list[0], list[3]]);
  assert.deepEqual(adjustable(undefined), []);
});
