// The panel of a stream's sources, rotation, mirroring, audio and camera controls.

import { pause, request } from "./requests.mjs";
import { adjustable, levelShare, levelText, menus, nextRotation } from "./sources.mjs";
import { ChangeQueue } from "./change-queue.mjs";

const element = (id) => document.getElementById(id);
/** Polling intervals of the audio level, while the panel is in use, and of the camera controls, in seconds. */
const LEVEL_INTERVAL = 0.25, CONTROLS_INTERVAL = 2;
/** Time after the last interaction during which the panel counts as in use, in milliseconds. */
const USE_TIME = 30_000;

export class SourcePanel {
  #stream = null;
  #list = { devices: [], generators: [], restricted: false };
  #changes = new ChangeQueue(request, (outcome) => this.#handle(outcome));
  /** Mirroring of the preview chosen by the viewer; null for the default of the source. */
  #preview = null;
  #isAdjusting = false;
  /** Time of the last interaction. */
  #lastUse = -Infinity;
  /** The source whose controls are displayed. */
  #knownSource = null;

  constructor() {
    for (const kind of ["video", "audio"]) {
      const select = element(`source-${kind}`);
      select.onchange = () => this.#changes.replace({ [kind]: select.value });
      select.onfocus = () => this.#loadDevices();
    }
    const toggle = (id, key) => {
      element(id).onclick = () => this.#changes.change({ [key]: !this.#stream[key] });
    };
    toggle("source-mirror", "mirror");
    toggle("source-mute", "mute");
    toggle("source-pause", "pause");
    element("source-rotate").onclick = () => this.#changes.change({ rotation: nextRotation(this.#stream.rotation) });
    element("source-preview").onclick = () => {
      this.#preview = !this.#isPreviewMirrored;
      this.#show();
    };
    for (const kind of ["pointermove", "pointerdown", "focusin", "keydown"]) {
      element("source").addEventListener(kind, () => { this.#lastUse = performance.now(); }, { passive: true });
    }
    this.#watchLevel();
    this.#watchControls();
  }

  /** The stream from the list of streams; null while it does not exist. */
  set stream(stream) {
    const isOperator = stream?.source != null && stream.steerable;
    element("source").hidden = !isOperator;
    if (!isOperator) {
      this.#stream = null;
      element("stage").classList.toggle("mirrored", stream?.previewMirrored === true);
      return;
    }
    const isNew = !this.#stream;
    // A response to a request older than the last change is outdated.
    if (this.#changes.isBusy) return;
    this.#changes.address = `api/streams${stream.page}`;
    this.#update(stream);
    if (isNew) this.#loadDevices();
  }

  get #isPreviewMirrored() {
    return this.#preview ?? this.#stream?.previewMirrored ?? false;
  }

  #update(stream) {
    if (this.#stream && this.#stream.source?.video !== stream.source?.video) this.#preview = null;
    this.#stream = stream;
    this.#show();
  }

  #handle({ stream, problem, isBusy }) {
    element("source").setAttribute("aria-busy", isBusy);
    if (stream) {
      this.#update(stream);
      this.#showControls(stream.controlList);
    }
    if (!stream && problem === undefined) return;
    write(element("source-problem"), problem ?? "");
    element("source-problem").hidden = !problem;
    if (problem) this.#show(); // Restores the menus.
  }

  /** Loads the list of devices. */
  async #loadDevices() {
    try {
      this.#list = await request("api/devices", { as: "json", cache: "no-store", seconds: 15 });
    } catch {
      return; // The menus contain the current sources.
    }
    this.#show();
  }

