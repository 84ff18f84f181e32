// Live thumbnails: about one snapshot per second for each visible card, at most one request per card.

import { pause, request } from "./requests.mjs";

/** Interval of the snapshots, in seconds. */
const INTERVAL = 1;
/** Maximum number of concurrent requests of all cards, so that a slow server can respond to others. */
const MAXIMUM_REQUESTS = 3;
/** Requested widths in pixels: few, so that the server shares the images among viewers. */
const WIDTHS = [480, 960];

let running = 0;
const waiting = [];

async function withSlot(work) {
  if (running >= MAXIMUM_REQUESTS) await new Promise((resolve) => waiting.push(resolve));
  running += 1;
  try {
    return await work();
  } finally {
    running -= 1;
    waiting.shift()?.();
  }
}

export class Thumbnail {
  #image;
  #controller = new AbortController();
  #isInView = false;
  #wake = () => {};
  #observer;
  #address = null;

  /** @param {(width: number) => string} url The URL of a snapshot of a width. */
  constructor(image, url) {
    this.#image = image;
    this.#observer = new IntersectionObserver(([entry]) => {
      this.#isInView = entry.isIntersecting;
      this.#wake();
    }, { rootMargin: "80px" });
    this.#observer.observe(image.parentElement);
    document.addEventListener("visibilitychange", () => this.#wake(), { signal: this.#controller.signal });
    this.#run(url).catch(() => {}); // Ended by `close`.
  }

  close() {
    this.#controller.abort();
    this.#observer.disconnect();
    if (this.#address) URL.revokeObjectURL(this.#address);
  }

  get #width() {
    const needed = this.#image.parentElement.clientWidth * devicePixelRatio;
    return WIDTHS.find((width) => width >= needed * 0.8) ?? WIDTHS.at(-1);
  }

  async #run(url) {
    const { signal } = this.#controller;
    for (;;) {
      signal.throwIfAborted();
      if (!this.#isInView || document.hidden) {
        await new Promise((resolve) => { this.#wake = resolve; });
        continue;
      }
      const start = performance.now();
      try {
        await this.#show(await withSlot(() => request(url(this.#width), { signal, as: "blob", cache: "no-store", seconds: 8 })));
      } catch {
        signal.throwIfAborted(); // Otherwise the last image stays until the next attempt.
      }
      await pause(Math.max(0.1, INTERVAL - (performance.now() - start) / 1000), signal);
    }
  }

  /** Shows an image after it is decoded, which avoids flicker. */
  async #show(blob) {
    const address = URL.createObjectURL(blob);
    const next = new Image();
    next.src = address;
    try {
      await next.decode();
    } catch (error) {
      URL.revokeObjectURL(address);
      throw error;
    }
    this.#image.src = address;
    this.#image.hidden = false;
    if (this.#address) URL.revokeObjectURL(this.#address);
    this.#address = address;
  }
}
