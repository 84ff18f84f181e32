// Player of low-latency HLS on Media Source Extensions. An instance plays once, until it fails, ends or is closed.

import { MediaBuffer } from "./buffer.mjs";
import { startOf, tracksOf } from "./boxes.mjs";
import { CaptureTimes } from "./clock.mjs";
import { holdBackOf } from "./follow.mjs";
import { LatencyController } from "./latency.mjs";
import { Loader } from "./loader.mjs";
import { urlOf } from "./root.mjs";

/** Minimum jump of the media time at a discontinuity that is closed, in seconds. */
const JUMP = 0.5;
/** Maximum gap between buffered ranges that is skipped, in seconds. */
const MAXIMUM_GAP = 2;
/** Interval of the latency control, in milliseconds. */
const TICK = 200;
/** Window of the bitrate, in seconds of media. */
const RATE_WINDOW = 4;
/** Time after the start during which an empty buffer is not a stall, in milliseconds. */
const STARTUP = 1500;

/** An error of the browser's decoder. */
export class DecodeError extends Error {}

export class StreamPlayer {
  #video;
  #codecs;
  #events;
  #buffer;
  #controller = new AbortController();
  #listeners = new AbortController();
  #latency = null;
  #captured = new CaptureTimes();
  #tracks = new Map();
  #amounts = [];
  #timer = null;
  #started = false;
  #startedAt = 0;
  #isBuffering = false;
  #isDiscontinuous = false;
  #batches = 0;
  #hasParts = false;
  #levels;
  #quality;
  #loader = null;
  #level = null;

  /**
   * @param {HTMLVideoElement} video
   * @param {{codecs: string, levels?: Level[], quality?: QualityController, play: () => void, buffering: (isBuffering: boolean) => void}} options
   *   `codecs` is used when the playlist has none; `play` is called once, when enough media is buffered. `levels` are the
   *   renditions, of which `quality` chooses.
   */
  constructor(video, { codecs, levels = [], quality = null, ...events }) {
    this.#video = video;
    this.#levels = levels;
    this.#quality = quality;
    this.#codecs = codecs;
    this.#events = events;
    this.#buffer = new MediaBuffer(video);
  }

