// Our player: low-latency HLS on Media Source Extensions. One object plays until it fails, ends or is closed; whoever
// made it makes another one then.

import { MediaBuffer } from "./buffer.mjs";
import { startOf, tracksOf } from "./boxes.mjs";
import { CaptureTimes } from "./clock.mjs";
import { holdBackOf } from "./follow.mjs";
import { LatencyController } from "./latency.mjs";
import { Loader } from "./loader.mjs";

/** A jump of the media time by more than this, where the playlist tells of a break, is closed. */
const JUMP = 0.5;
/** A hole in the media of up to this long is passed over. */
const HOLE = 2;
/** How often the distance to the live edge is looked at, in milliseconds. */
const TICK = 200;
/** Over how many seconds of media the bit rate is taken. */
const RATE_WINDOW = 4;
/** Waiting this soon after the start, in milliseconds, is part of it. */
const STARTING = 1500;

/** The browser's decoder has given up. */
export class DecodeError extends Error {}

export class StreamPlayer {
  #video;
  #codecs;
  #events;
  #buffer;
  #controller = new AbortController();
  #listening = new AbortController();
  #latency = null;
  #captured = new CaptureTimes();
  #tracks = new Map();
  #amounts = [];
  #timer = null;
  #started = false;
  #startedAt = 0;
  #dry = false;
  #breaks = false;
  #batches = 0;
  #hasParts = false;

  /**
   * @param {HTMLVideoElement} video
   * @param {{codecs: string, play: () => void, buffering: (isDry: boolean) => void}} options `codecs` is used when the
   *   playlist names none; `play` is called once, when there is enough to begin.
   */
  constructor(video, { codecs, ...events }) {
    this.#video = video;
    this.#codecs = codecs;
    this.#events = events;
    this.#buffer = new MediaBuffer(video);
  }

