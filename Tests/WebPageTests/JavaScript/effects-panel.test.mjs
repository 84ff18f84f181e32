import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { element, server, wait } from "./browser.mjs";

const sources = [];
globalThis.EventSource = class {
  static CLOSED = 2;
  readyState = 1;
  constructor(url) { this.url = url.pathname; sources.push(this); }
  addEventListener() {}
  close() { this.readyState = 2; }
};
globalThis.requestAnimationFrame = () => {};
globalThis.devicePixelRatio = 1;
element("frames").getContext = () => ({ setTransform() {}, clearRect() {} });
const { EffectsPanel } = await import("../../../Sources/WebPage/Site/effects-panel.mjs");

const EFFECTS = { faces: "off", mask: null, maskPart: "face", smooth: 0, clock: false };
const STREAM = { page: "/cam", steerable: true, effects: EFFECTS };
const panel = new EffectsPanel({ currentTime: 0 }, { way: "stream", player: null });
const listening = () => sources.filter(({ readyState }) => readyState !== 2).map(({ url }) => url);
const put = () => server.requests.filter(({ method }) => method === "PUT");
const choose = (id, value) => {
  element(id).value = value;
  element(id).happen("change");
};

beforeEach(async () => {
  await wait(1);
  server.respond = ({ json }) => json ?? EFFECTS;
  panel.stream = null;
  panel.stream = STREAM;
  server.requests.length = 0;
});

test("the panel is shown to operators, and boxes where faces are tracked", () => {
  panel.stream = { page: "/cam", steerable: true };
  assert.equal(element("effects").hidden, true);
  panel.stream = { ...STREAM, steerable: false, effects: { ...EFFECTS, faces: "track" } };
  assert.equal(element("effects").hidden, true);
  assert.deepEqual(listening(), ["/api/streams/cam/events"]);
  panel.stream = STREAM;
  assert.equal(element("effects").hidden, false);
  assert.deepEqual(listening(), []);
});

test("a change is sent with the unchanged effects, and shown at once", async () => {
  panel.stream = { ...STREAM, effects: { ...EFFECTS, smooth: 0.5 } };
  choose("effects-mask", "blur");
  assert.equal(element("effects-part-field").hidden, false);
  await wait(1);
  assert.deepEqual(put(), [{ url: "/api/streams/cam/effects", method: "PUT", json: { ...EFFECTS, smooth: 0.5, mask: "blur" } }]);
  choose("effects-mask", "");
  await wait(1);
  assert.equal(put()[1].json.mask, null);
  assert.equal(element("effects-part-field").hidden, true);
});

test("a rejection shows the server's message, and restores the menus", async () => {
  server.respond = ({ method }) => method === "PUT" ? new Error("there is no image for the mask yet") : EFFECTS;
  choose("effects-mask", "image");
  await wait(1);
  assert.equal(element("effects-problem").textContent, "there is no image for the mask yet");
  assert.equal(element("effects-problem").hidden, false);
  assert.equal(element("effects-mask").value, "");
});

test("an uploaded image becomes the mask", async () => {
  const chooser = element("effects-file"), file = { type: "image/png" };
  server.respond = ({ url, json }) => url.endsWith("/mask") ? EFFECTS : json;
  chooser.files = [file];
  chooser.happen("change");
  await wait(1);
  assert.deepEqual(put().map(({ url }) => url), ["/api/streams/cam/effects/mask", "/api/streams/cam/effects"]);
  assert.equal(put()[0].json, file);
  assert.equal(put()[1].json.mask, "image");
});

test("the viewer can toggle boxes, and they reconnect with the stream", () => {
  element("effects-frames").happen("click");
  assert.deepEqual(listening(), ["/api/streams/cam/events"]);
  sources.at(-1).readyState = 2;
  panel.stream = STREAM;
  assert.equal(listening().length, 1, "another connection");
  panel.stream = STREAM;
  assert.equal(sources.filter(({ readyState }) => readyState !== 2).length, 1);
  element("effects-frames").happen("click");
  assert.deepEqual(listening(), []);
});
