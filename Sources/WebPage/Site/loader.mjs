// Follows a live playlist and hands over its media in order, as early as the server has it.

import { parsePlaylist } from "./playlist.mjs";
import { blockingReload, firstReading, firstUnits, unitsAfter } from "./follow.mjs";
import { pause, request } from "./requests.mjs";

/** The stream is not the one any more that was being loaded; begin anew. */
export class StreamChanged extends Error {}

/** No media for this long is a failure, whatever the playlists say. */
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
   * @param {AbortSignal} signal Ends everything.
   * @param {object} handler Told in order, one call at a time, each awaited:
   *   `begin({codecs, playlist})`, `initialize(bytes, {discontinuity})`, `media(bytes, unit, {isNewest})`, `end()`;
   *   the newest unit is the last one that the playlist names.
   */
  constructor(signal, handler) {
    this.#signal = signal;
    this.#handler = handler;
  }

  /**
   * Loads until the stream ends.
   *
   * @throws {RequestError|PlaylistError|StreamChanged} and whatever the handler throws.
   */
  async run(url) {
    const entry = await this.#playlist(url);
    const variant = entry.variants?.reduce((best, next) => (next.bandwidth > best.bandwidth ? next : best));
    const mediaURL = variant ? variant.url : url;
    let playlist = variant ? await this.#playlist(mediaURL, firstReading(mediaURL)) : entry;
    this.#freshAt = performance.now();
    await this.#handler.begin({ codecs: variant?.codecs ?? "", playlist });

    const failed = new Promise((_, reject) => { this.#fail = reject; });
    const followed = this.#follow(mediaURL, playlist);
    followed.catch(() => {}); // Heard through the race; the loser's failure is of no interest.
    await Promise.race([followed, failed]);
  }

  #fail = () => {};

  async #follow(url, first) {
    let playlist = first;
    for (;;) {
      const units = this.#last ? unitsAfter(playlist, this.#last) : firstUnits(playlist);
      if (units === null) throw new StreamChanged("The playlist went on without this player.");
      for (const unit of units) this.#load(unit, unit === units.at(-1));
      if (playlist.ended) {
        await this.#delivery;
        await this.#handler.end();
        return;
      }
      this.#prefetch(playlist.hint);
      if (units.length) this.#freshAt = performance.now();
      if (performance.now() - this.#freshAt > STALE_SECONDS * 1000) throw new StreamChanged("No media comes any more.");
      playlist = await this.#reload(url, playlist, units.length > 0);
    }
  }

  async #reload(url, playlist, wasFresh) {
    const blocking = blockingReload(url, playlist);
    if (blocking === null) await pause(playlist.targetDuration / (wasFresh ? 1 : 2), this.#signal);
    else if (!wasFresh) await pause(0.1, this.#signal); // A server that answers at once is not asked at once again.
    const next = await this.#playlist(blocking ?? url);
    if (!next.segments) throw new StreamChanged("The playlist has become another one.");
    if (next.mediaSequence < playlist.mediaSequence) throw new StreamChanged("The stream has begun anew.");
    return next;
  }

  async #playlist(url, query = url) {
    return parsePlaylist(await request(query, { signal: this.#signal, seconds: STALE_SECONDS }), url);
  }

  /** Asks for a unit at once, and hands it over when all before it are. */
  #load(unit, isNewest) {
    const discontinuity = this.#last !== null && this.#last.discontinuity !== unit.discontinuity;
    const initialization = unit.map !== this.#map ? this.#fetch(unit.map) : null;
    const media = this.#take(unit.url) ?? this.#fetch(unit.url);
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

  /** Asks ahead for the part that comes next: the server holds the request until it has it. */
  #prefetch(url) {
    if (!url || this.#hinted?.url === url || this.#last?.url === url) return;
    this.#hinted?.controller.abort(this.#signal.reason);
    const controller = new AbortController();
    const end = () => controller.abort(this.#signal.reason);
    this.#signal.addEventListener("abort", end, { once: true });
    const bytes = this.#fetch(url, controller.signal)
      .finally(() => this.#signal.removeEventListener("abort", end));
    bytes.catch(() => {}); // A hint that does not come true is no failure.
    this.#hinted = { url, controller, bytes };
  }

  /** The answer to the hint, when it was for this; asked for again should it have failed. */
  #take(url) {
    if (this.#hinted?.url !== url) return null;
    const { bytes } = this.#hinted;
    this.#hinted = null;
    const again = bytes.catch(() => this.#fetch(url));
    again.catch(() => {}); // Heard where it is handed over.
    return again;
  }

  #fetch(url, signal = this.#signal) {
    const bytes = request(url, { signal, seconds: STALE_SECONDS, as: "arrayBuffer" });
    bytes.catch(() => {}); // Heard where it is handed over.
    return bytes;
  }
}
