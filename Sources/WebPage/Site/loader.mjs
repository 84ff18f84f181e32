// Follows a live playlist and delivers its media in order, as soon as the server has it.

import { parsePlaylist } from "./playlist.mjs";
import { blockingReload, firstRequest, firstUnits, unitsAfter } from "./follow.mjs";
import { pause, request } from "./requests.mjs";

/** The playlist does not continue the loaded stream: a new player must start. */
export class StreamChanged extends Error {}

/** Timeout of each request, and maximum time without new media. */
const STALE_SECONDS = 10;

export class Loader {
  #signal;
  #handler;
  #last = null;
  #map = null;
  #hinted = null;
  #delivery = Promise.resolve();
  #freshAt = 0;

  /**
   * @param {AbortSignal} signal Ends loading.
   * @param {object} handler Called in order, one call at a time, each awaited:
   *   `begin({codecs, playlist})`, `initialize(bytes, {discontinuity})`, `media(bytes, unit, {isNewest})`, `end()`;
   *   the newest unit is the last one of the playlist.
   */
  constructor(signal, handler) {
    this.#signal = signal;
    this.#handler = handler;
  }

  /**
   * Loads until the stream ends.
   *
   * @throws {RequestError|PlaylistError|StreamChanged} and errors of the handler.
   */
  async run(url) {
    const entry = await this.#playlist(url);
    const variant = entry.variants?.reduce((best, next) => (next.bandwidth > best.bandwidth ? next : best));
    const mediaURL = variant ? variant.url : url;
    let playlist = variant ? await this.#playlist(mediaURL, firstRequest(mediaURL)) : entry;
    this.#freshAt = performance.now();
    await this.#handler.begin({ codecs: variant?.codecs ?? "", playlist });

    const failed = new Promise((_, reject) => { this.#fail = reject; });
    const followed = this.#follow(mediaURL, playlist);
    followed.catch(() => {}); // Handled by the race.
    await Promise.race([followed, failed]);
  }

  #fail = () => {};

  async #follow(url, first) {
    let playlist = first;
    for (;;) {
      const units = this.#last ? unitsAfter(playlist, this.#last) : firstUnits(playlist);
      if (units === null) throw new StreamChanged("The player has fallen too far behind.");
      for (const unit of units) this.#load(unit, unit === units.at(-1));
      if (playlist.ended) {
        await this.#delivery;
        await this.#handler.end();
        return;
      }
      this.#prefetch(playlist.hint);
      if (units.length) this.#freshAt = performance.now();
      if (performance.now() - this.#freshAt > STALE_SECONDS * 1000) throw new StreamChanged("No new media arrives.");
      playlist = await this.#reload(url, playlist, units.length > 0);
    }
  }

  async #reload(url, playlist, wasFresh) {
    const blocking = blockingReload(url, playlist);
    if (blocking === null) await pause(playlist.targetDuration / (wasFresh ? 1 : 2), this.#signal);
    else if (!wasFresh) await pause(0.1, this.#signal); // Avoids a busy loop when the server does not block.
    const next = await this.#playlist(blocking ?? url);
    if (!next.segments) throw new StreamChanged("The playlist has been replaced.");
    if (next.mediaSequence < playlist.mediaSequence) throw new StreamChanged("The stream has restarted.");
    return next;
  }

  async #playlist(url, query = url) {
    return parsePlaylist(await request(query, { signal: this.#signal, seconds: STALE_SECONDS }), url);
  }

  /** Requests a unit at once, and delivers it after all earlier ones. */
  #load(unit, isNewest) {
    const discontinuity = this.#last !== null && this.#last.discontinuity !== unit.discontinuity;
    const initialization = unit.map !== this.#map ? this.#fetch(unit.map) : null;
    const media = this.#takePrefetched(unit.url) ?? this.#fetch(unit.url);
    this.#map = unit.map;
    this.#last = unit;
    this.#delivery = this.#delivery.then(async () => {
      if (initialization || discontinuity) {
        await this.#handler.initialize(initialization && await initialization, { discontinuity });
      }
      await this.#handler.media(await media, unit, { isNewest });
    });
    this.#delivery.catch((error) => this.#fail(error));
  }

  /** Requests the part of the preload hint: the server responds when it is complete. */
  #prefetch(url) {
    if (!url || this.#hinted?.url === url || this.#last?.url === url) return;
    this.#hinted?.controller.abort(this.#signal.reason);
    const controller = new AbortController();
    const end = () => controller.abort(this.#signal.reason);
    this.#signal.addEventListener("abort", end, { once: true });
    const bytes = this.#fetch(url, controller.signal)
      .finally(() => this.#signal.removeEventListener("abort", end));
    bytes.catch(() => {}); // A hint that is not fulfilled is not an error.
    this.#hinted = { url, controller, bytes };
  }

  /** The prefetched bytes of a URL, requested again on failure; null when it was not prefetched. */
  #takePrefetched(url) {
    if (this.#hinted?.url !== url) return null;
    const { bytes } = this.#hinted;
    this.#hinted = null;
    const retried = bytes.catch(() => this.#fetch(url));
    retried.catch(() => {}); // Handled on delivery.
    return retried;
  }

  #fetch(url, signal = this.#signal) {
    const bytes = request(url, { signal, seconds: STALE_SECONDS, as: "arrayBuffer" });
    bytes.catch(() => {}); // Handled on delivery.
    return bytes;
  }
}
