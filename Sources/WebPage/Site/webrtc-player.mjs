// Player of WebRTC, with the interface of `StreamPlayer`. An instance plays once, until it fails, ends or is closed.

import { iceServersOf, restart } from "./ice.mjs";
import { operatorToken } from "./operator-token.mjs";
import { RequestError } from "./requests.mjs";
import { urlOf } from "./root.mjs";
import { clock } from "./server.mjs";

/** Time until the first frame after which another way is tried: a network that blocks UDP gives no error. Milliseconds. */
const PATIENCE = 6000;
/** Time without a frame after which a connection that is reported as alive is dead, in milliseconds. */
const SILENCE = 5000;
/** Interval of the measurements, in milliseconds. */
const TICK = 500;
/** From 1900, where NTP begins, to 1970, in milliseconds. */
const NTP_EPOCH = 2_208_988_800_000;

/** WebRTC does not work here: no H.264, no UDP, or the server has it not. */
export class Unavailable extends Error {
  /** Whether that may change: the server has as many sessions as it can. */
  isTemporary = false;
}

/** The time of capture in statistics, in milliseconds since 1970 on the server's clock; null without one. */
export function captureTime(report) {
  const time = report?.estimatedPlayoutTimestamp;
  if (!time) return null;
  return time > NTP_EPOCH ? time - NTP_EPOCH : time;
}

/**
 * An offer that asks for both channels of Opus, RFC 7587 §6.1: Chromium and Safari decode one, whatever the answer says, unless their own
 * description has the parameter.
 */
export function inStereo(offer) {
  const map = /^a=rtpmap:(\d+) opus\/48000\/2/mi.exec(offer);
  if (!map) return offer;
  const [line, payloadType] = map;
  const parameters = new RegExp(`^a=fmtp:${payloadType} ([^\r\n]*)`, "m").exec(offer);
  if (!parameters) return offer.replace(line, () => `${line}\r\na=fmtp:${payloadType} stereo=1`);
  return /(^|;)\s*stereo=/.test(parameters[1]) ? offer : offer.replace(parameters[0], () => `${parameters[0]};stereo=1`);
}

/** ICE servers that the server named last: the first connection is made without. */
let iceServers = [];

export class WebRTCPlayer {
  #video;
  #events;
  #controller = new AbortController();
  #peer = null;
  #session = null;
  /** Entity tag and answer of the session. */
  #state = { entityTag: null, answer: "" };
  #stream = null;
  #fail = () => {};
  #timer = null;
  #frames = 0;
  #lastFrame = 0;
  #hasStarted = false;
  #isRestarting = false;
  /** The last measurement: time of capture, when it was made, received bytes, bitrate. */
  #measured = { capturedAt: null, at: 0, bytes: 0, bitrate: null, halfRoundTrip: 0 };

  /**
   * @param {HTMLVideoElement} video
   * @param {{play: () => void, buffering: (isBuffering: boolean) => void}} options As of `StreamPlayer`.
   */
  constructor(video, events) {
    this.#video = video;
    this.#events = events;
  }

