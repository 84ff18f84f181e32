// Orders to the server that change a stream: sources one after the other, and beside them settings likewise, so that
// nobody waits for a slow source to be muted. Of a slider only the last order counts.

/**
 * Sends changes of one stream. The answer to the last one is how it stands; what was refused is told in the server's words.
 */
export class Steering {
  #send;
  #tell;
  #address = null;
  #sources = { waiting: new Map(), isSending: false };
  #settings = { waiting: new Map(), isSending: false };

  /**
   * @param {(url: string, options: object) => Promise<object>} send As `request` of requests.mjs does.
   * @param {(change: {stream?: object, problem?: string, isBusy: boolean}) => void} tell
   */
  constructor(send, tell) {
    this.#send = send;
    this.#tell = tell;
  }

  /** Where the stream is in the API. */
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
    return this.#order(this.#sources, `source ${Object.keys(sources)}`, { method: "PUT", path: "/source", json: sources, seconds: 40 });
  }

  /** Changes settings: a merge patch. */
  change(patch) {
    const what = Object.keys(patch).map((key) => key === "controls" ? `controls ${Object.keys(patch.controls)}` : key);
    return this.#order(this.#settings, what.join(), { method: "PATCH", path: "", json: patch, seconds: 15 });
  }

  /** Replaces what is done to the pictures; the answer is that, instead of the stream. */
  setEffects(effects) {
    return this.#order(this.#settings, "effects", { method: "PUT", path: "/effects", json: effects, seconds: 30 });
  }

  /** Orders of the same thing that wait are replaced by the newest. */
  async #order(queue, what, order) {
    queue.waiting.delete(what);
    queue.waiting.set(what, order);
    if (queue.isSending) return;
    queue.isSending = true;
    while (queue.waiting.size > 0) {
      const [[key, { path, ...options }]] = queue.waiting;
      queue.waiting.delete(key);
      this.#tell({ isBusy: true });
      const address = this.#address;
      let outcome;
      try {
        outcome = { stream: await this.#send(address + path, { ...options, as: "json" }) };
      } catch (error) {
        outcome = { problem: error.message };
      }
      queue.isSending = queue.waiting.size > 0;
      if (address === this.#address) this.#tell({ ...outcome, isBusy: this.isBusy });
    }
    queue.isSending = false;
  }
}
