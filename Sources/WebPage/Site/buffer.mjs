// A SourceBuffer with serialized operations and bounded size.

/** Played media to keep, and excess after which it is trimmed, in seconds. */
const KEPT = 6;
const SLACK = 6;

/** `MediaSource`, or Safari's `ManagedMediaSource`; null without either. */
export function mediaSourceClass() {
  return globalThis.MediaSource ?? globalThis.ManagedMediaSource ?? null;
}

export class MediaBuffer {
  #video;
  #source;
  #buffer = null;
  #type = null;
  #address = null;

  constructor(video) {
    this.#video = video;
  }

  /** Attaches a new media source to the video element. */
  async open() {
    const Source = mediaSourceClass();
    this.#source = new Source();
    // Safari opens a managed source only with remote playback disabled.
    if (Source !== globalThis.MediaSource) this.#video.disableRemotePlayback = true;
    this.#address = URL.createObjectURL(this.#source);
    const opened = new Promise((resolve) => this.#source.addEventListener("sourceopen", resolve, { once: true }));
    this.#video.src = this.#address;
    await opened;
    URL.revokeObjectURL(this.#address);
    this.#source.duration = Infinity;
  }

  /** Sets the type of the following media, such as `video/mp4; codecs="avc1.64001f,mp4a.40.2"`. */
  setType(type) {
    if (this.#type === type) return;
    if (this.#buffer) this.#buffer.changeType(type);
    else this.#buffer = this.#source.addSourceBuffer(type);
    this.#type = type;
  }

  /** Offset added to the timestamps of the following media, in seconds. */
  set offset(seconds) {
    this.#buffer.timestampOffset = seconds;
  }

  get offset() {
    return this.#buffer.timestampOffset;
  }

  /** The end of the buffered media, in seconds; null when empty. */
  get end() {
    const buffered = this.#ranges();
    return buffered?.length ? buffered.end(buffered.length - 1) : null;
  }

  /** The start of the buffered media, in seconds; null when empty. */
  get start() {
    const buffered = this.#ranges();
    return buffered?.length ? buffered.start(0) : null;
  }

  /** The end of the buffered range that contains `time`; `time` when none does. */
  endAround(time) {
    const buffered = this.#ranges();
    for (let index = 0; index < (buffered?.length ?? 0); index += 1) {
      if (buffered.start(index) <= time + 0.05 && time < buffered.end(index)) return buffered.end(index);
    }
    return time;
  }

  /** The start of the next buffered range after `time`; null when there is none. */
  nextStart(time) {
    const buffered = this.#ranges();
    for (let index = 0; index < (buffered?.length ?? 0); index += 1) {
      if (buffered.start(index) > time) return buffered.start(index);
    }
    return null;
  }

  /** Appends a segment or part. Trims played media first, and further on `QuotaExceededError`. */
  async append(bytes) {
    await this.#trim(KEPT + SLACK);
    try {
      await this.#update(() => this.#buffer.appendBuffer(bytes));
    } catch (error) {
      if (error.name !== "QuotaExceededError") throw error;
      await this.#trim(1);
      await this.#update(() => this.#buffer.appendBuffer(bytes));
    }
  }

  /** Marks the end of the stream: the video element ends after the buffered media. */
  finish() {
    if (this.#source?.readyState === "open") this.#source.endOfStream();
  }

  /** Releases the media source; the video element becomes empty. */
  close() {
    if (this.#source?.readyState === "open" && this.#buffer) {
      try {
        this.#source.removeSourceBuffer(this.#buffer);
      } catch {
        // Removed already by a decoder error.
      }
    }
    this.#buffer = null;
    this.#source = null;
    this.#video.removeAttribute("src");
    this.#video.load();
  }

  async #trim(maximum) {
    const position = this.#video.currentTime;
    const start = this.start;
    if (start === null || position - start < maximum) return;
    await this.#update(() => this.#buffer.remove(0, position - Math.min(KEPT, maximum)));
  }

  #ranges() {
    try {
      return this.#buffer?.buffered;
    } catch {
      return null; // Removed from its source by a decoder error.
    }
  }

  #update(operation) {
    const buffer = this.#buffer;
    if (!buffer) return Promise.reject(new DOMException("The buffer is closed.", "AbortError"));
    return new Promise((resolve, reject) => {
      const finish = (event) => {
        buffer.removeEventListener("updateend", finish);
        buffer.removeEventListener("error", finish);
        if (event.type === "error") reject(new DOMException("The browser cannot decode this.", "EncodingError"));
        else resolve();
      };
      buffer.addEventListener("updateend", finish);
      buffer.addEventListener("error", finish);
      try {
        operation();
      } catch (error) {
        buffer.removeEventListener("updateend", finish);
        buffer.removeEventListener("error", finish);
        reject(error);
      }
    });
  }
}
