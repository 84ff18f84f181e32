// Publisher over WebRTC: WHIP, RFC 9725. It connects again by itself, and never displaces another publisher by itself.

import { iceServersOf, restart } from "./ice.mjs";
import { urlOf } from "./root.mjs";

/** Times between attempts, in milliseconds: the last one repeats. */
const DELAYS = [500, 1000, 2000, 4000];
/** Maximum time before an attempt that the server may name, in seconds. */
const MAXIMUM_DELAY = 60;
/** Statuses after which another attempt has the same result. */
const FINAL = [400, 401, 403, 404, 422];

/** The quality of the network from what the server reports, 0 to 1 and seconds: "good", "fair" or "poor". */
export function networkQuality({ fractionLost = 0, roundTripTime = 0 }) {
  if (fractionLost > 0.08 || roundTripTime > 0.6) return "poor";
  return fractionLost > 0.02 || roundTripTime > 0.25 ? "fair" : "good";
}

export class Publisher {
  #url;
  #token;
  #show;
  #tracks = [];
  /** Senders of the session by kind. */
  #senders = {};
  #peer = null;
  #session = null;
  /** Entity tag and answer of the session. */
  #state = {};
  #iceServers = [];
  /** Identifies the current call of `start`; null when stopped. */
  #run = null;
  #isRestarting = false;
  #takesOver = false;
  #fail = () => {};
  #wake = () => {};
  #timer = null;

  /**
   * @param {string} url The stream's endpoint.
   * @param {(state: "connecting"|"live"|"waiting"|"taken"|"refused", message?: string) => void} show Called with each state.
   */
  constructor(url, token, show) {
    this.#url = url;
    this.#token = token;
    this.#show = show;
  }

  /** Publishes tracks until `stop`, or the server refuses them for good. Call it when stopped. */
  async start(tracks) {
    this.#tracks = tracks;
    const run = this.#run = {};
    for (let attempt = 0; run === this.#run; attempt += 1) {
      const broken = new Promise((_, reject) => { this.#fail = reject; });
      broken.catch(() => {});
      try {
        this.#show("connecting");
        await Promise.race([this.#connect(() => { attempt = 0; }), broken]);
        await broken;
      } catch (error) {
        if (run !== this.#run) return;
        this.#end();
        if (FINAL.includes(error.status)) {
          this.#run = null;
          return this.#show("refused", error.message);
        }
        this.#show(error.status === 409 ? "taken" : "waiting");
        await this.#pause(Math.max(DELAYS[Math.min(attempt, DELAYS.length - 1)], (error.seconds ?? 0) * 1000));
      }
    }
  }

  /** Displaces the other publisher: the wish of a person. */
  takeOver() {
    this.#takesOver = true;
    this.#wake();
  }

  /** Ends the session. */
  stop() {
    this.#run = null;
    this.#fail(new Error("stopped"));
    this.#wake();
    this.#end();
  }

  /** Sends another track of a kind, or none, within the session; a kind that it does not have needs a new one. */
  async replace(kind, track) {
    const isNew = !this.#tracks.some((other) => other.kind === kind);
    this.#tracks = isNew ? [...this.#tracks, track] : this.#tracks.map((other) => other.kind === kind ? track : other);
    this.#tracks = this.#tracks.filter(Boolean);
    const sender = this.#senders[kind];
    if (sender) await sender.replaceTrack(track);
    // Without a connection the next one has it.
    else if (track && this.#peer) this.#fail(new Error("another track"));
  }

  /** Call it when the network has changed, or the page is visible again. */
  recover() {
    if (this.#session) this.#restart();
    else this.#wake();
  }

  /** Size of the sent video and quality of the network; null without a connection. */
  async measure() {
    const reports = [...(await this.#peer?.getStats().catch(() => null) ?? new Map()).values()];
    const video = reports.find(({ type, kind }) => type === "outbound-rtp" && kind === "video");
    if (!video) return null;
    const remote = reports.find(({ type, kind }) => type === "remote-inbound-rtp" && kind === "video") ?? {};
    return { width: video.frameWidth, height: video.frameHeight, quality: networkQuality(remote) };
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#timer = setTimeout(resolve, milliseconds);
    }).finally(() => clearTimeout(this.#timer));
  }

  #end() {
    if (this.#session) this.#delete(this.#session);
    this.#peer?.close();
    this.#peer = this.#session = null;
    this.#senders = {};
  }

  #delete(session) {
    return this.#request(session, { method: "DELETE", keepalive: true }).catch(() => {});
  }

  /** Opens a session; once more where the answer names other servers of STUN and TURN than the connection has. */
  async #connect(connected) {
    const run = this.#run;
    const url = this.#takesOver ? `${this.#url}?takeover=1` : this.#url;
    this.#takesOver = false;
    let response = await this.#open(url, connected);
    const servers = iceServersOf(response.headers.get("Link"));
    if (JSON.stringify(servers) !== JSON.stringify(this.#iceServers)) {
      this.#iceServers = servers;
      const session = this.#session;
      this.#session = null;
      this.#end();
      // The server has one publisher at a time: the next session waits for the end of this one.
      await this.#delete(session);
      if (run !== this.#run) return;
      response = await this.#open(url, connected);
    }
    const peer = this.#peer;
    this.#state = { entityTag: response.headers.get("ETag"), answer: await response.text() };
    await peer.setRemoteDescription({ type: "answer", sdp: this.#state.answer });
  }

  /** Offers the tracks; sets the session, and returns the response with the answer. Throws when it was stopped meanwhile. */
  async #open(url, connected) {
    const peer = this.#peer = new RTCPeerConnection({ iceServers: this.#iceServers });
    this.#senders = Object.fromEntries(
      this.#tracks.map((track) => [track.kind, peer.addTransceiver(track, { direction: "sendonly" }).sender]));
    peer.addEventListener("connectionstatechange", () => {
      if (peer !== this.#peer) return;
      const state = peer.connectionState;
      if (state === "connected") {
        connected();
        this.#show("live");
      }
      if (state === "failed" || state === "closed") this.#fail(new Error("lost"));
      if (state === "disconnected") this.#restart();
    });
    await peer.setLocalDescription();
    const response = await this.#request(url, {
      method: "POST", body: peer.localDescription.sdp, headers: { "Content-Type": "application/sdp" } });
    if (response.status !== 201) {
      throw Object.assign(new Error((await response.text()).trim()), {
        status: response.status, seconds: Math.min(Number(response.headers.get("Retry-After")) || 0, MAXIMUM_DELAY) });
    }
    const session = new URL(response.headers.get("Location"), urlOf(url)).href;
    // Stopped meanwhile: the session must not live on.
    if (peer !== this.#peer) {
      this.#delete(session);
      throw new Error("stopped");
    }
    this.#session = session;
    return response;
  }

  #request(url, { headers, ...options }) {
    return fetch(urlOf(url), { ...options, headers: { ...headers, Authorization: `Bearer ${this.#token}` } });
  }

  /** Restarts ICE after the network has changed; keys and media go on. */
  async #restart() {
    if (this.#isRestarting) return;
    this.#isRestarting = true;
    const peer = this.#peer;
    try {
      await restart(peer, this.#state, (options) => this.#request(this.#session, options));
    } catch {
      // A session that is gone, as after a restart of the server, is opened again.
      if (peer === this.#peer) this.#fail(new Error("lost"));
    } finally {
      this.#isRestarting = false;
    }
  }
}
