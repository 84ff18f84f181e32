// Two more players with the interface of `StreamPlayer`: the browser's own HLS, and motion JPEG.

/** Plays HLS with the browser's own implementation. */
export class NativePlayer {
  #video;
  #play;
  #listeners = new AbortController();
  #halt = () => {};

  constructor(video, { play }) {
    this.#video = video;
    this.#play = play;
  }

  run(url) {
    return new Promise((resolve, reject) => {
      const { signal } = this.#listeners;
      this.#halt = () => reject(new DOMException("The player was stopped.", "AbortError"));
      this.#video.addEventListener("ended", resolve, { signal });
      this.#video.addEventListener("error", () => {
        reject(new Error(this.#video.error?.message || "The browser cannot play this."));
      }, { signal });
      this.#video.src = url;
      this.#play();
    });
  }

  halt() {
    this.#listeners.abort();
    this.#halt();
  }

  close() {
    this.halt();
    this.#video.removeAttribute("src");
    this.#video.load();
  }

  capturedAt(mediaTime) {
    const start = this.#video.getStartDate?.().getTime();
    return Number.isFinite(start) ? start + mediaTime * 1000 : null;
  }

  get bitrate() {
    return null;
  }

  goLive() {
    const { seekable } = this.#video;
    if (seekable.length) this.#video.currentTime = seekable.end(seekable.length - 1);
  }
}

/** Motion JPEG without audio, for browsers that support nothing else. */
export class MotionJPEGPlayer {
  #image;
  #play;
  #halt = () => {};

  constructor(image, { play }) {
    this.#image = image;
    this.#play = play;
  }

  run(url) {
    return new Promise((_, reject) => {
      this.#halt = () => reject(new DOMException("The player was stopped.", "AbortError"));
      this.#image.onload = () => this.#play();
      this.#image.onerror = () => reject(new Error("The server sends no video."));
      this.#image.hidden = false;
      // A new URL each time bypasses the browser's image cache.
      this.#image.src = `${url}?${Date.now()}`;
      this.#play();
    });
  }

  halt() {
    this.#image.onload = null;
    this.#image.onerror = null;
    this.#image.removeAttribute("src"); // The only way to end the request.
    this.#halt();
  }

  close() {
    this.halt();
    this.#image.hidden = true;
  }

  capturedAt() {
    return null;
  }

  get bitrate() {
    return null;
  }

  goLive() {}
}
