// Buttons and keyboard shortcuts of the player.

import { snapshotName } from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Idle time until the controls are hidden, in milliseconds. */
const IDLE = 2800;
const MUTED = "vidicon-muted";
const VOLUME = "vidicon-volume";
const MODE = "vidicon-mode";

export class Controls {
  #video = element("video");
  #stage = element("stage");
  #session;
  #name;
  #idle = null;

  constructor(session, name) {
    this.#session = session;
    this.#name = name;
    this.#video.muted = recall(MUTED) === "true";
    this.#video.volume = Number(recall(VOLUME) ?? 1);
    const mode = element("mode");
    session.mode = [...mode.options].some(({ value }) => value === recall(MODE)) ? recall(MODE) : "realtime";
    mode.value = session.mode;
    this.#connectButtons();
    this.#connectKeys();
    this.#hideWhenIdle();
    this.update();
  }

  /** Starts the video element; muted where the browser requires a gesture for audio. */
  async begin() {
    element("start").hidden = true;
    try {
      await this.#video.play();
    } catch (error) {
      if (error.name !== "NotAllowedError") return; // Superseded by another load.
      try {
        this.#video.muted = true;
        await this.#video.play();
        element("unmute").hidden = !this.hasAudio;
      } catch (again) {
        element("start").hidden = again.name !== "NotAllowedError";
      }
    }
  }

  /** Whether the stream has audio. */
  hasAudio = true;

  /** Updates icons, labels and visibility. */
  update() {
    const isPaused = this.#session.state === "paused";
    const isMuted = this.#video.muted || this.#video.volume === 0;
    icon("play", isPaused ? "play" : "pause");
    name("play", isPaused ? "Play" : "Pause", "space");
    icon("mute", isMuted ? "muted" : "volume");
    name("mute", isMuted ? "Unmute" : "Mute", "m");
    element("volume").value = isMuted ? 0 : this.#video.volume;
    const isSilent = this.#session.way === "images" || !this.hasAudio;
    element("mute").hidden = isSilent;
    element("volume").hidden = isSilent;
    if (!this.#video.muted) element("unmute").hidden = true;
    this.#updateQuality();
    element("pip").hidden = this.#session.way === "images" || !this.#hasPictureInPicture;
    element("full").hidden = !this.#stage.requestFullscreen && !this.#video.webkitEnterFullscreen;
    name("full", document.fullscreenElement ? "Exit full screen" : "Full screen", "f");
  }

  /** Lists the renditions; the automatic choice says which one it is. */
  #updateQuality() {
    element("mode").hidden = !this.#session.hasModes;
    const menu = element("quality");
    const { levels, level, quality } = this.#session;
    menu.hidden = levels.length < 2;
    if (menu.hidden) return;
    const automatic = quality === null && level ? `Auto (${level.label})` : "Auto";
    const options = [["", automatic], ...levels.map(({ name, label }) => [name, label])];
    // An open menu is only changed where it differs.
    if (menu.options.length !== options.length) menu.replaceChildren(...options.map(() => document.createElement("option")));
    options.forEach(([value, label], index) => {
      const option = menu.options[index];
      if (option.value !== value) option.value = value;
      if (option.textContent !== label) option.textContent = label;
    });
    if (menu.value !== (quality ?? "")) menu.value = quality ?? "";
  }

  get #hasPictureInPicture() {
    return document.pictureInPictureEnabled || this.#video.webkitSupportsPresentationMode?.("picture-in-picture");
  }

  #connectButtons() {
    element("play").onclick = () => this.#toggle();
    element("mute").onclick = () => this.#toggleMuted();
    element("unmute").onclick = () => this.#toggleMuted();
    element("start").onclick = () => this.begin();
    element("full").onclick = () => this.#toggleFullScreen();
    element("pip").onclick = () => this.#togglePictureInPicture();
    element("quality").onchange = ({ target }) => {
      this.#session.quality = target.value || null;
      this.update();
    };
    element("mode").onchange = ({ target }) => {
      remember(MODE, target.value);
      this.#session.mode = target.value;
      this.update();
    };
    element("volume").oninput = ({ target }) => {
      this.#video.volume = Number(target.value);
      this.#video.muted = this.#video.volume === 0;
    };
    element("snapshot").addEventListener("click", ({ currentTarget }) => {
      currentTarget.download = snapshotName(this.#name, new Date());
    });
    this.#video.addEventListener("volumechange", () => {
      remember(MUTED, this.#video.muted);
      if (!this.#video.muted) remember(VOLUME, this.#video.volume);
      this.update();
    });
    document.addEventListener("fullscreenchange", () => this.update());
    this.#video.addEventListener("click", () => {
      // A tap shows the controls; only a mouse click on the video toggles playback.
      if (matchMedia("(hover: hover)").matches) this.#toggle();
    });
    this.#video.addEventListener("dblclick", () => this.#toggleFullScreen());
  }

  #connectKeys() {
    const actions = { " ": () => this.#toggle(), m: () => this.#toggleMuted(), f: () => this.#toggleFullScreen() };
    document.addEventListener("keydown", (event) => {
      const action = actions[event.key.toLowerCase()];
      const isElsewhere = event.altKey || event.ctrlKey || event.metaKey || element("code").open;
      // The space bar activates the focused element.
      const isPress = event.key === " " && event.target.closest("button, a, input, code, select, summary");
      if (!action || isElsewhere || isPress || event.repeat) return;
      event.preventDefault();
      this.#showControls();
      action();
    });
  }

  #hideWhenIdle() {
    for (const type of ["pointermove", "pointerdown", "focusin"]) {
      this.#stage.addEventListener(type, () => this.#showControls());
    }
    this.#stage.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType === "mouse") this.#hideControls();
    });
    this.#showControls();
  }

  #showControls() {
    this.#stage.classList.remove("idle");
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#hideControls(), IDLE);
  }

  #hideControls() {
    const isUsed = element("controls").querySelector(":focus-visible");
    if (this.#session.state === "playing" && !isUsed) this.#stage.classList.add("idle");
  }

  #toggle() {
    if (this.#session.state === "paused") {
      this.#session.play();
    } else {
      this.#session.pause();
      this.#video.pause();
    }
    this.#showControls();
  }

  #toggleMuted() {
    this.#video.muted = !this.#video.muted;
    if (!this.#video.muted && this.#video.volume === 0) this.#video.volume = 1;
    this.#showControls();
  }

  #toggleFullScreen() {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (this.#stage.requestFullscreen) this.#stage.requestFullscreen().catch(() => {});
    else this.#video.webkitEnterFullscreen?.();
  }

  #togglePictureInPicture() {
    if (document.pictureInPictureElement) document.exitPictureInPicture();
    else if (this.#video.requestPictureInPicture) this.#video.requestPictureInPicture().catch(() => {});
    else this.#video.webkitSetPresentationMode?.("picture-in-picture");
  }
}

function icon(id, symbol) {
  element(id).querySelector("use").setAttribute("href", `#i-${symbol}`);
}

function name(id, label, key) {
  element(id).setAttribute("aria-label", label);
  element(id).title = `${label} (${key})`;
}

// Storage may be disabled.
function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(key, String(value));
  } catch {
    // The setting lasts until the page is closed.
  }
}
