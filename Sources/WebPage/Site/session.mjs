// Keeps a stream playing: creates players, replaces failed ones, and reports the state.

import { DecodeError, StreamPlayer } from "./stream-player.mjs";
import { NativePlayer, MotionJPEGPlayer } from "./other-players.mjs";
import { Unavailable, WebRTCPlayer } from "./webrtc-player.mjs";
import { StreamChanged } from "./loader.mjs";
import { abilitiesOf, waysFor } from "./ways.mjs";
import { levelsOf, QualityController } from "./quality.mjs";
import { pause } from "./requests.mjs";
import { urlOf } from "./root.mjs";

/** Delays before retries in seconds; the last one repeats. */
const BACK_OFF = [0.25, 1, 2, 4, 8];
/** Playing time after which the retry delays start over, in milliseconds. */
const STABLE = 5000;
/** Number of consecutive decode failures before the first frame after which the next way is tried. */
const MAXIMUM_DECODE_FAILURES = 3;

/**
 * @typedef {"connecting"|"playing"|"buffering"|"waiting"|"paused"|"ended"} State
 *   `waiting`: for the next retry.
 */
export class Session {
  #elements;
  #report;
  #stream = null;
  #codecs = "";
  #ways = [];
  /** A better way that was left because the server was busy: it is tried again when the other one was stopped, or fails after playing. */
  #deferred = null;
  #begin;
  #player = null;
  #run = null;
  #state = null;
  #levels = [];
  #quality = null;
  #fixed = null;
  #only = null;
  #mode = "realtime";

  /**
   * @param {{video: HTMLVideoElement, image: HTMLImageElement}} elements
   * @param {(state: State, detail: {message?: string, retryAt?: number}) => void} report Called on each change.
   * @param {() => Promise<void>} begin Starts the video element, muted if the browser requires it.
   */
  constructor(elements, report, begin) {
    this.#elements = elements;
    this.#report = report;
    this.#begin = begin;
  }

  get player() {
    return this.#player;
  }

  /** Way of playing: "webrtc", "stream" (Media Source Extensions), "native" (HLS) or "images" (motion JPEG). */
  get way() {
    return this.#ways[0] ?? null;
  }

  get state() {
    return this.#state;
  }

  /** The renditions to choose from, highest first; empty where there is no choice. */
  get levels() {
    return this.way === "images" ? [] : this.#levels;
  }

  /** The name of the chosen rendition; null for the automatic choice. */
  get quality() {
    return this.#fixed;
  }

  /**
   * Mode of playing: "realtime", "smooth" (not by WebRTC: a buffer outlasts what a bad network does), or "save" (the
   * smallest rendition unless another one is chosen).
   */
  get mode() {
    return this.#mode;
  }

