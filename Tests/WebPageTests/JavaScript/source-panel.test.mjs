import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { element, server, settle, wait } from "./browser.mjs";
const { SourcePanel } = await import("../../../Sources/WebPage/Site/source-panel.mjs");

const ZOOM = { name: "zoom", label: "Zoom", kind: "integer", minimum: 0, maximum: 9, step: 1, value: 5, readOnly: false, inactive: false };
const STREAM = {
  page: "/cam", source: { video: "v4l2:/dev/video0", audio: "mic:", started: {} }, steerable: true, slate: false, audio: {},
  mirror: false, rotation: 0, mute: false, pause: false, previewMirrored: false, level: { rms: -120, peak: -120 },
};
const panel = new SourcePanel();
const count = (url) => server.requests.filter((request) => request.url === url && request.method === "GET").length;
let zoom = 5;

/** Advances time while the page receives the stream every two seconds. */
async function watch(seconds, stream = STREAM) {
  for (let left = seconds; left > 0; left -= 2) {
    panel.stream = stream;
    await wait(Math.min(2, left));
  }
}

beforeEach(async () => {
  server.respond = ({ url }) => {
    if (url === "/api/devices") return { devices: [], generators: [], restricted: false };
    if (url.endsWith("/level")) return { rms: -20, peak: -10 };
    return { ...STREAM, controlList: [{ ...ZOOM, value: zoom }] };
  };
  element("source-controls").open = false;
  zoom = 5;
  panel.stream = null;
  await watch(60);
  server.requests.length = 0;
});

test("without interaction neither the level nor the controls are polled", async () => {
  await watch(60);
  assert.deepEqual(server.requests, []);
});

test("the level is polled while the panel is in use, at most five times a second", async () => {
  element("source").happen("pointermove");
  await watch(10);
  const used = count("/api/streams/cam/level");
  assert.ok(used >= 20 && used <= 50, `${used} requests`);
  assert.equal(element("level").attributes["aria-valuenow"], "-20");
  await watch(30);
  server.requests.length = 0;
  await watch(60);
  assert.equal(count("/api/streams/cam/level"), 0);
});

test("a hidden page sends no requests", async () => {
  element("source-controls").open = true;
  element("source").happen("pointermove");
  document.hidden = true;
  await watch(20);
  document.hidden = false;
  assert.deepEqual(server.requests, []);
});

test("controls are polled while they are open, and loaded once per source", async () => {
  element("source-controls").open = true;
  await watch(20);
  const open = count("/api/streams/cam");
  assert.ok(open >= 8 && open <= 10, `${open} requests`);
  element("source-controls").open = false;
  await watch(4);
  server.requests.length = 0;
  await watch(20, { ...STREAM, source: { ...STREAM.source, video: "plasma" } });
  assert.equal(count("/api/streams/cam"), 1);
});

for (const end of ["change", "pointerup", "pointercancel", "blur"]) {
  test(`a released slider (${end}) shows the value of the camera again`, async () => {
    element("source-controls").open = true;
    await watch(4);
    const slider = element("control-rows").children[0].children[1];
    assert.equal(slider.value, 5);
    slider.value = "5";
    slider.happen("input"); // Dragged away and back.
    await settle();
    server.requests.length = 0;
    await watch(10);
    assert.equal(count("/api/streams/cam"), 0); // A slider being dragged is not moved.
    slider.happen(end);
    zoom = 7;
    await watch(10);
    assert.ok(count("/api/streams/cam") > 0);
    assert.equal(slider.value, 7);
  });
}

test("without the operator role the panel is hidden, and the preview is that of the stream", async () => {
  panel.stream = { ...STREAM, steerable: false, previewMirrored: true };
  assert.equal(element("source").hidden, true);
  assert.ok(element("stage").classes.has("mirrored"));
  await wait(20);
  assert.deepEqual(server.requests, []);
  panel.stream = STREAM;
  assert.equal(element("source").hidden, false);
  assert.ok(!element("stage").classes.has("mirrored"));
  panel.stream = null;
  assert.ok(!element("stage").classes.has("mirrored"));
});

test("a source whose certificate is not verified is marked", async () => {
  assert.equal(element("source-insecure").hidden, true);
  await watch(2, { ...STREAM, source: { ...STREAM.source, insecure: true } });
  assert.equal(element("source-insecure").hidden, false);
});
