// The other two ways to play, with the face of `StreamPlayer`: the browser's own HLS, and Motion JPEG.

/** HLS that the browser plays itself. */
export class NativePlayer {
  #video;
  #play;
  #listening = new AbortController();
  #halt = () => {};

  constructor(video, { play }) {
    this.#video = video;
    this.#play = play;
  }

  run(url) {
    return new Promise((resolve, reject) => {
      const { signal } = this.#listening;
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
    this.#listening.abort();
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

/** Pictures only, for a browser that plays nothing else. */
export class PicturesPlayer {
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
      this.#image.onerror = () => reject(new Error("No pictures come."));
      this.#image.hidden = false;
      // A new address each time: a browser would show the pictures it has kept.
      this.#image.src = `${url}?${Date.now()}`;
      this.#play();
    });
  }

  halt() {
    this.#image.onload = null;
    this.#image.onerror = null;
    this.#image.removeAttribute("src"); // Nothing else ends the request.
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
