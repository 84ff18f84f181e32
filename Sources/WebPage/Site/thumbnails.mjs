// Live thumbnails: about one picture a second for each card that can be seen, never two on their way for one card.

import { pause, request } from "./requests.mjs";

const INTERVAL = 1;
/** Requests at a time for all cards, so that a slow server still answers everything else. */
const AT_ONCE = 3;
/** Widths that are asked for, in pixels: few, so that the server has them from another viewer. */
const WIDTHS = [480, 960];

let running = 0;
const waiting = [];

async function inTurn(work) {
  if (running >= AT_ONCE) await new Promise((resolve) => waiting.push(resolve));
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

  /** @param {(width: number) => string} url The address of a picture of a width. */
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
        await this.#show(await inTurn(() => request(url(this.#width), { signal, as: "blob", cache: "no-store", seconds: 8 })));
      } catch {
        signal.throwIfAborted(); // Else the picture before stays, and the next one is tried.
      }
      await pause(Math.max(0.1, INTERVAL - (performance.now() - start) / 1000), signal);
    }
  }

  /** Shows a picture when it is decoded: nothing flickers. */
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
