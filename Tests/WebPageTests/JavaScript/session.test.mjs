import assert from "node:assert/strict";
import { test } from "node:test";
import { Session } from "../../../Sources/WebPage/Site/session.mjs";

globalThis.RTCPeerConnection = class extends EventTarget {
  addTransceiver() {}
  async createOffer() { return { sdp: "offer" }; }
  async setLocalDescription() { this.localDescription = { sdp: "offer" }; }
  close() {}
};
globalThis.MediaStream = class {};
globalThis.location = { href: "http://camera/live" };
Object.defineProperty(globalThis, "navigator", { value: { vendor: "" }, configurable: true });

const stream = { page: "/live", whep: true, hls: "/live/index.m3u8", mjpeg: "/live/mjpeg", video: { codec: "avc1.64001f" } };
/** Lets promises run until nothing follows. */
const settle = async () => { for (let step = 0; step < 50; step += 1) await Promise.resolve(); };

/** A session of a browser that plays by WebRTC or images, and a server that refuses each offer with a status. */
async function open(context, status) {
  context.mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
  const offers = [];
  globalThis.fetch = async (url) => {
    offers.push(url.href);
    return { status, text: async () => "no", headers: { get: () => null } };
  };
  const image = { removeAttribute() {} };
  const session = new Session({ video: { canPlayType: () => "" }, image }, () => {}, () => {});
  session.open(stream);
  await settle();
  return { session, image, offers };
}

test("a server that has too many sessions now is asked again when the other way was stopped or has failed", async (context) => {
  const { session, image, offers } = await open(context, 503);
  assert.equal(session.way, "images");
  assert.deepEqual(offers, ["http://camera/live/whep"]);
  session.pause();
  session.play();
  await settle();
  assert.deepEqual([session.way, offers.length], ["images", 2]);
  image.onerror();
  await settle();
  assert.equal(offers.length, 2, "after a failure the next attempt waits");
  context.mock.timers.tick(250);
  await settle();
  assert.deepEqual([session.way, offers.length], ["images", 3]);
  image.onerror();
  await settle();
  context.mock.timers.tick(999);
  await settle();
  assert.equal(offers.length, 3, "each wait is longer than the last one");
  context.mock.timers.tick(1);
  await settle();
  assert.deepEqual([session.way, offers.length], ["images", 4]);
  session.pause();
});

test("where WebRTC does not fit, it is left for good", async (context) => {
  const { session, image, offers } = await open(context, 406);
  session.pause();
  session.play();
  await settle();
  image.onerror();
  await settle();
  context.mock.timers.tick(250);
  await settle();
  assert.deepEqual([session.way, offers.length], ["images", 1]);
  session.pause();
});
