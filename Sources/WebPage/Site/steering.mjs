// Orders to the server that change a stream: one after the other, and of a slider only the last.

/**
 * Sends changes of one stream. The answer to the last one is how it stands; what was refused is told in the server's words.
 */
export class Steering {
  #send;
  #tell;
  #address = null;
  #waiting = new Map();
  #isSending = false;

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
    if (address !== this.#address) this.#waiting.clear();
    this.#address = address;
  }

  get isBusy() {
    return this.#isSending;
  }

  /** Replaces sources: `{video}`, `{audio}` or both. */
  replace(sources) {
    return this.#order(`source ${Object.keys(sources)}`, { method: "PUT", path: "/source", json: sources, seconds: 40 });
  }

  /** Changes settings: a merge patch. */
  change(patch) {
    const what = Object.keys(patch).map((key) => key === "controls" ? `controls ${Object.keys(patch.controls)}` : key);
    return this.#order(what.join(), { method: "PATCH", path: "", json: patch, seconds: 15 });
  }

  /** Orders of the same thing that wait are replaced by the newest. */
  async #order(what, order) {
    this.#waiting.delete(what);
    this.#waiting.set(what, order);
    if (this.#isSending) return;
    this.#isSending = true;
    while (this.#waiting.size > 0) {
      const [[key, { path, ...options }]] = this.#waiting;
      this.#waiting.delete(key);
      this.#tell({ isBusy: true });
      const address = this.#address;
      let outcome;
      try {
        outcome = { stream: await this.#send(address + path, { ...options, as: "json" }) };
      } catch (error) {
        outcome = { problem: error.message };
      }
      this.#isSending = this.#waiting.size > 0;
      if (address === this.#address) this.#tell({ ...outcome, isBusy: this.#isSending });
    }
    this.#isSending = false;
  }
}
