// A SourceBuffer that takes one thing after the other, and does not grow.

/** Played media that is kept, in seconds, and how much more gathers before it is removed. */
const KEPT = 6;
const SLACK = 6;

/** The browser's Media Source, or Apple's successor of it; null where there is none. */
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
    // Without this Safari keeps a managed source closed.
    if (Source !== globalThis.MediaSource) this.#video.disableRemotePlayback = true;
    this.#address = URL.createObjectURL(this.#source);
    const opened = new Promise((resolve) => this.#source.addEventListener("sourceopen", resolve, { once: true }));
    this.#video.src = this.#address;
    await opened;
    URL.revokeObjectURL(this.#address);
    this.#source.duration = Infinity;
  }

  /** What comes next has this type, such as `video/mp4; codecs="avc1.64001f,mp4a.40.2"`. */
  setType(type) {
    if (this.#type === type) return;
    if (this.#buffer) this.#buffer.changeType(type);
    else this.#buffer = this.#source.addSourceBuffer(type);
    this.#type = type;
  }

  /** Seconds that are added to the times of what comes next. */
  set offset(seconds) {
    this.#buffer.timestampOffset = seconds;
  }

  get offset() {
    return this.#buffer.timestampOffset;
  }

  /** The last buffered time, or null. */
  get end() {
    const buffered = this.#ranges();
    return buffered?.length ? buffered.end(buffered.length - 1) : null;
  }

  /** The first buffered time, or null. */
  get start() {
    const buffered = this.#ranges();
    return buffered?.length ? buffered.start(0) : null;
  }

  /** The time at which the buffered stretch ends that holds `time`; `time` itself when none does. */
  endAround(time) {
    const buffered = this.#ranges();
    for (let index = 0; index < (buffered?.length ?? 0); index += 1) {
      if (buffered.start(index) <= time + 0.05 && time < buffered.end(index)) return buffered.end(index);
    }
    return time;
  }

  /** Where the next buffered stretch begins after `time`, or null. */
  nextStart(time) {
    const buffered = this.#ranges();
    for (let index = 0; index < (buffered?.length ?? 0); index += 1) {
      if (buffered.start(index) > time) return buffered.start(index);
    }
    return null;
  }

  /** Appends a segment or part; removes what was played, and more of it when the browser says the buffer is full. */
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

  /** Nothing more comes: the video element ends when it has played all. */
  finish() {
    if (this.#source?.readyState === "open") this.#source.endOfStream();
  }

  /** Lets go of everything; the video element shows nothing any more. */
  close() {
    if (this.#source?.readyState === "open" && this.#buffer) {
      try {
        this.#source.removeSourceBuffer(this.#buffer);
      } catch {
        // Gone already, with an error of the decoder.
      }
    }
    this.#buffer = null;
    this.#source = null;
    this.#video.removeAttribute("src");
    this.#video.load();
  }

  async #trim(most) {
    const position = this.#video.currentTime;
    const start = this.start;
    if (start === null || position - start < most) return;
    await this.#update(() => this.#buffer.remove(0, position - Math.min(KEPT, most)));
  }

  #ranges() {
    try {
      return this.#buffer?.buffered;
    } catch {
      return null; // The buffer was taken from its source, by an error of the decoder.
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
