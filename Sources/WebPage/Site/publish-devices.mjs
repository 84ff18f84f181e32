// Camera and microphone of the page that publishes: opened, exchanged for others, and listed. Without the document.

/** The choice of no microphone. */
export const NO_MICROPHONE = "none";
const VIDEO = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const AUDIO = { channelCount: { ideal: 2 }, echoCancellation: false, noiseSuppression: false, autoGainControl: false };

export class Devices {
  /** Open tracks; null where there is none. */
  video = null;
  audio = null;
  /** Identifiers of the wished devices; empty for the choice of the browser. */
  choice = { video: "", audio: "" };
  #lost;

  /** @param {(kind: "video"|"audio") => void} lost Called when an open device ends by itself. */
  constructor(lost) {
    this.#lost = lost;
  }

  /** Open tracks, that of the camera first. */
  get tracks() {
    return [this.video, this.audio].filter(Boolean);
  }

  /** Opens both as chosen, by default the camera at the back, with one question of the browser; without microphone where there is none. */
  async open() {
    const wished = (id, otherwise) => id ? { deviceId: { ideal: id } } : otherwise;
    const video = { ...VIDEO, ...wished(this.choice.video, { facingMode: "environment" }) };
    const audio = this.choice.audio !== NO_MICROPHONE && { ...AUDIO, ...wished(this.choice.audio) };
    const media = await navigator.mediaDevices.getUserMedia({ video, audio }).catch((error) =>
      audio && error.name === "NotFoundError" ? navigator.mediaDevices.getUserMedia({ video }) : Promise.reject(error));
    for (const track of media.getTracks()) this.#keep(track);
  }

  /**
   * Exchanges a device. Phones hold one camera at a time: the open one is closed before the other one is opened, and opened again
   * where that fails.
   *
   * @param {object} device Constraints that name it; null for none.
   * @throws Why the device cannot be used.
   */
  async exchange(kind, device) {
    const previous = this[kind], id = previous?.getSettings().deviceId;
    previous?.stop();
    this[kind] = null;
    if (!device) return;
    try {
      await this.#openOne(kind, device);
    } catch (error) {
      if (id) await this.#openOne(kind, { deviceId: { exact: id } }).catch(() => {});
      throw error;
    } finally {
      if (this[kind]) this.choice[kind] = this[kind].getSettings().deviceId ?? "";
    }
  }

  /** Exchanges a device for the one with an identifier. */
  choose(kind, id) {
    this.choice[kind] = id;
    return this.exchange(kind, id === NO_MICROPHONE ? null : id ? { deviceId: { exact: id } } : {});
  }

  /** Exchanges the camera for the one at the other side of a phone; elsewhere for the next one. */
  async flip() {
    const { facingMode, deviceId } = this.video.getSettings();
    const other = facingMode === "environment" ? "user" : "environment";
    if (facingMode) return this.exchange("video", { facingMode: { exact: other } });
    const ids = (await this.list()).video.map((device) => device.deviceId);
    return this.choose("video", ids[(ids.indexOf(deviceId) + 1) % ids.length]);
  }

  /** All devices; none before the browser was permitted to name them. */
  async list() {
    const all = await navigator.mediaDevices.enumerateDevices();
    const named = (kind) => all.filter((device) => device.kind === kind && device.label);
    return { video: named("videoinput"), audio: named("audioinput") };
  }

  /** Closes both. */
  close() {
    for (const track of this.tracks) track.stop();
    this.video = this.audio = null;
  }

  async #openOne(kind, device) {
    const constraints = { ...(kind === "video" ? VIDEO : AUDIO), ...device };
    const media = await navigator.mediaDevices.getUserMedia({ [kind]: constraints });
    for (const track of media.getTracks()) this.#keep(track);
  }

  #keep(track) {
    const { kind } = track;
    this[kind] = track;
    if (kind === "video") track.contentHint = "motion";
    track.addEventListener("ended", () => { if (track === this[kind]) this.#lost(kind); });
  }
}
