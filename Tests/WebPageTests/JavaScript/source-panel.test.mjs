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
const count = (url) => server.asked.filter((asked) => asked.url === url && asked.method === "GET").length;
let zoom = 5;

/** Lets seconds go by while the page hears of the stream every two seconds, as it does. */
async function watch(seconds, stream = STREAM) {
  for (let left = seconds; left > 0; left -= 2) {
    panel.stream = stream;
    await wait(Math.min(2, left));
  }
}

beforeEach(async () => {
  server.answer = ({ url }) => {
    if (url === "/api/devices") return { devices: [], generators: [], restricted: false };
    if (url.endsWith("/level")) return { rms: -20, peak: -10 };
    return { ...STREAM, controlList: [{ ...ZOOM, value: zoom }] };
  };
  element("source-controls").open = false;
  zoom = 5;
  panel.stream = null;
  await watch(60);
  server.asked.length = 0;
});

test("who only looks asks for no level and not again for controls", async () => {
  await watch(60);
  assert.deepEqual(server.asked, []);
});

test("the level is asked for while the panel is used, five times a second at most", async () => {
  element("source").happen("pointermove");
  await watch(10);
  const used = count("/api/streams/cam/level");
  assert.ok(used >= 20 && used <= 50, `${used} questions`);
  assert.equal(element("level").attributes["aria-valuenow"], "-20");
  await watch(30);
  server.asked.length = 0;
  await watch(60);
  assert.equal(count("/api/streams/cam/level"), 0);
});

test("a hidden page asks for nothing", async () => {
  element("source-controls").open = true;
  element("source").happen("pointermove");
  document.hidden = true;
  await watch(20);
  document.hidden = false;
  assert.deepEqual(server.asked, []);
});

test("controls are asked for while they are open, and once of each source", async () => {
  element("source-controls").open = true;
  await watch(20);
  const open = count("/api/streams/cam");
  assert.ok(open >= 8 && open <= 10, `${open} questions`);
  element("source-controls").open = false;
  await watch(4);
  server.asked.length = 0;
  await watch(20, { ...STREAM, source: { ...STREAM.source, video: "plasma" } });
  assert.equal(count("/api/streams/cam"), 1);
});

for (const end of ["change", "pointerup", "pointercancel", "blur"]) {
  test(`a slider that is let go (${end}) shows what the camera has again`, async () => {
    element("source-controls").open = true;
    await watch(4);
    const slider = element("control-rows").children[0].children[1];
    assert.equal(slider.value, 5);
    slider.value = "5";
    slider.happen("input"); // Dragged away and back.
    await settle();
    server.asked.length = 0;
    await watch(10);
    assert.equal(count("/api/streams/cam"), 0); // It is not moved under the finger.
    slider.happen(end);
    zoom = 7;
    await watch(10);
    assert.ok(count("/api/streams/cam") > 0);
    assert.equal(slider.value, 7);
  });
}

test("who may not steer has no panel, and sees the preview as all do", async () => {
  panel.stream = { ...STREAM, steerable: false, previewMirrored: true };
  assert.equal(element("source").hidden, true);
  assert.ok(element("stage").classes.has("mirrored"));
  await wait(20);
  assert.deepEqual(server.asked, []);
  panel.stream = STREAM;
  assert.equal(element("source").hidden, false);
  assert.ok(!element("stage").classes.has("mirrored"));
  panel.stream = null;
  assert.ok(!element("stage").classes.has("mirrored"));
});
