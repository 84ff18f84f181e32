import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { element, settle, wait } from "./browser.mjs";

/** Devices that were opened and closed, in order. */
const log = [];
/** Constraints of the microphones that were asked for. */
const wished = [];
/** Cameras and microphones that are plugged in, and those that another program uses. */
let plugged = [], used = [];
const CAMERA = (id, facingMode, more) => ({ kind: "videoinput", deviceId: id, label: `Camera ${id}`, facingMode, ...more });
const MICROPHONE = (id) => ({ kind: "audioinput", deviceId: id, label: `Microphone ${id}` });

class Track extends EventTarget {
  enabled = true;
  constraints = [];

  constructor(device) {
    super();
    this.device = device;
    this.kind = device.kind === "videoinput" ? "video" : "audio";
    log.push(`open ${device.deviceId}`);
  }

  getSettings() { return { deviceId: this.device.deviceId, facingMode: this.device.facingMode, zoom: 1 }; }
  getCapabilities() { return { torch: this.device.torch, zoom: this.device.zoom }; }
  async applyConstraints({ advanced: [constraint] }) {
    if (this.device.isRefusing) throw new Error("refused");
    this.constraints.push(constraint);
  }
  stop() { log.push(`stop ${this.device.deviceId}`); }
}

class Stream {
  constructor(tracks) { this.tracks = tracks; }
  getTracks() { return this.tracks; }
  getVideoTracks() { return this.tracks.filter(({ kind }) => kind === "video"); }
}

function pick(kind, constraints) {
  const all = plugged.filter((device) => device.kind === kind), { deviceId = {}, facingMode } = constraints;
  const facing = facingMode?.exact ?? facingMode;
  const exact = deviceId.exact ?? deviceId.ideal;
  const found = all.find((device) => device.deviceId === exact) ?? (deviceId.exact || facingMode?.exact
    ? all.find((device) => facingMode?.exact && device.facingMode === facingMode.exact)
    : all.find((device) => device.facingMode === facing) ?? all[0]);
  if (!found) throw Object.assign(new Error("Requested device not found"), { name: "NotFoundError" });
  if (used.includes(found.deviceId)) throw Object.assign(new Error("Could not start video source"), { name: "NotReadableError" });
  return found;
}

const mediaDevices = Object.assign(new EventTarget(), {
  async getUserMedia({ video, audio }) {
    if (audio) wished.push(audio);
    const devices = [video && pick("videoinput", video), audio && pick("audioinput", audio)].filter(Boolean);
    return new Stream(devices.map((device) => new Track(device)));
  },
  enumerateDevices: async () => plugged,
});
const locks = { held: 0, requested: 0 };
const wakeLock = { async request(kind) {
  assert.equal(kind, "screen");
  locks.requested += 1;
  locks.held += 1;
  return { release: () => { locks.held -= 1; } };
} };

class Peer extends EventTarget {
  static all = [];
  connectionState = "new";
  senders = [];
  constructor() { super(); Peer.all.push(this); }
  static get last() { return Peer.all.at(-1); }
  addTransceiver(track) {
    const sender = { track, async replaceTrack(next) { this.track = next; } };
    this.senders.push(sender);
    return { sender };
  }
  async createOffer() { return { sdp: "a=ice-ufrag:new\r\na=ice-pwd:secret\r\n" }; }
  async setLocalDescription() { this.localDescription = { sdp: "offer" }; }
  async setRemoteDescription() {
    this.connectionState = "connected";
    this.dispatchEvent(new Event("connectionstatechange"));
  }
  async getStats() { return new Map([["o", { type: "outbound-rtp", kind: "video", frameWidth: 640, frameHeight: 360 }]]); }
  close() {}
  get sent() { return this.senders.map(({ track }) => track?.device.deviceId ?? null); }
}

