import assert from "node:assert/strict";
import { test } from "node:test";
import { networkQuality, Publisher } from "../../../Sources/WebPage/Site/publisher.mjs";

/** A connection whose state tests set. */
class Peer extends EventTarget {
  static all = [];
  connectionState = "new";
  localDescription = null;
  remoteDescription = null;
  isClosed = false;
  senders = [];
  offers = [];

  constructor(configuration) {
    super();
    this.configuration = configuration;
    Peer.all.push(this);
  }

  static get last() { return Peer.all.at(-1); }

  addTransceiver(track, options) {
    assert.deepEqual(options, { direction: "sendonly" });
    const sender = { track, async replaceTrack(next) { this.track = next; } };
    this.senders.push(sender);
    return { sender };
  }
  async setLocalDescription(offer) { this.localDescription = offer ?? { sdp: "offer" }; }
  async setRemoteDescription(description) { this.remoteDescription = description; }
  async createOffer(options) {
    this.offers.push(options);
    return { sdp: "v=0\r\na=ice-ufrag:new\r\na=ice-pwd:secret\r\n" };
  }
  async getStats() {
    return new Map([["o", { type: "outbound-rtp", kind: "video", frameWidth: 640, frameHeight: 360 }],
      ["r", { type: "remote-inbound-rtp", kind: "video", fractionLost: 0.05, roundTripTime: 0.02 }]]);
  }
  close() { this.isClosed = true; }
  become(state) {
    this.connectionState = state;
    this.dispatchEvent(new Event("connectionstatechange"));
  }
}

globalThis.RTCPeerConnection = Peer;
globalThis.location = { href: "https://camera/live/publish" };

const response = (status, text, fields = {}) =>
  ({ status, text: async () => text, headers: { get: (name) => fields[name] ?? null } });
const ANSWER = "v=0\r\na=ice-ufrag:one\r\na=ice-pwd:old\r\n";
const created = (fields = {}) => response(201, ANSWER, { Location: "../live/whip/5", ETag: '"one"', ...fields });
/** Lets promises run until nothing follows. */
const settle = async () => { for (let step = 0; step < 50; step += 1) await Promise.resolve(); };
const TRACKS = [{ kind: "video", id: 1 }, { kind: "audio", id: 2 }];

/** Starts a publisher against responses; returns its requests and states. */
async function begin(context, respond) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  Peer.all = [];
  const requests = [], states = [];
  globalThis.fetch = async (url, { method, body, headers }) => {
    requests.push({ url: url.href, method, body, headers });
    return respond(method, requests.length);
  };
  const publisher = new Publisher("/live/whip", "TOKEN", (state, message) => states.push(message ? `${state}: ${message}` : state));
  publisher.start(TRACKS);
  await settle();
  return { publisher, requests, states, tick: async (milliseconds) => { context.mock.timers.tick(milliseconds); await settle(); } };
}

test("sends its tracks with the token in a field, never in the address, and ends the session", async (context) => {
  const { publisher, requests, states } = await begin(context, (method) => method === "POST" ? created() : response(200, ""));
  assert.deepEqual(Peer.last.senders.map(({ track }) => track.kind), ["video", "audio"]);
  assert.equal(requests[0].url, "https://camera/live/whip");
  assert.deepEqual(requests[0].headers, { "Content-Type": "application/sdp", Authorization: "Bearer TOKEN" });
  assert.equal(Peer.last.remoteDescription.sdp, ANSWER);
  Peer.last.become("connected");
  assert.deepEqual(states, ["connecting", "live"]);
  assert.deepEqual(await publisher.measure(), { width: 640, height: 360, quality: "fair" });
  publisher.stop();
  await settle();
  assert.deepEqual([requests[1].method, requests[1].url], ["DELETE", "https://camera/live/whip/5"]);
  assert.equal(requests[1].headers.Authorization, "Bearer TOKEN");
  assert.ok(Peer.last.isClosed && Peer.all.length === 1);
  assert.equal(await publisher.measure(), null);
  assert.ok(requests.every(({ url }) => !url.includes("TOKEN")));
});

