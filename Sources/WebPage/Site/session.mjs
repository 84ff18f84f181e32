// Keeps a stream playing: makes a player, makes another one when it fails, and says how it stands.

import { DecodeError, StreamPlayer } from "./stream-player.mjs";
import { NativePlayer, PicturesPlayer } from "./other-players.mjs";
import { StreamChanged } from "./loader.mjs";
import { abilitiesOf, waysFor } from "./ways.mjs";
import { pause } from "./requests.mjs";

/** Waits before the next try, in seconds; the last one repeats. */
const BACK_OFF = [0.25, 1, 2, 4, 8];
/** A player that was at it this long, in milliseconds, was a good one: the next failure is a first one again. */
const GOOD = 5000;
/** Failures to decode in a row, none of them after a picture, that make a way not worth another try. */
const HOPELESS = 3;

/**
 * @typedef {"connecting"|"playing"|"buffering"|"waiting"|"paused"|"ended"} State
 *   `waiting` is between two tries.
 */
export class Session {
  #elements;
  #tell;
  #stream = null;
  #codecs = "";
  #ways = [];
  #begin;
  #player = null;
  #run = null;
  #state = null;

  /**
   * @param {{video: HTMLVideoElement, image: HTMLImageElement}} elements
   * @param {(state: State, detail: {message?: string, retryAt?: number}) => void} tell Told of each change.
   * @param {() => Promise<void>} begin Starts the video element, as the browser allows it.
   */
  constructor(elements, tell, begin) {
    this.#elements = elements;
    this.#tell = tell;
    this.#begin = begin;
  }

  get player() {
    return this.#player;
  }

  /** Which way it plays: "stream", "native" or "pictures". */
  get way() {
    return this.#ways[0] ?? null;
  }

  get state() {
    return this.#state;
  }

  /** Plays a stream, as the server describes it. `only` forces one way. */
  open(stream, only) {
    this.#stream = stream;
    const codecs = [stream.video?.codec, stream.audio?.codec].filter(Boolean).join(",");
    this.#ways = only ? [only] : waysFor(abilitiesOf(this.#elements.video, codecs));
    this.#codecs = codecs;
    this.play();
  }

  /** The stream is back, or has begun anew: what waited for that goes on. A player that plays finds out by itself. */
  renew(stream) {
    this.#stream = stream;
    this.hurry();
  }

  /** Plays from the live edge. */
  play() {
    if (!this.#stream) return;
    this.#stop();
    this.#run = new AbortController();
    this.#keepPlaying(this.#run.signal);
  }

  /** Stops loading; the last picture stays. */
  pause() {
    this.#stop();
    this.#set("paused");
  }

  /** Tries at once what would be tried later. */
  hurry() {
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
        if (hasPlayed && performance.now() - startedAt > GOOD) failures = undecodable = 0;
        undecodable = isUndecodable(error) && !hasPlayed ? undecodable + 1 : 0;
        if (undecodable === HOPELESS && this.#ways.length > 1) {
          this.#ways = this.#ways.slice(1);
          failures = 0;
        }
        const seconds = error instanceof StreamChanged && failures === 0
          ? 0 : BACK_OFF[Math.min(failures, BACK_OFF.length - 1)];
        failures += 1;
        this.#set("waiting", { message: error.message, status: error.status, retryAt: Date.now() + seconds * 1000 });
        await pause(seconds, signal).catch(() => {});
      }
    }
  }

  #makePlayer(hasBegun) {
    this.#player?.close();
    const { video, image } = this.#elements;
    const events = {
      codecs: this.#codecs,
      play: () => {
        hasBegun();
        this.#begin();
        if (this.way === "pictures") this.#set("playing");
      },
      buffering: (isDry) => this.#set(isDry ? "buffering" : "playing"),
    };
    if (this.way === "stream") this.#player = new StreamPlayer(video, events);
    else if (this.way === "native") this.#player = new NativePlayer(video, events);
    else this.#player = new PicturesPlayer(image, events);
    return this.#player;
  }

  /** The video element says that it plays. */
  notePlaying() {
    if (this.#run && this.#state !== "playing") this.#set("playing");
  }

  #address() {
    return this.way === "pictures" ? this.#stream.mjpeg : new URL(this.#stream.hls, location.href).href;
  }

  #set(state, detail = {}) {
    this.#state = state;
    this.#tell(state, detail);
  }
}

function isUndecodable(error) {
  return error instanceof DecodeError || error.name === "NotSupportedError" || error.name === "EncodingError";
}