const requests = [], kept = new Map(), onVisible = [];
let measure = null, seen = { viewers: { rtsp: 1, hls: 1 }, latency: 84 };
Object.defineProperty(globalThis, "navigator", { value: { mediaDevices, wakeLock }, configurable: true });
Object.assign(globalThis, {
  RTCPeerConnection: Peer, MediaStream: Stream, isSecureContext: true,
  history: { replaceState: () => {} },
  sessionStorage: { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) },
  location: { href: "https://camera/live/publish", pathname: "/live/publish", hash: "#TOKEN" },
  setInterval: (run) => { measure = run; },
  addEventListener: () => {},
  fetch: async (url, { method = "GET", headers }) => {
    requests.push({ path: url.pathname, method, token: headers.Authorization });
    const fields = { Location: "../live/whip/5", ETag: '"one"' };
    return { ok: true, status: method === "POST" ? 201 : 200, headers: { get: (name) => fields[name] ?? null }, text: async () => "answer", json: async () => seen };
  },
});
Object.assign(document, { body: { dataset: {} }, addEventListener: (_, listener) => onVisible.push(listener) });
element("zoom").parentElement = element("zoom-field");
plugged = [CAMERA("front", "user"), CAMERA("back", "environment", { torch: true, zoom: { min: 1, max: 4, step: 0.5 } }), MICROPHONE("inner"), MICROPHONE("headset")];
await import("../../../Sources/WebPage/Site/publish.mjs");
await settle();

const ALL = plugged;
const tap = async (id) => {
  await element(id).onclick({ currentTarget: element(id) });
  await settle();
};
const choose = async (id, value) => {
  element(id).value = value;
  await element(id).onchange({ target: element(id) });
  await settle();
};
const hide = async (isHidden) => {
  document.hidden = isHidden;
  // By itself the browser releases the lock of a page that is hidden.
  if (isHidden) locks.held = 0;
  for (const listener of onVisible) listener();
  await settle();
};
const options = (id) => element(id).children.map(({ value }) => value);
const preview = () => element("preview").srcObject.getVideoTracks()[0];

beforeEach(async () => {
  if (Peer.all.length) await tap("stop");
  await choose("camera", "");
  await choose("microphone", "");
  [plugged, used] = [[...ALL], []];
  document.hidden = false;
  await tap("start");
  log.length = requests.length = 0;
});

test("the camera at the back is sent first, with the menus of all devices", async () => {
  assert.deepEqual(Peer.last.sent, ["back", "inner"]);
  assert.equal(preview().device.deviceId, "back");
  assert.equal(preview().contentHint, "motion");
  assert.deepEqual([options("camera"), element("camera").value], [["front", "back"], "back"]);
  assert.deepEqual([options("microphone"), element("microphone").value], [["inner", "headset", "none"], "inner"]);
  assert.deepEqual(["flip", "camera", "mute"].map((id) => element(id).hidden), [false, false, false]);
  assert.equal(element("state").textContent, "Live");
});

test("a flip closes the camera before it opens the other one, within the session", async () => {
  const count = Peer.all.length;
  await tap("flip");
  assert.deepEqual(log, ["stop back", "open front"]);
  assert.deepEqual([Peer.last.sent, Peer.all.length], [["front", "inner"], count]);
  assert.equal(element("camera").value, "front");
  await tap("flip");
  assert.deepEqual(log.slice(2), ["stop front", "open back"]);
});

test("cameras that face no side are taken in turn", async () => {
  plugged = [CAMERA("one"), CAMERA("two"), CAMERA("three")];
  await choose("camera", "one");
  for (const next of ["two", "three", "one"]) {
    await tap("flip");
    assert.deepEqual(Peer.last.sent[0], next);
  }
});

test("where the other camera fails, the first one goes on, and the page says so", async () => {
  used = ["front"];
  await tap("flip");
  assert.deepEqual(log, ["stop back", "open back"]);
  assert.equal(element("problem").textContent, "The other camera cannot be used: Could not start video source");
  assert.deepEqual([Peer.last.sent, element("camera").value, preview().device.deviceId], [["back", "inner"], "back", "back"]);
  assert.equal(element("state").textContent, "Live");
  used = [];
  await tap("flip");
  assert.deepEqual([Peer.last.sent[0], element("problem").hidden], ["front", true]);
});

test("where both fail, the page ends the session and says why", async () => {
  used = ["front", "back"];
  await tap("flip");
  assert.ok(!("publishing" in document.body.dataset));
  assert.match(element("problem").textContent, /cannot be used/);
  assert.equal(requests.at(-1).method, "DELETE");
});

test("a device of the menus is opened, and kept for the session of the tab", async () => {
  await choose("camera", "front");
  await choose("microphone", "headset");
  assert.deepEqual(Peer.last.sent, ["front", "headset"]);
  assert.deepEqual(JSON.parse(kept.get("vidicon-publish-devices")), { video: "front", audio: "headset" });
  await tap("stop");
  await tap("start");
  assert.deepEqual(Peer.last.sent, ["front", "headset"]);
  // Both channels of a microphone that has two, of the first one and of each that is chosen.
  assert.ok(wished.length > 2 && wished.every(({ channelCount }) => channelCount.ideal === 2));
});

