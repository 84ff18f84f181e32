import assert from "node:assert/strict";
import { test } from "node:test";
import { iceServersOf, restartedAnswer, restartFragment } from "../../../Sources/WebPage/Site/ice.mjs";
import { captureTime, inStereo, Unavailable, WebRTCPlayer } from "../../../Sources/WebPage/Site/webrtc-player.mjs";

/** Lines of Chromium's offer. */
const OPUS = "a=rtpmap:111 opus/48000/2\r\na=rtcp-fb:111 transport-cc\r\na=fmtp:111 minptime=10;useinbandfec=1";

/** A connection whose state and statistics tests set. */
class Peer extends EventTarget {
  static last = null;
  connectionState = "new";
  localDescription = null;
  remoteDescription = null;
  frames = 0;
  isClosed = false;
  direction = "recvonly";
  offers = [];
  descriptions = [];

  protocol = "udp";
  playoutTimestamp = 3_900_000_000_000;

  constructor(configuration) {
    super();
    this.configuration = configuration;
    Peer.last = this;
  }

  addTransceiver() {}
  async setLocalDescription({ type, sdp }) {
    assert.equal(type, "offer");
    this.localDescription = { type, sdp };
    this.descriptions.push(sdp);
  }
  async setRemoteDescription(description) { this.remoteDescription = description; }
  async createOffer(options) {
    if (!options) return { type: "offer", sdp: `${OPUS}\r\n` };
    this.offers.push(options);
    return { type: "offer", sdp: `v=0\r\na=ice-ufrag:new\r\na=ice-pwd:secret\r\n${OPUS}\r\n` };
  }
  getTransceivers() { return [{ receiver: { track: { kind: "video" } }, currentDirection: this.direction }]; }
  async getStats() {
    if (this.isWithoutMedia) return new Map();
    return new Map([["v", { type: "inbound-rtp", kind: "video", framesDecoded: this.frames, bytesReceived: this.frames * 1000,
      estimatedPlayoutTimestamp: this.playoutTimestamp }],
    ["t", { type: "transport", selectedCandidatePairId: "p" }], ["p", { type: "candidate-pair", localCandidateId: "l", currentRoundTripTime: 0.04 }],
    ["l", { type: "local-candidate", protocol: this.protocol }]]);
  }
  close() { this.isClosed = true; }
  become(state) {
    this.connectionState = state;
    this.dispatchEvent(new Event("connectionstatechange"));
  }
}

globalThis.RTCPeerConnection = Peer;
globalThis.MediaStream = class { addTrack() {} };
globalThis.location = { href: "http://camera/live" };

/** Runs a player against responses; returns what it requested. */
function begin(context, respond) {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const requests = [];
  globalThis.fetch = async (url, { method, body, headers }) => {
    requests.push({ url: url.href, method, body, headers });
    return respond(method);
  };
  const played = [];
  const video = {};
  const player = new WebRTCPlayer(video, { play: () => played.push(true), buffering() {} });
  return { player, requests, played, video, result: player.run("http://camera/live/whep").catch((error) => error) };
}

const response = (status, text, fields = {}) =>
  ({ status, text: async () => text, headers: { get: (name) => fields[name] ?? null } });
const ANSWER = "v=0\r\na=ice-ufrag:one\r\na=ice-pwd:old\r\nm=audio\r\na=ice-ufrag:one\r\na=ice-pwd:old\r\n";
const created = () => response(201, ANSWER, { Location: "../live/whep/5", ETag: '"one"' });
/** Lets promises run until nothing follows. */
const settle = async () => { for (let step = 0; step < 50; step += 1) await Promise.resolve(); };

