// The panel with which a stream's effects are chosen: what is done about faces, masks, smoothing, the clock.

import { FaceFrames } from "./face-frames.mjs";
import { hasFrames } from "./faces.mjs";
import { request } from "./requests.mjs";
import { Steering } from "./steering.mjs";

const element = (id) => document.getElementById(id);
/** The menus, by the setting that they change. */
const MENUS = { faces: "effects-faces", mask: "effects-mask", maskPart: "effects-part" };

export class EffectsPanel {
  #frames;
  #address = null;
  #effects = null;
  #steering = new Steering(request, (change) => this.#note(change));
  /** Whether there are frames on this screen; null for what fits the effects. */
  #wantsFrames = null;
  #isSending = false;
  #isSliding = false;

  constructor(video, session) {
    this.#frames = new FaceFrames(video, session);
    for (const [key, id] of Object.entries(MENUS)) {
      element(id).onchange = ({ target }) => this.#change({ [key]: target.value || null });
    }
    const slider = element("effects-smooth");
    slider.oninput = () => {
      this.#isSliding = true;
      this.#change({ smooth: Number(slider.value) });
    };
    for (const kind of ["change", "pointerup", "pointercancel", "blur"]) {
      slider.addEventListener(kind, () => { this.#isSliding = false; });
    }
    element("effects-clock").onclick = () => this.#change({ clock: !this.#effects.clock });
    element("effects-image").onclick = () => element("effects-file").click();
    element("effects-file").onchange = ({ target }) => this.#send(target);
    element("effects-frames").onclick = () => {
      this.#wantsFrames = !this.#hasFrames;
      this.#show();
    };
  }

  /** The stream as the list of streams tells it; null while it is not there. */
  set stream(stream) {
    element("effects").hidden = stream?.effects == null;
    this.#address = stream ? `/api/streams${stream.page}` : null;
    if (!stream?.effects) {
      this.#effects = null;
      this.#frames.address = null;
      return;
    }
    this.#steering.address = this.#address;
    // An answer that was sent before an order says nothing any more.
    if (!this.#steering.isBusy && !this.#isSending) this.#effects = stream.effects;
    this.#show();
  }

  get #hasFrames() {
    return this.#wantsFrames ?? hasFrames(this.#effects);
  }

  #change(change) {
    if (!this.#effects) return;
    this.#effects = { ...this.#effects, ...change };
    this.#steering.setEffects(this.#effects);
    this.#show();
  }

  #note({ stream: effects, problem, isBusy }) {
    element("effects").setAttribute("aria-busy", isBusy);
    if (effects && !isBusy) this.#effects = effects;
    if (effects || problem !== undefined) this.#tell(problem);
    if (problem) this.#refresh();
    this.#show();
  }

  /** After a refusal the menus go back to what is. */
  async #refresh() {
    try {
      this.#effects = await request(`${this.#address}/effects`, { as: "json", cache: "no-store", seconds: 5 });
      this.#show();
    } catch {
      // The next list of streams tells it.
    }
  }

  /** Sends the image of the mask, and draws it over faces. */
  async #send(chooser) {
    const [file] = chooser.files;
    chooser.value = ""; // The same file may be chosen again.
    if (!file) return;
    this.#isSending = true;
    element("effects").setAttribute("aria-busy", true);
    try {
      const options = { method: "PUT", file, as: "json", seconds: 60 };
      this.#effects = await request(`${this.#address}/effects/mask`, options);
      this.#isSending = false;
      this.#change({ mask: "image" });
    } catch (error) {
      this.#tell(error.message);
      element("effects").setAttribute("aria-busy", false);
    } finally {
      this.#isSending = false;
    }
  }

  #tell(problem) {
    const place = element("effects-problem");
    if (place.textContent !== (problem ?? "")) place.textContent = problem ?? "";
    place.hidden = !problem;
  }

  #show() {
    const effects = this.#effects;
    if (!effects) return;
    for (const [key, id] of Object.entries(MENUS)) element(id).value = effects[key] ?? "";
    if (!this.#isSliding) element("effects-smooth").value = effects.smooth;
    element("effects-part-field").hidden = effects.mask === null;
    element("effects-clock").setAttribute("aria-pressed", effects.clock);
    element("effects-frames").setAttribute("aria-pressed", this.#hasFrames);
    this.#frames.address = this.#hasFrames ? `${this.#address}/events` : null;
  }
}