  set mode(mode) {
    this.#mode = mode;
    if (!this.#stream) return;
    this.#chooseWays();
    if (this.#run) this.play();
  }

  /** Whether the server has WebRTC, so that there are modes to choose from. */
  get hasModes() {
    return Boolean(this.#stream?.whep && this.#stream.video);
  }

  set quality(name) {
    this.#fixed = this.#levels.some((level) => level.name === name) ? name : null;
    if (this.way === "stream" && this.#player) this.#player.fixedLevel = this.#fixedIndex;
    else if (this.#run) this.play();
  }

  /** The rendition that is loaded; null while unknown. */
  get level() {
    return this.#levels[this.#player?.level ?? -1] ?? null;
  }

  get #fixedName() {
    return this.#fixed ?? (this.#mode === "save" ? this.#levels.at(-1)?.name : null) ?? null;
  }

  get #fixedIndex() {
    return this.#fixedName === null ? null : this.#levels.findIndex((level) => level.name === this.#fixedName);
  }

  #chooseWays() {
    const ways = this.#only ? [this.#only] : waysFor(abilitiesOf(this.#elements.video, this.#codecs, this.#stream));
    this.#ways = this.#mode === "smooth" && !this.#only ? ways.filter((way) => way !== "webrtc") : ways;
    this.#deferred = null;
  }

  #setStream(stream) {
    this.#stream = stream;
    this.#codecs = [stream.video?.codec, stream.audio?.codec].filter(Boolean).join(",");
    this.#levels = levelsOf(stream);
    this.#quality = this.#levels.length ? new QualityController(this.#levels) : null;
    if (!this.#levels.some((level) => level.name === this.#fixed)) this.#fixed = null;
  }

  /** Plays a stream from `/api/streams`. `only` forces one way. */
  open(stream, only) {
    this.#setStream(stream);
    this.#only = only;
    this.#chooseWays();
    this.play();
  }

  /** Retries at once after the stream is back or has restarted; a playing player detects that by itself. */
  resume(stream) {
    this.#setStream(stream);
    // The way of playing is unchanged while the player plays: frames show that it works.
    if (this.#state !== "playing") this.#chooseWays();
    this.retryNow();
  }

  /** Call it when the network has changed. */
  recover() {
    if (this.#run) this.#player?.recover?.();
    this.retryNow();
  }

  /** Starts at the live edge. */
  play() {
    if (!this.#stream) return;
    this.#stop();
    this.#restoreDeferred();
    this.#run = new AbortController();
    this.#keepPlaying(this.#run.signal);
  }

  /** Stops loading; the last frame stays visible. */
  pause() {
    this.#stop();
    this.#set("paused");
  }

  /** Ends the wait for a retry. */
  retryNow() {
    if (this.#state === "waiting" || this.#state === "ended") this.play();
  }

  #stop() {
    this.#run?.abort(new DOMException("The session was stopped.", "AbortError"));
    this.#run = null;
    this.#player?.halt();
  }

  async #keepPlaying(signal) {
    let failures = 0;
    let undecodable = 0;
    while (!signal.aborted) {
      const startedAt = performance.now();
      let hasPlayed = false;
      this.#set("connecting");
      const player = this.#makePlayer(() => { hasPlayed = true; });
      try {
        await player.run(this.#address());
        if (!signal.aborted) this.#set("ended");
        return;
      } catch (error) {
        if (signal.aborted) return;
        player.halt();
        if (hasPlayed && performance.now() - startedAt > STABLE) failures = undecodable = 0;
        undecodable = isUndecodable(error) && !hasPlayed ? undecodable + 1 : 0;
        const isUnavailable = error instanceof Unavailable;
        if ((isUnavailable || undecodable === MAXIMUM_DECODE_FAILURES) && this.#ways.length > 1) {
          const isDeferred = isUnavailable && error.isTemporary;
          if (isDeferred) this.#deferred = this.way;
          else failures = 0;
          this.#ways = this.#ways.slice(1);
          if (isUnavailable) continue;
        }
        if (hasPlayed) this.#restoreDeferred();
        const seconds = error instanceof StreamChanged && failures === 0
          ? 0 : BACK_OFF[Math.min(failures, BACK_OFF.length - 1)];
        failures += 1;
        this.#set("waiting", { message: error.message, status: error.status, retryAt: Date.now() + seconds * 1000 });
        await pause(seconds, signal).catch(() => {});
      }
    }
  }

  #restoreDeferred() {
    if (this.#deferred) this.#ways = [this.#deferred, ...this.#ways];
    this.#deferred = null;
  }

  #makePlayer(hasBegun) {
    this.#player?.close();
    const { video, image } = this.#elements;
    const events = {
      codecs: this.#codecs, levels: this.#levels, quality: this.#quality,
      play: () => {
        hasBegun();
        this.#begin();
        if (this.way === "images") this.#set("playing");
      },
      buffering: (isBuffering) => this.#set(isBuffering ? "buffering" : "playing"),
    };
    if (this.way === "webrtc") this.#player = new WebRTCPlayer(video, events);
    else if (this.way === "stream") {
      this.#player = new StreamPlayer(video, events);
      this.#player.fixedLevel = this.#fixedIndex;
    } else if (this.way === "native") this.#player = new NativePlayer(video, events);
    else this.#player = new MotionJPEGPlayer(image, events);
    return this.#player;
  }

  /** Call it on the `playing` event of the video element. */
  notePlaying() {
    if (this.#run && this.#state !== "playing") this.#set("playing");
  }

  #address() {
    if (this.way === "images") return urlOf(this.#stream.mjpeg).href;
    if (this.way === "webrtc") {
      const path = this.#fixedName === null ? this.#stream.page : `${this.#stream.page}/${encodeURIComponent(this.#fixedName)}`;
      return urlOf(`${path}/whep`).href;
    }
    // Apple's player chooses among the renditions of the multivariant playlist by itself.
    const level = this.way === "native" && this.#fixedName !== null ? this.#levels[this.#fixedIndex] : null;
    return urlOf(level?.url ?? this.#stream.hls).href;
  }

  #set(state, detail = {}) {
    this.#state = state;
    this.#report(state, detail);
  }
}

function isUndecodable(error) {
  return error instanceof DecodeError || error.name === "NotSupportedError" || error.name === "EncodingError";
}