  #show() {
    const stream = this.#stream;
    if (!stream?.source) return;
    // The chosen source stays selected until it is applied or rejected.
    if (!this.#changes.isReplacing) {
      const { video, audio } = menus(this.#list, stream.source);
      fill(element("source-video"), video);
      fill(element("source-audio"), audio);
    }
    if (stream.level) showLevel(stream.level);
    element("source-audio-area").hidden = stream.audio == null;
    press("source-mirror", stream.mirror);
    press("source-mute", stream.mute);
    press("source-pause", stream.pause);
    press("source-preview", this.#isPreviewMirrored);
    element("source-mute").hidden = stream.audio == null;
    write(element("source-turned"), stream.rotation ? `${stream.rotation}°` : "");
    element("source-insecure").hidden = !stream.source.insecure;
    element("source-hint").hidden = !this.#list.restricted;
    element("stage").classList.toggle("mirrored", this.#isPreviewMirrored);
  }

  // The audio level: polled while the panel is in use; otherwise updated by the list of streams.

  async #watchLevel() {
    for (;;) {
      await pause(LEVEL_INTERVAL);
      const isUsed = performance.now() - this.#lastUse < USE_TIME;
      if (!isUsed || document.hidden || !this.#stream?.audio || !isOnScreen(element("level"))) continue;
      try {
        showLevel(await request(`api/streams${this.#stream.page}/level`, { as: "json", cache: "no-store", seconds: 2 }));
      } catch {
        await pause(1);
      }
    }
  }

  // The camera controls: loaded once per source, and polled while they are open.

  async #watchControls() {
    for (;;) {
      await pause(CONTROLS_INTERVAL);
      if (document.hidden || !this.#stream?.source || this.#isAdjusting || this.#changes.isBusy) continue;
      const area = element("source-controls"), source = JSON.stringify([this.#stream.source.video, this.#stream.slate]);
      if (source === this.#knownSource && (area.hidden || !area.open)) continue;
      try {
        const stream = await request(`api/streams${this.#stream.page}`, { as: "json", cache: "no-store", seconds: 5 });
        if (this.#isAdjusting || this.#changes.isBusy) continue;
        this.#showControls(stream.controlList);
        this.#knownSource = source;
      } catch {
        // The player reports the lost connection.
      }
    }
  }

  #showControls(list) {
    const controls = adjustable(list);
    const area = element("source-controls");
    area.hidden = controls.length === 0;
    const names = controls.map(({ name, kind }) => `${name} ${kind}`).join();
    const rows = element("control-rows");
    if (rows.dataset.names !== names) {
      rows.dataset.names = names;
      rows.replaceChildren(...controls.map((control) => this.#row(control)));
    }
    controls.forEach((control, index) => update(rows.children[index], control));
  }

  #row(control) {
    const row = document.createElement("label");
    row.className = "control";
    const label = document.createElement("span");
    label.textContent = control.label;
    const input = document.createElement(control.kind === "menu" ? "select" : control.kind === "integer" ? "input" : "button");
    const set = (value) => this.#changes.change({ controls: { [control.name]: value } });
    if (control.kind === "menu") {
      input.append(...(control.menu ?? []).map(({ value, label }) => new Option(label, value)));
      input.onchange = () => set(Number(input.value));
    } else if (control.kind === "integer") {
      Object.assign(input, { type: "range", min: control.minimum, max: control.maximum, step: control.step });
      input.oninput = () => {
        this.#isAdjusting = true;
        row.querySelector("output").textContent = input.value;
        set(Number(input.value));
      };
      // Releasing the slider at its old position fires no `change`.
      const finish = () => { this.#isAdjusting = false; };
      for (const kind of ["change", "pointerup", "pointercancel", "blur"]) input.addEventListener(kind, finish);
    } else {
      input.type = "button";
      input.onclick = () => set(control.kind === "button" ? 1 : input.getAttribute("aria-pressed") !== "true");
    }
    input.setAttribute("aria-label", control.label);
    row.append(label, input, document.createElement("output"));
    return row;
  }
}

function update(row, control) {
  const input = row.children[1];
  input.disabled = control.inactive;
  if (control.kind === "boolean") {
    input.setAttribute("aria-pressed", control.value !== 0);
    write(input, control.value !== 0 ? "On" : "Off");
  } else if (control.kind === "button") {
    write(input, "Run");
  } else if (document.activeElement !== input || control.kind === "menu") {
    input.value = control.value;
    if (control.kind === "integer") write(row.querySelector("output"), String(control.value));
  }
}

/** Fills a menu; an unchanged one is left alone, since it may be open. */
function fill(select, groups) {
  const chosen = groups.flatMap(({ options }) => options).find(({ isChosen }) => isChosen)?.value ?? "";
  const key = JSON.stringify(groups);
  if (select.dataset.key !== key) {
    select.dataset.key = key;
    select.replaceChildren(...groups.map(({ label, options }) => {
      const group = document.createElement("optgroup");
      group.label = label;
      group.append(...options.map((option) => {
        const item = new Option(option.label, option.value);
        item.disabled = option.isDisabled;
        return item;
      }));
      return group;
    }));
  }
  select.value = chosen;
}

function showLevel({ rms, peak }) {
  element("level").setAttribute("aria-valuenow", Math.round(rms));
  element("level").setAttribute("aria-valuetext", levelText(rms));
  element("level-rms").style.clipPath = `inset(0 ${100 - levelShare(rms) * 100}% 0 0)`;
  element("level-peak").style.left = `calc(${levelShare(peak) * 100}% - 2px)`;
}

function isOnScreen(area) {
  const { top, bottom } = area.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

function press(id, isPressed) {
  element(id).setAttribute("aria-pressed", isPressed);
}

function write(target, text) {
  if (target.textContent !== text) target.textContent = text;
}
