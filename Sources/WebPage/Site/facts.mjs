// Measurements of the player: latency, displayed and dropped frames, bitrate; and the server's statistics.

import { clock, viewersOf } from "./server.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Update interval in milliseconds. */
const INTERVAL = 500;
/** Window of the frame rate, in milliseconds. */
const FRAME_WINDOW = 2000;

export class Facts {
  #video;
  #session;
  #displayed = [];
  #last = null;
  #dropped = { before: 0, now: 0 };
  #stream = null;
  /** Latency in seconds; null while unknown. */
  latency = null;

  constructor(video, session) {
    this.#video = video;
    this.#session = session;
    if (video.requestVideoFrameCallback) this.#watchFrames();
    setInterval(() => this.#update(), INTERVAL);
  }

  /** Sets the stream as `/api/streams` describes it. */
  describe(stream) {
    this.#stream = stream;
  }

  #watchFrames() {
    const note = (now, { mediaTime, expectedDisplayTime, presentedFrames, receiveTime, width, height }) => {
      // Converts the display time from the page's monotonic clock to wall-clock time.
      const wall = (time) => Date.now() + (time - performance.now());
      this.#last = { mediaTime, wallTime: wall(expectedDisplayTime), receivedAt: receiveTime && wall(receiveTime), width, height };
      this.#displayed = this.#displayed.filter((frame) => now - frame.now < FRAME_WINDOW && frame.count <= presentedFrames);
      this.#displayed.push({ now, count: presentedFrames });
      this.#video.requestVideoFrameCallback(note);
    };
    this.#video.requestVideoFrameCallback(note);
  }

  #update() {
    const isPlaying = this.#session.state === "playing" && this.#session.way !== "images";
    this.latency = isPlaying ? this.#measureLatency() : null;
    write("way", text.way(this.#session.way, this.#session.player?.isOverTCP));
    write("latency", text.seconds(this.latency));
    write("fps", text.frameRate(isPlaying ? this.#measureFrameRate() : null));
    write("dropped", isPlaying ? String(this.#countDropped()) : "–");
    write("size", text.size(
      this.#video.videoWidth || this.#stream?.video?.width, this.#video.videoHeight || this.#stream?.video?.height));
    write("bitrate", text.bitrate((isPlaying ? this.#session.player.bitrate : null) ?? this.#nominalBitrate()));
    write("viewers", this.#stream ? String(viewersOf(this.#stream)) : "–");
  }

  /** Time from capture to display of the current frame, in seconds, by the server's clock. */
  #measureLatency() {
    const last = this.#last ?? { mediaTime: this.#video.currentTime, wallTime: Date.now() };
    const capturedAt = this.#session.player?.capturedAt(last.mediaTime, last.receivedAt);
    return capturedAt == null ? null : Math.max(0, (last.wallTime + clock.offset - capturedAt) / 1000);
  }

  #measureFrameRate() {
    const first = this.#displayed[0];
    const last = this.#displayed.at(-1);
    if (!first || last.now - first.now < 300 || performance.now() - last.now > FRAME_WINDOW) return null;
    return ((last.count - first.count) * 1000) / (last.now - first.now);
  }

  /** Frames decoded and not displayed, earlier players included. */
  #countDropped() {
    const now = this.#video.getVideoPlaybackQuality?.().droppedVideoFrames ?? 0;
    if (now < this.#dropped.now) this.#dropped.before += this.#dropped.now;
    this.#dropped.now = now;
    return this.#dropped.before + now;
  }

  #nominalBitrate() {
    if (!this.#stream?.video) return null;
    return (this.#stream.video.bitrate ?? 0) + (this.#stream.audio?.bitrate ?? 0) || null;
  }
}

function write(id, text) {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}
