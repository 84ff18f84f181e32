// What is measured while a stream plays: latency, pictures that were really shown, and what the server says.

import { clock, viewersOf } from "./server.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** How often the numbers change, in milliseconds: often enough to be live, seldom enough to be read. */
const INTERVAL = 500;
/** Over how many milliseconds pictures are counted. */
const FRAME_WINDOW = 2000;

export class Facts {
  #video;
  #session;
  #shown = [];
  #last = null;
  #dropped = { before: 0, now: 0 };
  #stream = null;
  /** The latency in seconds, as shown; null when it is not known. */
  latency = null;

  constructor(video, session) {
    this.#video = video;
    this.#session = session;
    if (video.requestVideoFrameCallback) this.#watchFrames();
    setInterval(() => this.#update(), INTERVAL);
  }

  /** What the server says of the stream. */
  describe(stream) {
    this.#stream = stream;
  }

  #watchFrames() {
    const note = (now, { mediaTime, expectedDisplayTime, presentedFrames, width, height }) => {
      // Both clocks are the page's, so the time of day of the display is known to the millisecond.
      this.#last = { mediaTime, wallTime: Date.now() + (expectedDisplayTime - performance.now()), width, height };
      this.#shown = this.#shown.filter((frame) => now - frame.now < FRAME_WINDOW && frame.count <= presentedFrames);
      this.#shown.push({ now, count: presentedFrames });
      this.#video.requestVideoFrameCallback(note);
    };
    this.#video.requestVideoFrameCallback(note);
  }

  #update() {
    const isPlaying = this.#session.state === "playing" && this.#session.way !== "pictures";
    this.latency = isPlaying ? this.#measureLatency() : null;
    write("latency", text.seconds(this.latency));
    write("fps", text.frameRate(isPlaying ? this.#measureFrameRate() : null));
    write("dropped", isPlaying ? String(this.#countDropped()) : "–");
    write("size", text.size(
      this.#video.videoWidth || this.#stream?.video?.width, this.#video.videoHeight || this.#stream?.video?.height));
    write("bitrate", text.bitrate((isPlaying ? this.#session.player.bitrate : null) ?? this.#published()));
    write("viewers", this.#stream ? String(viewersOf(this.#stream)) : "–");
  }

  /** How long ago the picture that is seen was captured, by the server's clock. */
  #measureLatency() {
    const last = this.#last ?? { mediaTime: this.#video.currentTime, wallTime: Date.now() };
    const capturedAt = this.#session.player?.capturedAt(last.mediaTime);
    return capturedAt == null ? null : Math.max(0, (last.wallTime + clock.offset - capturedAt) / 1000);
  }

  #measureFrameRate() {
    const first = this.#shown[0];
    const last = this.#shown.at(-1);
    if (!first || last.now - first.now < 300 || performance.now() - last.now > FRAME_WINDOW) return null;
    return ((last.count - first.count) * 1000) / (last.now - first.now);
  }

  /** Pictures that were decoded and never seen, also those of players before this one. */
  #countDropped() {
    const now = this.#video.getVideoPlaybackQuality?.().droppedVideoFrames ?? 0;
    if (now < this.#dropped.now) this.#dropped.before += this.#dropped.now;
    this.#dropped.now = now;
    return this.#dropped.before + now;
  }

  #published() {
    if (!this.#stream?.video) return null;
    return (this.#stream.video.bitrate ?? 0) + (this.#stream.audio?.bitrate ?? 0) || null;
  }
}

function write(id, what) {
  const where = element(id);
  if (where.textContent !== what) where.textContent = what;
}