  /** Plays; returns when the stream has ended and throws when it cannot go on. */
  async run(url) {
    const broken = new Promise((_, reject) => this.#listen(reject));
    broken.catch(() => {});
    try {
      await Promise.race([this.#buffer.open(), broken]);
      const loader = new Loader(this.#controller.signal, {
        begin: (stream) => this.#begin(stream),
        initialize: (bytes, options) => this.#initialize(bytes, options),
        media: (bytes, unit, options) => this.#append(bytes, unit, options),
        end: () => this.#buffer.finish(),
      });
      await Promise.race([loader.run(url), broken]);
      if (!this.#started) this.#start();
      await Promise.race([this.#played(), broken]);
    } finally {
      this.halt();
    }
  }

  /** Loads nothing more, and leaves the last picture. */
  halt() {
    this.#controller.abort(new DOMException("The player was stopped.", "AbortError"));
    this.#listening.abort();
    clearInterval(this.#timer);
  }

  /** Ends for good. */
  close() {
    this.halt();
    this.#buffer.close();
    this.#video.playbackRate = 1;
  }

  /** When the picture at a media time was captured, milliseconds since 1970 on the server's clock; null if unknown. */
  capturedAt(mediaTime) {
    return this.#captured.at(mediaTime);
  }

  /** Bits a second, as they came; null while too little has. */
  get bitrate() {
    const seconds = this.#amounts.reduce((sum, amount) => sum + amount.seconds, 0);
    return seconds < 0.5 ? null : (this.#amounts.reduce((sum, amount) => sum + amount.bytes, 0) * 8) / seconds;
  }

  /** Jumps to where it should be playing. */
  goLive() {
    const edge = this.#latency?.edge(performance.now() / 1000);
    const end = this.#buffer.end;
    if (edge == null || end === null) return;
    this.#video.currentTime = Math.min(edge - this.#latency.target, end - 0.1);
  }

  #listen(fail) {
    const signal = this.#listening.signal;
    this.#video.addEventListener("error", () => {
      fail(new DecodeError(this.#video.error?.message || "The browser cannot decode this."));
    }, { signal });
    this.#video.addEventListener("waiting", () => this.#ranDry(), { signal });
    this.#video.addEventListener("playing", () => this.#setDry(false), { signal });
  }

  #begin({ codecs, playlist }) {
    if (codecs) this.#codecs = codecs;
    this.#buffer.setType(`video/mp4; codecs="${this.#codecs}"`);
    this.#hasParts = playlist.partTarget !== null;
    this.#latency = new LatencyController(holdBackOf(playlist));
    this.#timer = setInterval(() => this.#tick(), TICK);
  }

  async #initialize(bytes, { discontinuity }) {
    this.#breaks ||= discontinuity;
    if (!bytes) return;
    this.#tracks = tracksOf(bytes);
    await this.#buffer.append(bytes);
  }

  async #append(bytes, unit, { isNewest }) {
    const start = startOf(bytes, this.#tracks);
    if (this.#breaks) this.#closeJump(start);
    this.#breaks = false;
    if (start !== null && unit.dateTime !== null) this.#captured.note(start + this.#buffer.offset, unit.dateTime);
    await this.#buffer.append(bytes);
    this.#amounts.push({ bytes: bytes.byteLength, seconds: unit.duration });
    let kept = this.#amounts.reduce((sum, amount) => sum + amount.seconds, 0);
    while (kept - this.#amounts[0].seconds > RATE_WINDOW) kept -= this.#amounts.shift().seconds;

    const end = this.#buffer.end;
    if (end === null) return;
    this.#latency.noteArrival(end, performance.now() / 1000);
    if (!this.#started && isNewest && this.#isReady(end)) this.#start();
  }

  /** After a break in the stream, media that does not go on where the buffer ends is moved there. */
  #closeJump(start) {
    const end = this.#buffer.end;
    if (start === null || end === null) return;
    const offset = this.#buffer.offset;
    if (Math.abs(start + offset - end) <= JUMP) return;
    this.#buffer.offset = end - start;
    this.#latency.reset();
  }

  /** Whether there is enough to begin, and the live edge is known. */
  #isReady(end) {
    this.#batches += 1;
    // What the first playlist names has been waiting on the server; parts after that tell where the edge is.
    const needed = this.#hasParts ? 2 : 1;
    return this.#batches >= needed && end - this.#buffer.start >= this.#latency.target - 0.05;
  }

  #start() {
    const first = this.#buffer.start;
    const end = this.#buffer.end;
    if (end === null) return;
    this.#started = true;
    this.#startedAt = performance.now();
    this.#video.currentTime = Math.max(first, end - this.#latency.target);
    this.#events.play();
  }

  #tick() {
    if (!this.#started || this.#video.paused) return;
    const position = this.#video.currentTime;
    if (this.#buffer.endAround(position) - position < 0.01) {
      // At a hole the media goes on behind it; before everything, where the browser's own buttons lead, it is live.
      const next = this.#buffer.nextStart(position);
      if (next !== null && next - position < HOLE) this.#video.currentTime = next + 0.01;
      else if (next !== null) this.goLive();
      return;
    }
    if (this.#video.seeking) return;
    const end = this.#buffer.end;
    const decision = this.#latency.decide({ position, bufferedEnd: end, now: performance.now() / 1000 });
    if (decision.seekTo !== null) this.#video.currentTime = decision.seekTo;
    if (this.#video.playbackRate !== decision.rate) this.#video.playbackRate = decision.rate;
  }

  #ranDry() {
    if (!this.#started || this.#video.seeking) return;
    if (performance.now() - this.#startedAt > STARTING) this.#latency.noteStall(performance.now() / 1000);
    this.#setDry(true);
  }

  #setDry(isDry) {
    if (this.#dry === isDry) return;
    this.#dry = isDry;
    this.#events.buffering(isDry);
  }

  #played() {
    if (this.#video.ended) return Promise.resolve();
    return new Promise((resolve) => this.#video.addEventListener("ended", resolve, { once: true }));
  }
}