test("another publisher is not displaced until a person wishes it", async (context) => {
  let isTaken = true;
  const { publisher, requests, states, tick } = await begin(context, (method) => {
    if (method !== "POST") return response(200, "");
    return isTaken ? response(409, "taken", { "Retry-After": "3" }) : created();
  });
  assert.deepEqual(states, ["connecting", "taken"]);
  await tick(2999);
  assert.equal(requests.length, 1);
  await tick(1);
  assert.deepEqual(requests.map(({ url }) => url), ["https://camera/live/whip", "https://camera/live/whip"]);
  isTaken = false;
  publisher.takeOver();
  await settle();
  assert.equal(requests[2].url, "https://camera/live/whip?takeover=1");
  Peer.last.become("connected");
  // Displaced itself, it tries as a program: without the wish.
  isTaken = true;
  Peer.last.become("closed");
  await settle();
  await tick(1000);
  assert.equal(requests.at(-1).url, "https://camera/live/whip");
  assert.equal(states.at(-1), "taken");
  publisher.stop();
});

test("a wrong token, a stream without the source, an offer that cannot be answered: no further attempt", async (context) => {
  for (const status of [401, 403, 404, 422]) {
    const { requests, states, tick } = await begin(context, () => response(status, " no \n"));
    assert.deepEqual(states, ["connecting", "refused: no"]);
    await tick(60_000);
    assert.equal(requests.length, 1);
    context.mock.timers.reset();
  }
});

test("a lost connection is made again, the later the more often it fails", async (context) => {
  let fails = false;
  const { publisher, requests, states, tick } = await begin(context, (method) => {
    if (fails) throw new TypeError("no network");
    return method === "POST" ? created() : response(200, "");
  });
  Peer.last.become("connected");
  fails = true;
  Peer.last.become("failed");
  await settle();
  assert.equal(states.at(-1), "waiting");
  const posts = () => requests.filter(({ method }) => method === "POST").length;
  for (const delay of [500, 1000, 2000, 4000, 4000]) {
    const before = posts();
    await tick(delay - 1);
    assert.equal(posts(), before, `${delay}`);
    await tick(1);
    assert.equal(posts(), before + 1, `${delay}`);
  }
  fails = false;
  await tick(4000);
  Peer.last.become("connected");
  assert.equal(states.at(-1), "live");
  publisher.stop();
});

test("servers of STUN and TURN that the answer names are used at once, by a session that follows the first one", async (context) => {
  const Link = '<stun:a.example>; rel="ice-server"', servers = [{ urls: "stun:a.example" }];
  let ended;
  const { publisher, requests, states, tick } = await begin(context, (method) =>
    method === "POST" ? created({ Link }) : new Promise((resolve) => { ended = () => resolve(response(200, "")); }));
  // The server refuses a second publisher while it has the first one.
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "DELETE"]);
  assert.ok(Peer.all.length === 1 && Peer.last.isClosed && Peer.last.remoteDescription === null);
  ended();
  await settle();
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "DELETE", "POST"]);
  assert.deepEqual(Peer.all.map(({ configuration }) => configuration.iceServers), [[], servers]);
  assert.deepEqual(Peer.last.senders.map(({ track }) => track.id), [1, 2]);
  Peer.last.become("connected");
  assert.deepEqual(states, ["connecting", "live"]);
  // Later sessions have them from the start.
  Peer.last.become("failed");
  await settle();
  ended();
  await tick(500);
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "DELETE", "POST", "DELETE", "POST"]);
  assert.deepEqual([Peer.all.length, Peer.last.configuration.iceServers], [3, servers]);
  publisher.stop();
});

test("a stop between the two sessions is the last one", async (context) => {
  let ended;
  const { publisher, requests } = await begin(context, (method) => method === "POST"
    ? created({ Link: '<stun:a.example>; rel="ice-server"' }) : new Promise((resolve) => { ended = () => resolve(response(200, "")); }));
  publisher.stop();
  ended();
  await settle();
  assert.deepEqual([requests.map(({ method }) => method), Peer.all.length], [["POST", "DELETE"], 1]);
});

test("a server that is busy is not asked again before the time that it names, at most a minute", async (context) => {
  for (const [seconds, delay] of [["5", 5000], ["3600", 60_000], ["Sun, 29 Nov 2026 08:00:00 GMT", 500], [null, 500]]) {
    const { publisher, requests, states, tick } = await begin(
      context, () => response(503, "too many sessions", { "Retry-After": seconds }));
    assert.deepEqual(states, ["connecting", "waiting"]);
    await tick(delay - 1);
    assert.equal(requests.length, 1, `${seconds}`);
    await tick(1);
    assert.equal(requests.length, 2, `${seconds}`);
    publisher.stop();
    await settle();
    context.mock.timers.reset();
  }
});

