// Requests that change a stream, in two queues: sources and settings, so that a slow source does not delay a setting. A newer
// change of the same setting replaces a waiting one.

/** Sends changes of one stream in order, and reports each outcome. */
export class ChangeQueue {
  #send;
  #report;
  #address = null;
  #sources = { waiting: new Map(), isSending: false };
  #settings = { waiting: new Map(), isSending: false };

  /**
   * @param {(url: string, options: object) => Promise<object>} send `request` of requests.mjs.
   * @param {(change: {stream?: object, problem?: string, isBusy: boolean}) => void} report
   */
  constructor(send, report) {
    this.#send = send;
    this.#report = report;
  }

  /** Path of the stream in the API; waiting changes of another one are discarded. */
  set address(address) {
    if (address !== this.#address) for (const { waiting } of [this.#sources, this.#settings]) waiting.clear();
    this.#address = address;
  }

  get isBusy() {
    return this.#sources.isSending || this.#settings.isSending;
  }

  /** Whether sources are being replaced. */
  get isReplacing() {
    return this.#sources.isSending;
  }

  /** Replaces sources: `{video}`, `{audio}` or both. */
  replace(sources) {
    return this.#enqueue(this.#sources, `source ${Object.keys(sources)}`, { method: "PUT", path: "/source", json: sources, seconds: 40 });
  }

  /** Changes settings: a merge patch. */
  change(patch) {
    const keys = Object.keys(patch).map((key) => key === "controls" ? `controls ${Object.keys(patch.controls)}` : key);
    return this.#enqueue(this.#settings, keys.join(), { method: "PATCH", path: "", json: patch, seconds: 15 });
  }

  /** Replaces the effects; the outcome has the effects instead of the stream. */
  setEffects(effects) {
    return this.#enqueue(this.#settings, "effects", { method: "PUT", path: "/effects", json: effects, seconds: 30 });
  }

  /** Sends waiting changes in order; a newer one with the same key replaces a waiting one. */
  async #enqueue(queue, key, change) {
    queue.waiting.delete(key);
    queue.waiting.set(key, change);
    if (queue.isSending) return;
    queue.isSending = true;
    while (queue.waiting.size > 0) {
      const [[next, { path, ...options }]] = queue.waiting;
      queue.waiting.delete(next);
      this.#report({ isBusy: true });
      const address = this.#address;
      let outcome;
      try {
        outcome = { stream: await this.#send(address + path, { ...options, as: "json" }) };
      } catch (error) {
        outcome = { problem: error.message };
      }
      queue.isSending = queue.waiting.size > 0;
      if (address === this.#address) this.#report({ ...outcome, isBusy: this.isBusy });
    }
    queue.isSending = false;
  }
}
