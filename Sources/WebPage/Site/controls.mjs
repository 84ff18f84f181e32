// The buttons and keys of the player.

import { pictureName } from "./text.mjs";

const element = (id) => document.getElementById(id);
/** Milliseconds without a movement until the controls go. */
const IDLE = 2800;
const MUTED = "vidicon-muted";
const VOLUME = "vidicon-volume";

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
    this.#buttons();
    this.#keys();
    this.#hiding();
    this.update();
  }

  /** Starts the video element, without sound where the browser wants a gesture first. */
  async begin() {
    element("start").hidden = true;
    try {
      await this.#video.play();
    } catch (error) {
      if (error.name !== "NotAllowedError") return; // Replaced meanwhile.
      try {
        this.#video.muted = true;
        await this.#video.play();
        element("unmute").hidden = !this.hasSound;
      } catch (again) {
        element("start").hidden = again.name !== "NotAllowedError";
      }
    }
  }

  /** Whether there is sound to turn on. */
  hasSound = true;

  /** Shows how things stand. */
  update() {
    const isPaused = this.#session.state === "paused";
    const isMuted = this.#video.muted || this.#video.volume === 0;
    icon("play", isPaused ? "play" : "pause");
    name("play", isPaused ? "Play" : "Pause", "space");
    icon("mute", isMuted ? "muted" : "sound");
    name("mute", isMuted ? "Turn sound on" : "Turn sound off", "m");
    element("volume").value = isMuted ? 0 : this.#video.volume;
    const isSilent = this.#session.way === "pictures" || !this.hasSound;
    element("mute").hidden = isSilent;
    element("volume").hidden = isSilent;
    if (!this.#video.muted) element("unmute").hidden = true;
    element("pip").hidden = this.#session.way === "pictures" || !this.#canFloat;
    element("full").hidden = !this.#stage.requestFullscreen && !this.#video.webkitEnterFullscreen;
    name("full", document.fullscreenElement ? "Leave full screen" : "Full screen", "f");
  }

  get #canFloat() {
    return document.pictureInPictureEnabled || this.#video.webkitSupportsPresentationMode?.("picture-in-picture");
  }

  #buttons() {
    element("play").onclick = () => this.#toggle();
    element("mute").onclick = () => this.#toggleSound();
    element("unmute").onclick = () => this.#toggleSound();
    element("start").onclick = () => this.begin();
    element("full").onclick = () => this.#toggleFull();
    element("pip").onclick = () => this.#toggleFloating();
    element("volume").oninput = ({ target }) => {
      this.#video.volume = Number(target.value);
      this.#video.muted = this.#video.volume === 0;
    };
    element("snapshot").addEventListener("click", ({ currentTarget }) => {
      currentTarget.download = pictureName(this.#name, new Date());
    });
    this.#video.addEventListener("volumechange", () => {
      remember(MUTED, this.#video.muted);
      if (!this.#video.muted) remember(VOLUME, this.#video.volume);
      this.update();
    });
    document.addEventListener("fullscreenchange", () => this.update());
    this.#video.addEventListener("click", () => {
      // A finger brings up the controls; only a mouse, which shows them by moving, presses on the picture itself.
      if (matchMedia("(hover: hover)").matches) this.#toggle();
    });
    this.#video.addEventListener("dblclick", () => this.#toggleFull());
  }

  #keys() {
    const actions = { " ": () => this.#toggle(), m: () => this.#toggleSound(), f: () => this.#toggleFull() };
    document.addEventListener("keydown", (event) => {
      const action = actions[event.key.toLowerCase()];
      const isElsewhere = event.altKey || event.ctrlKey || event.metaKey || element("code").open;
      // The space bar presses the button that has the focus.
      const isPress = event.key === " " && event.target.closest("button, a, input, code, select, summary");
      if (!action || isElsewhere || isPress || event.repeat) return;
      event.preventDefault();
      this.#wake();
      action();
    });
  }

  #hiding() {
    for (const type of ["pointermove", "pointerdown", "focusin"]) {
      this.#stage.addEventListener(type, () => this.#wake());
    }
    this.#stage.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType === "mouse") this.#rest();
    });
    this.#wake();
  }

  #wake() {
    this.#stage.classList.remove("idle");
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#rest(), IDLE);
  }

  #rest() {
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
    this.#wake();
  }

  #toggleSound() {
    this.#video.muted = !this.#video.muted;
    if (!this.#video.muted && this.#video.volume === 0) this.#video.volume = 1;
    this.#wake();
  }

  #toggleFull() {
    if (document.fullscreenElement) document.exitFullscreen();
    else if (this.#stage.requestFullscreen) this.#stage.requestFullscreen().catch(() => {});
    else this.#video.webkitEnterFullscreen?.();
  }

  #toggleFloating() {
    if (document.pictureInPictureElement) document.exitPictureInPicture();
    else if (this.#video.requestPictureInPicture) this.#video.requestPictureInPicture().catch(() => {});
    else this.#video.webkitSetPresentationMode?.("picture-in-picture");
  }
}

function icon(id, symbol) {
  element(id).querySelector("use").setAttribute("href", `#i-${symbol}`);
}

function name(id, what, key) {
  element(id).setAttribute("aria-label", what);
  element(id).title = `${what} (${key})`;
}

// A browser may forbid a page to keep anything.
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
    // Then it is forgotten.
  }
}