test("plays, measures, and ends the session", async (context) => {
  const { player, requests, played, video, result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  assert.equal(requests[0].body, `${OPUS};stereo=1\r\n`);
  assert.equal(requests[0].headers["Content-Type"], "application/sdp");
  assert.equal(Peer.last.remoteDescription.sdp, ANSWER);
  assert.ok(video.srcObject instanceof MediaStream);
  Peer.last.frames = 3;
  context.mock.timers.tick(500);
  await settle();
  assert.equal(played.length, 1);
  assert.ok(Math.abs(player.capturedAt() - (3_900_000_000_000 - 2_208_988_800_000)) < 5000);
  player.close();
  await settle();
  assert.equal((await result).name, "AbortError");
  assert.deepEqual([requests[1].method, requests[1].url], ["DELETE", "http://camera/live/whep/5"]);
  assert.ok(Peer.last.isClosed && video.srcObject === null);
});

test("every offer asks for both channels of Opus, and once", () => {
  const offer = (...lines) => ["v=0", "m=audio 9 UDP/TLS/RTP/SAVPF 111 109", "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111", ...lines, ""].join("\r\n");
  assert.equal(inStereo(offer(OPUS, "a=ptime:20")), offer(`${OPUS};stereo=1`, "a=ptime:20"));
  // Firefox has it; what is sent is not what is received; without parameters, and with the map behind them.
  const firefox = offer("a=rtpmap:109 opus/48000/2", "a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1");
  assert.equal(inStereo(firefox), firefox);
  assert.equal(inStereo(offer("a=rtpmap:109 opus/48000/2", "a=fmtp:109 sprop-stereo=1")),
    offer("a=rtpmap:109 opus/48000/2", "a=fmtp:109 sprop-stereo=1;stereo=1"));
  assert.equal(inStereo(offer("a=rtpmap:109 opus/48000/2", "a=sendrecv")), offer("a=rtpmap:109 opus/48000/2", "a=fmtp:109 stereo=1", "a=sendrecv"));
  assert.equal(inStereo(offer("a=fmtp:109 minptime=10", "a=rtpmap:109 OPUS/48000/2")), offer("a=fmtp:109 minptime=10;stereo=1", "a=rtpmap:109 OPUS/48000/2"));
  for (const other of [offer(), offer("a=rtpmap:111 multiopus/48000/6"), "offer"]) assert.equal(inStereo(other), other);
});

test("a server without WebRTC, an offer that does not fit, a video line that is refused: another way at once", async (context) => {
  for (const status of [406, 503]) {
    const { result } = begin(context, () => response(status, "no"));
    const error = await result;
    assert.ok(error instanceof Unavailable);
    assert.equal(error.isTemporary, status === 503);
    context.mock.timers.reset();
  }
  const { result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  Peer.last.direction = "inactive";
  assert.ok(await result instanceof Unavailable);
});

test("a stream that is not there yet, or no longer, is tried again", async (context) => {
  for (const status of [404, 409]) {
    const { result } = begin(context, () => response(status, "no video yet"));
    const error = await result;
    assert.ok(!(error instanceof Unavailable));
    assert.equal(error.status, status);
    context.mock.timers.reset();
  }
});

test("the servers of Link fields are used from the first connection that knows them", async (context) => {
  const link = '<stun:a.example>; rel="ice-server", <turn:b.example?transport=tcp>; rel="ice-server"; username="u,s"; credential="p;w"; '
    + 'credential-type="password", </x>; rel="next", <stun:c.example>';
  const servers = [{ urls: "stun:a.example" }, { urls: "turn:b.example?transport=tcp", username: "u,s", credential: "p;w" }];
  assert.deepEqual(iceServersOf(link), servers);
  assert.deepEqual(iceServersOf(null), []);
  const answer = () => response(201, ANSWER, { Location: "/live/whep/5", ETag: '"one"', Link: link });
  const first = begin(context, (method) => method === "POST" ? answer() : response(200, ""));
  await settle();
  assert.deepEqual(first.requests.map(({ method }) => method), ["POST", "DELETE", "POST"]);
  assert.deepEqual(Peer.last.configuration, { iceServers: servers });
  first.player.halt();
  await first.result;
  context.mock.timers.reset();
  const second = begin(context, (method) => method === "POST" ? answer() : response(200, ""));
  await settle();
  assert.deepEqual(second.requests.map(({ method }) => method), ["POST"]);
  second.player.halt();
  await second.result;
  context.mock.timers.reset();
  // The server has none any more.
  const third = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  assert.deepEqual(Peer.last.configuration, { iceServers: [] });
  third.player.halt();
  await third.result;
});

test("a change of the network restarts ICE once frames were shown", async (context) => {
  const { player, requests, result } = begin(context, (method) => ({
    POST: created(), PATCH: response(200, "a=ice-ufrag:two\r\na=ice-pwd:fresh\r\n", { ETag: '"two"' }), DELETE: response(200, "") })[method]);
  await settle();
  player.recover();
  await settle();
  assert.deepEqual(requests.map(({ method }) => method), ["POST"]);
  Peer.last.frames = 1;
  context.mock.timers.tick(500);
  await settle();
  player.recover();
  await settle();
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "PATCH"]);
  player.halt();
  await result;
});

