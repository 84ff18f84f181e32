// The recording bar of the player page.

import { describe, NAMES, RunningTime, sentence } from "./recording.mjs";
import { pause, request } from "./requests.mjs";
import * as text from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Polling interval in seconds. */
const INTERVAL = 1;
/** Timeout of a command in seconds: creating a file on a busy disk takes time. */
const COMMAND_TIMEOUT = 60;

export class RecordingBar {
  #address = null;
  #time = new RunningTime();
  #main = null;
  /** Number of commands: responses to polls sent before the last one are outdated. */
  #count = 0;
  #isSending = false;
  #isOperator = true;
  /** Error of the last command, until the next one. */
  #problem = "";

  constructor() {
    element("record-main").onclick = () => this.#send(this.#main);
    element("record-stop").onclick = () => this.#send("stop");
    setInterval(() => this.#tick(), 250);
    this.#watch();
  }

  /** URL of the recording resource; undefined without a recorder. */
  set address(address) {
    this.#address = address ?? null;
    if (!address) element("record").hidden = true;
  }

  /** Whether the viewer may control the recording; otherwise only its state is shown. */
  set isOperator(isOperator) {
    this.#isOperator = isOperator ?? true;
    element("record-main").hidden = !this.#isOperator;
    if (!this.#isOperator) element("record-stop").hidden = true;
  }

  async #watch() {
    for (;;) {
      await this.#poll();
      await pause(INTERVAL);
    }
  }

  async #poll() {
    const address = this.#address;
    if (!address || document.hidden) return;
    const number = this.#count;
    try {
      const response = await request(address, { as: "json", cache: "no-store", seconds: 5 });
      if (number === this.#count && address === this.#address) this.#show(response);
    } catch {
      // The player reports the lost connection; the time stops by itself.
    }
  }

  async #send(action) {
    if (!action || this.#isSending) return;
    this.#count += 1;
    this.#isSending = true;
    this.#problem = "";
    this.#enable();
    try {
      const response = await request(this.#address, { json: { action }, as: "json", seconds: COMMAND_TIMEOUT });
      this.#count += 1;
      this.#show(response);
    } catch (error) {
      this.#problem = sentence(error.message);
    }
    this.#isSending = false;
    this.#enable();
    this.#poll();
  }

  #show(recording) {
    const { text: state, main, canStop, runs, error } = describe(recording);
    this.#main = main;
    element("record").hidden = false;
    element("record").dataset.state = recording.state;
    write(element("record-state"), state);
    this.#time.note(recording.duration ?? 0, runs, performance.now());
    // Without the right to read recordings, the state is all there is.
    const isNew = recording.duration === undefined || recording.state === "idle" && !recording.file;
    element("record-time").hidden = isNew;
    write(element("record-size"), isNew ? "" : [
      text.bytes(recording.bytes), recording.drops > 0 ? `${recording.drops} dropped` : "",
    ].filter(Boolean).join(" · "));
    if (main) {
      write(element("record-name"), NAMES[main]);
      element("record-icon").setAttribute("href", main === "pause" ? "#i-pause" : "#i-record");
    }
    element("record-stop").hidden = !canStop || !this.#isOperator;
    write(element("record-problem"), this.#problem || error);
    element("record-problem").hidden = !(this.#problem || error);
    this.#enable();
    this.#tick();
  }

  /** `aria-disabled` instead of `disabled`, so that a pressed button keeps the focus. */
  #enable() {
    element("record-main").setAttribute("aria-disabled", this.#isSending || !this.#main);
    element("record-stop").setAttribute("aria-disabled", this.#isSending);
  }

  #tick() {
    write(element("record-time"), text.duration(this.#time.at(performance.now())));
  }
}

function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