test("after a change of the network ICE is restarted; a session that is gone is opened again", async (context) => {
  let status = 200;
  const { publisher, requests, states, tick } = await begin(context, (method) => {
    if (method === "PATCH") return response(status, "a=ice-ufrag:two\r\na=ice-pwd:new\r\n", { ETag: '"two"' });
    return method === "POST" ? created() : response(200, "");
  });
  Peer.last.become("connected");
  publisher.recover();
  await settle();
  assert.equal(requests[1].method, "PATCH");
  assert.deepEqual(requests[1].headers, {
    "Content-Type": "application/trickle-ice-sdpfrag", "If-Match": '"one"', Authorization: "Bearer TOKEN" });
  assert.equal(requests[1].body, "a=ice-ufrag:new\r\na=ice-pwd:secret\r\n");
  assert.equal(Peer.last.remoteDescription.sdp, "v=0\r\na=ice-ufrag:two\r\na=ice-pwd:new\r\n");
  status = 404;
  Peer.last.become("disconnected");
  await settle();
  assert.equal(requests.filter(({ method }) => method === "PATCH")[1].headers["If-Match"], '"two"');
  assert.equal(states.at(-1), "waiting");
  await tick(1000);
  assert.equal(Peer.all.length, 2);
  assert.equal(states.at(-1), "connecting");
  publisher.stop();
});

test("another camera is sent within the session, and in the next one", async (context) => {
  const { publisher, tick } = await begin(context, (method) => method === "POST" ? created() : response(200, ""));
  Peer.last.become("connected");
  const other = { kind: "video", id: 3 };
  await publisher.replace("video", other);
  assert.deepEqual(Peer.last.senders.map(({ track }) => track.id), [3, 2]);
  assert.equal(Peer.all.length, 1);
  Peer.last.become("failed");
  await settle();
  await tick(1000);
  assert.deepEqual(Peer.last.senders.map(({ track }) => track.id), [3, 2]);
  publisher.stop();
});

test("a person's wish to take over, and a track that is exchanged, hold for both sessions", async (context) => {
  let ended;
  const { publisher, requests } = await begin(context, (method, count) => count === 1 ? response(409, "taken") : method === "POST"
    ? created({ Link: '<stun:a.example>; rel="ice-server"' }) : new Promise((resolve) => { ended = () => resolve(response(200, "")); }));
  publisher.takeOver();
  await settle();
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "POST", "DELETE"]);
  await publisher.replace("video", { kind: "video", id: 3 });
  await settle();
  ended();
  await settle();
  assert.deepEqual(requests.map(({ url }) => url.endsWith("?takeover=1")), [false, true, false, true]);
  assert.deepEqual([Peer.all.length, Peer.last.senders.map(({ track }) => track.id)], [3, [3, 2]]);
  publisher.stop();
});

test("a microphone is switched off and on within the session; one that the session did not have needs a new one", async (context) => {
  const { publisher, requests, tick } = await begin(context, (method) => method === "POST" ? created() : response(200, ""));
  Peer.last.become("connected");
  await publisher.replace("audio", null);
  await publisher.replace("audio", { kind: "audio", id: 4 });
  assert.deepEqual([Peer.last.senders.map(({ track }) => track.id), Peer.all.length], [[1, 4], 1]);
  await publisher.replace("audio", null);
  Peer.last.become("failed");
  await settle();
  await tick(1000);
  Peer.last.become("connected");
  assert.deepEqual([Peer.last.senders.map(({ track }) => track.id), Peer.all.length], [[1], 2]);
  await publisher.replace("audio", null);
  assert.equal(Peer.all.length, 2);
  await publisher.replace("audio", { kind: "audio", id: 5 });
  await settle();
  assert.equal(requests.at(-1).method, "DELETE");
  await tick(500);
  assert.deepEqual([Peer.last.senders.map(({ track }) => track.id), Peer.all.length], [[1, 5], 3]);
  publisher.stop();
});

test("a session that is opened after the stop is ended", async (context) => {
  const answers = [];
  const { publisher, requests } = await begin(context, (method) =>
    method === "POST" ? new Promise((resolve) => { answers.push(resolve); }) : response(200, ""));
  publisher.stop();
  publisher.start(TRACKS);
  await settle();
  answers[0](created());
  await settle();
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "POST", "DELETE"]);
  assert.deepEqual([Peer.all.length, Peer.all[1].isClosed], [2, false]);
  answers[1](created());
  await settle();
  assert.equal(Peer.all[1].remoteDescription.sdp, ANSWER);
  publisher.stop();
});

test("the quality of the network is that of its worse measure", () => {
  assert.deepEqual([{}, { fractionLost: 0.03 }, { roundTripTime: 0.3 }, { fractionLost: 0.1 }, { roundTripTime: 1, fractionLost: 0 }]
    .map(networkQuality), ["good", "fair", "fair", "poor", "poor"]);
});