test("without microphone, chosen before or meanwhile, no audio is sent", async () => {
  const count = Peer.all.length;
  await choose("microphone", "none");
  assert.deepEqual([Peer.last.sent, element("mute").hidden, log], [["back", null], true, ["stop inner"]]);
  await choose("microphone", "inner");
  assert.deepEqual([Peer.last.sent, element("mute").hidden, Peer.all.length], [["back", "inner"], false, count]);
  await tap("stop");
  await choose("microphone", "none");
  await tap("start");
  assert.deepEqual([Peer.last.sent, element("microphone").value], [["back"], "none"]);
  // Audio needs a new session.
  await choose("microphone", "headset");
  await wait(1);
  assert.deepEqual(Peer.last.sent, ["back", "headset"]);
});

test("devices that come and go are in the menus, and one that is gone is replaced", async () => {
  plugged = [...ALL, MICROPHONE("usb")];
  mediaDevices.dispatchEvent(new Event("devicechange"));
  await settle();
  assert.deepEqual(options("microphone"), ["inner", "headset", "usb", "none"]);
  await choose("microphone", "usb");
  const gone = Peer.last.senders[1].track;
  plugged = ALL;
  gone.dispatchEvent(new Event("ended"));
  await settle();
  assert.deepEqual([Peer.last.sent, element("microphone").value], [["back", "inner"], "inner"]);
  assert.equal(element("problem").textContent, "The microphone is gone.");
  // A page that is not shown waits with the camera.
  await hide(true);
  preview().dispatchEvent(new Event("ended"));
  await settle();
  assert.equal(preview().device.deviceId, "back");
  plugged = [CAMERA("front", "user"), MICROPHONE("inner")];
  await hide(false);
  assert.deepEqual([Peer.last.sent[0], element("problem").textContent], ["front", "The camera is gone."]);
  assert.deepEqual([element("flip").hidden, element("camera").hidden], [true, true]);
});

test("a microphone that was muted stays so with the next one", async () => {
  await tap("mute");
  assert.equal(Peer.last.senders[1].track.enabled, false);
  await choose("microphone", "headset");
  assert.equal(Peer.last.senders[1].track.enabled, false);
  await tap("mute");
  assert.equal(Peer.last.senders[1].track.enabled, true);
});

test("light and zoom are there where the camera has them", async () => {
  assert.deepEqual([element("torch").hidden, element("zoom-field").hidden], [false, false]);
  const { min, max, step, value } = element("zoom");
  assert.deepEqual({ min, max, step, value }, { min: 1, max: 4, step: 0.5, value: 1 });
  await tap("torch");
  element("zoom").oninput({ target: { value: "2.5" } });
  await tap("torch");
  assert.deepEqual(preview().constraints, [{ torch: true }, { zoom: 2.5 }, { torch: false }]);
  await tap("torch");
  assert.equal(element("torch").getAttribute("aria-pressed"), "true");
  await tap("flip");
  assert.deepEqual([element("torch").hidden, element("zoom-field").hidden], [true, true]);
  await tap("flip");
  assert.deepEqual([element("torch").hidden, element("torch").getAttribute("aria-pressed")], [false, "false"]);
});

test("a light that cannot be switched is not shown as on", async () => {
  preview().device.isRefusing = true;
  await tap("torch");
  delete preview().device.isRefusing;
  assert.deepEqual([element("torch").getAttribute("aria-pressed"), element("problem").textContent], ["false", "refused"]);
});

test("the screen stays on while the page sends, also after it was hidden", async () => {
  const before = locks.requested;
  assert.equal(locks.held, 1);
  await hide(true);
  await hide(false);
  assert.deepEqual([locks.held, locks.requested], [1, before + 1]);
  assert.ok(requests.some(({ method }) => method === "PATCH"), "ICE is restarted");
  await tap("stop");
  assert.equal(locks.held, 0);
});

test("it shows what viewers see, with the token of the publisher", async () => {
  await measure();
  assert.equal(element("facts").textContent.replaceAll("\u2009", " "), "640 × 360 · 2 viewers, 0.08 s behind");
  assert.equal(element("network").textContent, "Network: good");
  assert.deepEqual(requests.at(-1), { path: "/api/streams/live/publisher", method: "GET", token: "Bearer TOKEN" });
  seen = { viewers: { rtsp: 0, hls: 0 }, latency: 84 };
  await measure();
  assert.match(element("facts").textContent, /· 0 viewers$/);
});
