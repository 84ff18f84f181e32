// The bar with which a stream is recorded.

import { describe, NAMES, RunningTime, sentence } from "./recording.mjs";
import { pause, request } from "./requests.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Seconds between two questions. */
const INTERVAL = 1;
/** To finish a long file takes its time. */
const ORDER_TIME = 600;

export class RecordingBar {
  #address = null;
  #time = new RunningTime();
  #main = null;
  /** Orders and questions so far: an answer to one before the last says nothing any more. */
  #count = 0;
  #isOrdering = false;
  #isSteered = true;
  /** What went wrong when something was ordered, until the next order. */
  #problem = "";

  constructor() {
    element("record-main").onclick = () => this.#order(this.#main);
    element("record-stop").onclick = () => this.#order("stop");
    setInterval(() => this.#tick(), 250);
    this.#watch();
  }

  /** Where the stream is recorded; nothing for one that is not. */
  set address(address) {
    this.#address = address ?? null;
    if (!address) element("record").hidden = true;
  }

  /** Whether who looks at it may order; who may not sees how it stands all the same. */
  set isSteered(isSteered) {
    this.#isSteered = isSteered ?? true;
    element("record-main").hidden = !this.#isSteered;
    if (!this.#isSteered) element("record-stop").hidden = true;
  }

  async #watch() {
    for (;;) {
      await this.#ask();
      await pause(INTERVAL);
    }
  }

  async #ask() {
    const address = this.#address;
    if (!address || document.hidden) return;
    const number = this.#count;
    try {
      const answer = await request(address, { as: "json", cache: "no-store", seconds: 5 });
      if (number === this.#count && address === this.#address) this.#show(answer);
    } catch {
      // The player says that the connection is lost; the time stops by itself.
    }
  }

  async #order(action) {
    if (!action || this.#isOrdering) return;
    this.#count += 1;
    this.#isOrdering = true;
    this.#problem = "";
    this.#enable();
    try {
      const answer = await request(this.#address, { json: { action }, as: "json", seconds: ORDER_TIME });
      this.#count += 1;
      this.#show(answer);
    } catch (error) {
      this.#problem = sentence(error.message);
    }
    this.#isOrdering = false;
    this.#enable();
    this.#ask();
  }

  #show(recording) {
    const { text: state, main, canStop, runs, error } = describe(recording);
    this.#main = main;
    element("record").hidden = false;
    element("record").dataset.state = recording.state;
    write(element("record-state"), state);
    this.#time.note(recording.duration, runs, performance.now());
    const isNew = recording.state === "idle" && !recording.file;
    element("record-time").hidden = isNew;
    write(element("record-size"), isNew ? "" : [
      text.bytes(recording.bytes), recording.drops > 0 ? `${recording.drops} dropped` : "",
    ].filter(Boolean).join(" · "));
    if (main) {
      write(element("record-name"), NAMES[main]);
      element("record-icon").setAttribute("href", main === "pause" ? "#i-pause" : "#i-record");
    }
    element("record-stop").hidden = !canStop || !this.#isSteered;
    write(element("record-problem"), this.#problem || error);
    element("record-problem").hidden = !(this.#problem || error);
    this.#enable();
    this.#tick();
  }

  /** A button that is pressed keeps the focus: it is not disabled, it does nothing. */
  #enable() {
    element("record-main").setAttribute("aria-disabled", this.#isOrdering || !this.#main);
    element("record-stop").setAttribute("aria-disabled", this.#isOrdering);
  }

  #tick() {
    write(element("record-time"), text.duration(this.#time.at(performance.now())));
  }
}

function write(where, what) {
  if (where.textContent !== what) where.textContent = what;
}