  /** Plays; throws on failure: `Unavailable` where another way should be tried at once. */
  async run(url) {
    const broken = new Promise((_, reject) => { this.#fail = reject; });
    broken.catch(() => {});
    try {
      await Promise.race([this.#connect(url), broken]);
      await broken;
    } finally {
      this.halt();
    }
  }

  /** Ends the session; the last frame stays visible. */
  halt() {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort(new DOMException("The player was stopped.", "AbortError"));
    this.#fail(this.#controller.signal.reason);
    clearInterval(this.#timer);
    this.#end();
  }

  #end() {
    this.#peer?.close();
    // The server notices a closed tab too, only later.
    if (this.#session) this.#request(this.#session, { method: "DELETE", keepalive: true }).catch(() => {});
    this.#session = null;
  }

  close() {
    this.halt();
    this.#video.srcObject = null;
  }

  /**
   * Browsers report no time of capture for a stream without audio: then it is the time of sending, half a round trip before the
   * frame was received.
   *
   * @param {number} [receivedAt] Local time at which the frame was received, milliseconds since 1970.
   */
  capturedAt(mediaTime, receivedAt) {
    const { capturedAt, at, halfRoundTrip } = this.#measured;
    if (capturedAt !== null) return capturedAt + (performance.now() - at);
    return at && receivedAt ? receivedAt + clock.offset - halfRoundTrip : null;
  }

  get bitrate() {
    return this.#measured.bitrate;
  }

  /** Whether media comes over TCP: the network carries no UDP. */
  isOverTCP = false;

  goLive() {}

  /** Call it when the network has changed. */
  recover() {
    if (this.#hasStarted) this.#restart();
  }

  async #connect(url) {
    if (!globalThis.RTCPeerConnection) throw new Unavailable("This browser has no WebRTC.");
    let response = await this.#open(url);
    const servers = iceServersOf(response.headers.get("Link"));
    if (JSON.stringify(servers) !== JSON.stringify(iceServers)) {
      iceServers = servers;
      this.#end();
      response = await this.#open(url);
    }
    this.#state.answer = await response.text();
    const peer = this.#peer;
    await peer.setRemoteDescription({ type: "answer", sdp: this.#state.answer });
    if (!peer.getTransceivers().some(({ receiver, currentDirection }) =>
      receiver.track.kind === "video" && currentDirection === "recvonly")) throw new Unavailable("This browser has no H.264 here.");
    this.#video.srcObject = this.#stream;
    this.#lastFrame = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK);
  }

  /** Offers to receive; sets the session, and returns the response with the answer. */
  async #open(url) {
    const peer = this.#peer = new RTCPeerConnection({ iceServers });
    for (const kind of ["video", "audio"]) peer.addTransceiver(kind, { direction: "recvonly" });
    const stream = this.#stream = new MediaStream();
    peer.addEventListener("track", ({ track, receiver }) => {
      // Shows frames when they come: what is late is asked for again meanwhile.
      if (track.kind === "video" && "jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
      stream.addTrack(track);
    });
    peer.addEventListener("connectionstatechange", () => {
      if (peer === this.#peer) this.#handle(peer.connectionState);
    });
    const { sdp } = await peer.createOffer();
    await peer.setLocalDescription({ type: "offer", sdp: inStereo(sdp) });
    const response = await this.#request(url, {
      method: "POST", body: peer.localDescription.sdp, headers: { "Content-Type": "application/sdp" } });
    if (response.status !== 201) {
      const reason = (await response.text()).trim();
      if ([406, 503].includes(response.status)) {
        throw Object.assign(new Unavailable(reason), { isTemporary: response.status === 503 });
      }
      throw new RequestError(reason, response.status);
    }
    this.#session = new URL(response.headers.get("Location"), url).href;
    this.#state.entityTag = response.headers.get("ETag");
    return response;
  }

  /** fetch, with the page's token; `url` is absolute, without credentials. */
  async #request(url, { headers = {}, ...options }) {
    const token = operatorToken();
    const signal = options.method === "DELETE" ? undefined : this.#controller.signal;
    try {
      return await fetch(urlOf(url), {
        ...options, signal, headers: { ...headers, ...(token && { Authorization: `Bearer ${token}` }) } });
    } catch (error) {
      signal?.throwIfAborted();
      throw new RequestError("The server cannot be reached.", 0, { cause: error });
    }
  }

  #handle(state) {
    if (state === "failed" || state === "closed") this.#giveUp("The connection was lost.");
    if (state === "disconnected") this.#restart();
  }

  #giveUp(message) {
    this.#fail(this.#hasStarted ? new RequestError(message, 0) : new Unavailable(message));
  }

  /** Restarts ICE after the network has changed; keys and media go on. */
  async #restart() {
    if (this.#isRestarting || this.#controller.signal.aborted) return;
    this.#isRestarting = true;
    try {
      await restart(this.#peer, this.#state, (options) => this.#request(this.#session, options), inStereo);
    } catch (error) {
      // A session that is gone, as after a restart of the server, is opened again.
      this.#fail(error);
    } finally {
      this.#isRestarting = false;
    }
  }

  async #tick() {
    const reports = await this.#peer.getStats().catch(() => null);
    if (this.#controller.signal.aborted) return;
    const now = performance.now();
    this.#measure(reports ?? new Map(), now);
    // Also where the browser has no report of received video, since it finds no way to the server.
    if (now - this.#lastFrame > (this.#hasStarted ? SILENCE : PATIENCE)) this.#giveUp("No video arrives.");
  }

  #measure(reports, now) {
    const inbound = [...reports.values()].filter(({ type }) => type === "inbound-rtp");
    const video = inbound.find(({ kind }) => kind === "video");
    if (!video) return;
    const pair = reports.get([...reports.values()].find(({ type }) => type === "transport")?.selectedCandidatePairId);
    this.isOverTCP = reports.get(pair?.localCandidateId)?.protocol === "tcp";
    const bytes = inbound.reduce((sum, { bytesReceived = 0 }) => sum + bytesReceived, 0);
    const seconds = (now - this.#measured.at) / 1000;
    const bitrate = this.#measured.at && seconds > 0 ? ((bytes - this.#measured.bytes) * 8) / seconds : null;
    const halfRoundTrip = (pair?.currentRoundTripTime ?? 0) * 500;
    this.#measured = { capturedAt: captureTime(video), at: now, bytes, bitrate, halfRoundTrip };
    const frames = video.framesDecoded ?? 0;
    if (frames > this.#frames) {
      this.#lastFrame = now;
      if (!this.#hasStarted) this.#events.play();
      this.#hasStarted = true;
    }
    this.#frames = frames;
  }
}