  /** Plays; returns at the end of the stream and throws on failure. */
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
        transferred: (transfer) => this.#noteTransfer(transfer),
      });
      this.#loader = loader;
      this.#level = this.#levels.length ? this.#chosenLevel() : null;
      const start = this.#level === null ? url : urlOf(this.#levels[this.#level].url).href;
      await Promise.race([loader.run(start, { isMedia: this.#level !== null }), broken]);
      if (!this.#started) this.#start();
      await Promise.race([this.#played(), broken]);
    } finally {
      this.halt();
    }
  }

  /** Stops loading; the last frame stays visible. */
  halt() {
    this.#controller.abort(new DOMException("The player was stopped.", "AbortError"));
    this.#listeners.abort();
    clearInterval(this.#timer);
  }

  /** Releases the media source. */
  close() {
    this.halt();
    this.#buffer.close();
    this.#video.playbackRate = 1;
  }

  /** Capture time of a media time in milliseconds since 1970 on the server's clock; null if unknown. */
  capturedAt(mediaTime) {
    return this.#captured.at(mediaTime);
  }

  /** Received bitrate in bits per second; null below 0.5 seconds of media. */
  get bitrate() {
    const seconds = this.#amounts.reduce((sum, amount) => sum + amount.seconds, 0);
    return seconds < 0.5 ? null : (this.#amounts.reduce((sum, amount) => sum + amount.bytes, 0) * 8) / seconds;
  }

  /** Index of the rendition that is loaded, or is going to be; null without a choice. */
  get level() {
    return this.#level;
  }

  /** Plays a rendition by its index, whatever the network carries; null for the automatic choice. */
  set fixedLevel(index) {
    this.#fixedLevel = index;
    this.#choose();
  }

  #fixedLevel = null;

  #chosenLevel() {
    return this.#fixedLevel ?? this.#quality?.current ?? 0;
  }

  #noteTransfer(transfer) {
    this.#quality?.noteTransfer(transfer);
    const likely = this.#level === null || this.#fixedLevel !== null ? null : this.#quality?.likely ?? null;
    if (likely !== null) this.#loader.prepare(urlOf(this.#levels[likely].url).href);
  }

  #choose() {
    if (this.#level === null) return;
    const index = this.#chosenLevel();
    if (index === this.#level) return;
    // A lower one is wanted at once, since the network does not carry this one.
    const isUrgent = index > this.#level && this.#fixedLevel === null;
    this.#level = index;
    this.#loader.switchTo(urlOf(this.#levels[index].url).href, { isUrgent });
  }

  /** Seeks to the target distance from the live edge. */
  goLive() {
    const edge = this.#latency?.edge(performance.now() / 1000);
    const end = this.#buffer.end;
    if (edge == null || end === null) return;
    this.#video.currentTime = Math.min(edge - this.#latency.target, end - 0.1);
  }

  #listen(fail) {
    const signal = this.#listeners.signal;
    this.#video.addEventListener("error", () => {
      fail(new DecodeError(this.#video.error?.message || "The browser cannot decode this."));
    }, { signal });
    this.#video.addEventListener("waiting", () => this.#handleEmptyBuffer(), { signal });
    this.#video.addEventListener("playing", () => this.#setBuffering(false), { signal });
  }

  #begin({ codecs, playlist }) {
    if (codecs) this.#codecs = codecs;
    this.#buffer.setType(`video/mp4; codecs="${this.#codecs}"`);
    this.#hasParts = playlist.partTarget !== null;
    this.#latency = new LatencyController(holdBackOf(playlist));
    this.#timer = setInterval(() => this.#tick(), TICK);
  }

  async #initialize(bytes, { discontinuity }) {
    this.#isDiscontinuous ||= discontinuity;
    if (!bytes) return;
    this.#tracks = tracksOf(bytes);
    await this.#buffer.append(bytes);
  }

  async #append(bytes, unit, { isNewest }) {
    const start = startOf(bytes, this.#tracks);
    if (this.#isDiscontinuous) this.#closeJump(start);
    this.#isDiscontinuous = false;
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

  /** After a discontinuity, moves media that does not begin at the end of the buffer to that position. */
  #closeJump(start) {
    const end = this.#buffer.end;
    if (start === null || end === null) return;
    const offset = this.#buffer.offset;
    if (Math.abs(start + offset - end) <= JUMP) return;
    this.#buffer.offset = end - start;
    this.#latency.reset();
  }

  /** Whether enough media is buffered and the live edge is known. */
  #isReady(end) {
    this.#batches += 1;
    // The media of the first playlist is older; the live edge is known from the following parts.
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
    if (this.#fixedLevel === null && this.#level !== null) {
      this.#quality?.noteWaiting(this.#loader.waiting, performance.now() / 1000);
      this.#quality?.decide(performance.now() / 1000);
    }
    this.#choose();
    if (!this.#started || this.#video.paused) return;
    const position = this.#video.currentTime;
    if (this.#buffer.endAround(position) - position < 0.01) {
      // Skips a gap; a position far before the buffered media, set by the browser's own controls, goes live.
      const next = this.#buffer.nextStart(position);
      if (next !== null && next - position < MAXIMUM_GAP) this.#video.currentTime = next + 0.01;
      else if (next !== null) this.goLive();
      return;
    }
    if (this.#video.seeking) return;
    const end = this.#buffer.end;
    const decision = this.#latency.decide({ position, bufferedEnd: end, now: performance.now() / 1000 });
    if (decision.seekTo !== null) this.#video.currentTime = decision.seekTo;
    if (this.#video.playbackRate !== decision.rate) this.#video.playbackRate = decision.rate;
  }

  #handleEmptyBuffer() {
    if (!this.#started || this.#video.seeking) return;
    if (performance.now() - this.#startedAt > STARTUP) {
      this.#latency.noteStall(performance.now() / 1000);
      this.#quality?.noteStall(performance.now() / 1000);
    }
    this.#setBuffering(true);
  }

  #setBuffering(isBuffering) {
    if (this.#isBuffering === isBuffering) return;
    this.#isBuffering = isBuffering;
    this.#events.buffering(isBuffering);
  }

  #played() {
    if (this.#video.ended) return Promise.resolve();
    return new Promise((resolve) => this.#video.addEventListener("ended", resolve, { once: true }));
  }
}
