// The panel of a stream's effects: faces, masks, smoothing, clock.

import { FaceBoxes } from "./face-boxes.mjs";
import { hasBoxes } from "./faces.mjs";
import { request } from "./requests.mjs";
import { ChangeQueue } from "./change-queue.mjs";

const element = (id) => document.getElementById(id);
/** Menu ids by setting. */
const MENUS = { faces: "effects-faces", mask: "effects-mask", maskPart: "effects-part" };

export class EffectsPanel {
  #boxes;
  #address = null;
  #effects = null;
  #changes = new ChangeQueue(request, (outcome) => this.#handle(outcome));
  /** Whether boxes are drawn on this screen; null for the default of the effects. */
  #wantsBoxes = null;
  #isUploading = false;
  #isSliding = false;

  constructor(video, session) {
    this.#boxes = new FaceBoxes(video, session);
    for (const [key, id] of Object.entries(MENUS)) {
      const menu = element(id);
      menu.onchange = () => this.#change({ [key]: menu.value || null });
    }
    const slider = element("effects-smooth");
    slider.oninput = () => {
      this.#isSliding = true;
      this.#change({ smooth: Number(slider.value) });
    };
    // Releasing the slider at its old position fires no `change`.
    for (const kind of ["change", "pointerup", "pointercancel", "blur"]) {
      slider.addEventListener(kind, () => { this.#isSliding = false; });
    }
    element("effects-clock").onclick = () => this.#change({ clock: !this.#effects.clock });
    const chooser = element("effects-file");
    element("effects-image").onclick = () => chooser.click();
    chooser.onchange = () => this.#upload(chooser);
    element("effects-frames").onclick = () => {
      this.#wantsBoxes = !this.#hasBoxes;
      this.#show();
    };
  }

  /** The stream from the list of streams; null while it does not exist. */
  set stream(stream) {
    // Viewers without the operator role see the boxes, not the panel.
    element("effects").hidden = stream?.effects == null || !stream.steerable;
    this.#address = stream ? `api/streams${stream.page}` : null;
    if (!stream?.effects) {
      this.#effects = null;
      this.#boxes.address = null;
      return;
    }
    this.#changes.address = this.#address;
    // A response to a request older than the last change is outdated.
    if (!this.#changes.isBusy && !this.#isUploading) this.#effects = stream.effects;
    this.#show();
  }

  get #hasBoxes() {
    return this.#wantsBoxes ?? hasBoxes(this.#effects);
  }

  #change(change) {
    if (!this.#effects) return;
    this.#effects = { ...this.#effects, ...change };
    this.#changes.setEffects(this.#effects);
    this.#show();
  }

  #handle({ stream: effects, problem, isBusy }) {
    element("effects").setAttribute("aria-busy", isBusy);
    if (effects && !isBusy) this.#effects = effects;
    if (effects || problem !== undefined) this.#showProblem(problem);
    if (problem) this.#refresh();
    this.#show();
  }

  /** Restores the menus after a rejected change. */
  async #refresh() {
    try {
      this.#effects = await request(`${this.#address}/effects`, { as: "json", cache: "no-store", seconds: 5 });
      this.#show();
    } catch {
      // The next list of streams contains the effects.
    }
  }

  /** Uploads the mask image and selects it as the mask. */
  async #upload(chooser) {
    const [file] = chooser.files;
    chooser.value = ""; // Lets the same file be chosen again.
    if (!file) return;
    this.#isUploading = true;
    element("effects").setAttribute("aria-busy", true);
    try {
      const options = { method: "PUT", file, as: "json", seconds: 60 };
      this.#effects = await request(`${this.#address}/effects/mask`, options);
      this.#isUploading = false;
      this.#change({ mask: "image" });
    } catch (error) {
      this.#showProblem(error.message);
      element("effects").setAttribute("aria-busy", false);
    } finally {
      this.#isUploading = false;
    }
  }

  #showProblem(problem) {
    const area = element("effects-problem");
    if (area.textContent !== (problem ?? "")) area.textContent = problem ?? "";
    area.hidden = !problem;
  }

  #show() {
    const effects = this.#effects;
    if (!effects) return;
    for (const [key, id] of Object.entries(MENUS)) element(id).value = effects[key] ?? "";
    if (!this.#isSliding) element("effects-smooth").value = effects.smooth;
    element("effects-part-field").hidden = effects.mask === null;
    element("effects-clock").setAttribute("aria-pressed", effects.clock);
    element("effects-frames").setAttribute("aria-pressed", this.#hasBoxes);
    this.#boxes.address = this.#hasBoxes ? `${this.#address}/events` : null;
  }
}