test("media over TCP is reported", async (context) => {
  const { player, result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  Peer.last.protocol = "tcp";
  Peer.last.frames = 1;
  context.mock.timers.tick(500);
  await settle();
  assert.ok(player.isOverTCP);
  player.halt();
  await result;
});

test("a connection that fails before the first frame is another way's, after it a new one's", async (context) => {
  const first = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  Peer.last.become("failed");
  assert.ok(await first.result instanceof Unavailable);
  context.mock.timers.reset();
  const second = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  Peer.last.frames = 1;
  context.mock.timers.tick(500);
  await settle();
  Peer.last.become("failed");
  const error = await second.result;
  assert.ok(!(error instanceof Unavailable) && error.message.includes("lost"));
});

/** A clock that tests set; `pass` lets the player measure every half second until a time. */
function clockOf(context) {
  let now = 10_000;
  context.mock.method(performance, "now", () => now);
  return {
    async pass(milliseconds) {
      for (const end = now + milliseconds; now < end;) {
        now += 500;
        context.mock.timers.tick(500);
        await settle();
      }
    },
  };
}

test("another way is tried too where the browser finds no address of its own, and reports nothing", async (context) => {
  const clock = clockOf(context);
  const { result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  Peer.last.isWithoutMedia = true;
  await clock.pass(6500);
  assert.ok(await result instanceof Unavailable);
});

test("without a frame for six seconds another way is tried, as where the network drops UDP", async (context) => {
  const clock = clockOf(context);
  const { requests, played, result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  let failure = null;
  result.then((error) => { failure = error; });
  await settle();
  await clock.pass(6000);
  assert.equal(failure, null);
  await clock.pass(500);
  assert.ok(failure instanceof Unavailable);
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "DELETE"]);
  assert.equal(played.length, 0);
});

test("five seconds without a frame, while the connection counts as alive, end it for a new one", async (context) => {
  const clock = clockOf(context);
  const { requests, result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  let failure = null;
  result.then((error) => { failure = error; });
  await settle();
  // Later than the time for the first frame, so that only the time since the last one counts.
  for (let second = 0; second < 8; second += 1) {
    Peer.last.frames += 30;
    await clock.pass(1000);
  }
  await clock.pass(4500);
  assert.equal(failure, null);
  // A single frame is enough.
  Peer.last.frames += 1;
  await clock.pass(5500);
  assert.equal(failure, null);
  await clock.pass(500);
  assert.ok(failure && !(failure instanceof Unavailable) && failure.message.includes("No video"));
  assert.equal(failure.status, 0);
  assert.deepEqual(requests.map(({ method }) => method), ["POST", "DELETE"]);
});

test("after a change of the network ICE is restarted, with the entity tag of the session", async (context) => {
  const fragment = "a=ice-ufrag:two\r\na=ice-pwd:fresh\r\n";
  const { player, requests, result } = begin(context, (method) => ({
    POST: created(), PATCH: response(200, fragment, { ETag: '"two"' }), DELETE: response(200, "") })[method]);
  await settle();
  Peer.last.become("disconnected");
  await settle();
  assert.deepEqual(Peer.last.offers, [{ iceRestart: true }]);
  // A restart leaves both channels.
  assert.ok(Peer.last.descriptions.length === 2 && Peer.last.descriptions.every((sdp) => sdp.endsWith(`${OPUS};stereo=1\r\n`)));
  assert.equal(requests[1].headers["If-Match"], '"one"');
  assert.equal(requests[1].body, "a=ice-ufrag:new\r\na=ice-pwd:secret\r\n");
  assert.equal(Peer.last.remoteDescription.sdp, ANSWER.replaceAll("one", "two").replaceAll("old", "fresh"));
  player.halt();
  assert.equal((await result).name, "AbortError");
});

test("a session that is gone is opened again", async (context) => {
  const { result } = begin(context, (method) => method === "POST" ? created() : response(404, ""));
  await settle();
  Peer.last.become("disconnected");
  assert.equal((await result).status, 404);
});

test("times of capture count from 1900 or 1970, and may be missing", () => {
  assert.equal(captureTime({ estimatedPlayoutTimestamp: 3_900_000_000_000 }), 1_691_011_200_000);
  assert.equal(captureTime({ estimatedPlayoutTimestamp: 1_691_011_200_000 }), 1_691_011_200_000);
  assert.equal(captureTime({}), null);
});

test("without a time of capture, a frame's age counts from its sending, half a round trip before it was received", async (context) => {
  const { player, result } = begin(context, (method) => method === "POST" ? created() : response(200, ""));
  await settle();
  assert.equal(player.capturedAt(0, 5000), null);
  Peer.last.playoutTimestamp = undefined;
  Peer.last.frames = 1;
  context.mock.timers.tick(500);
  await settle();
  assert.equal(player.capturedAt(0, 5000), 4980);
  assert.equal(player.capturedAt(0, undefined), null);
  player.halt();
  await result;
});

test("credentials with characters of replacements are kept", () => {
  assert.equal(restartedAnswer("a=ice-ufrag:x\r\na=ice-pwd:y\r\n", "a=ice-ufrag:$&\r\na=ice-pwd:$1\r\n"),
    "a=ice-ufrag:$&\r\na=ice-pwd:$1\r\n");
  assert.equal(restartFragment("v=0\r\na=ice-pwd:p\r\na=ice-ufrag:u\r\n"), "a=ice-ufrag:u\r\na=ice-pwd:p\r\n");
});
