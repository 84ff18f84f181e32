// Follows a live playlist and delivers its media in order, as soon as the server has it.

import { parsePlaylist } from "./playlist.mjs";
import { blockingReload, firstRequest, firstUnits, isSegmentEnd, requestAfter, unitsAfter } from "./follow.mjs";
import { pause, request } from "./requests.mjs";

/** The playlist does not continue the loaded stream: a new player must start. */
export class StreamChanged extends Error {}

/** Timeout of each request, and maximum time without new media. */
const STALE_SECONDS = 10;
/** Time for which the encoder of a rendition is started at most once in advance, in seconds; unused ones stop after ten. */
const PREPARED_SECONDS = 30;
/** Media of requests that are kept when the network is too slow for the rendition, in seconds. */
const KEPT_SECONDS = 0.8;

export class Loader {
  #signal;
  #handler;
  #last = null;
  #map = null;
  #hinted = null;
  #delivery = Promise.resolve();
  #freshAt = 0;
  #url = null;
  /** The rendition to continue with: its URL, its playlist once there is media in it, and whether the current one is given up. */
  #next = null;
  /** Units that were requested and have not arrived, in order. */
  #pending = [];
  /** Sequence number of the first unit that was given up. */
  #abandoned = null;
  /** Times at which the playlists of renditions were requested in advance, by URL. */
  #prepared = new Map();
  /** Counts changes of the rendition, since transfers that began before one are not measured. */
  #epoch = 0;

  /**
   * @param {AbortSignal} signal Ends loading.
   * @param {object} handler Called in order, one call at a time, each awaited:
   *   `begin({codecs, playlist})`, `initialize(bytes, {discontinuity})`, `media(bytes, unit, {isNewest})`, `end()`;
   *   the newest unit is the last one of the playlist. `transferred({bytes, seconds, duration})` is called, if it exists,
   *   for the transfer of a unit, in no order.
   */
  constructor(signal, handler) {
    this.#signal = signal;
    this.#handler = handler;
  }

  /**
   * Loads until the stream ends.
   *
   * @param {string} url
   * @param {{isMedia?: boolean}} options Whether `url` is known to be a media playlist.
   * @throws {RequestError|PlaylistError|StreamChanged} and errors of the handler.
   */
  async run(url, { isMedia = false } = {}) {
    const entry = await this.#playlist(url, isMedia ? firstRequest(url) : url);
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

  /**
   * Continues with another rendition from the next segment on, once it has that. The last call counts.
   *
   * @param {{isUrgent?: boolean}} options Whether the network is too slow for the current rendition: most of what was requested of
   *   it is given up, so that the other one arrives soon, with a gap where it was not encoded yet.
   */
  switchTo(url, { isUrgent = false } = {}) {
    if (url === (this.#next?.url ?? this.#url)) return;
    if (url === this.#url) {
      this.#next = null;
      return;
    }
    if (isUrgent) this.#abandon(KEPT_SECONDS);
    const next = { url, isUrgent, first: null, ready: null };
    this.#next = next;
    next.ready = this.#playlist(url, firstRequest(url)).then(
      (playlist) => { next.first = playlist.mediaSequence ?? null; },
      () => {
        if (this.#next !== next) return;
        this.#next = null;
        this.#abandoned = null;
      });
  }

  /** Has a rendition encoded that may be continued with soon: its first playlist is complete after up to a second only. */
  prepare(url) {
    const now = performance.now();
    if (url === this.#url || this.#next || now - (this.#prepared.get(url) ?? -Infinity) < PREPARED_SECONDS * 1000) return;
    this.#prepared.set(url, now);
    this.#playlist(url, firstRequest(url)).catch(() => {}); // The request of a change reports it.
  }

  /** Seconds since the first unit was requested that has not arrived, of the rendition that is wanted; 0 where all have. */
  get waiting() {
    const first = this.#pending.find((entry) => !entry.isKept);
    return first ? (performance.now() - first.since) / 1000 : 0;
  }

  /** Cancels requests of media; the oldest ones, which have arrived in part, go on. */
  #abandon(keptSeconds) {
    this.#epoch += 1;
    let seconds = 0;
    for (const entry of this.#pending) {
      seconds += entry.unit.duration;
      entry.isKept = seconds <= keptSeconds && this.#abandoned === null;
      if (entry.isKept) continue;
      this.#abandoned ??= entry.unit.sequence;
      entry.isAbandoned = true;
      entry.controller.abort(new DOMException("The rendition was changed.", "AbortError"));
    }
    this.#pending = this.#pending.filter((entry) => entry.isKept);
    this.#hinted?.controller.abort(new DOMException("The rendition was changed.", "AbortError"));
    this.#hinted = null;
  }

  #fail = () => {};

  async #follow(url, first) {
    let playlist = first;
    this.#url = url;
    for (;;) {
      if (this.#next?.isUrgent && this.#last) {
        const next = this.#next;
        await next.ready;
        if (this.#next !== next) continue;
        playlist = next.first === null ? playlist : await this.#cross(this.#urgentSequence(next.first, playlist) - 1);
        this.#next = null;
      }
      const units = this.#last ? unitsAfter(playlist, this.#last) : firstUnits(playlist);
      if (units === null) throw new StreamChanged("The player has fallen too far behind.");
      const crossing = this.#crossing(units);
      for (const unit of units.slice(0, crossing ?? units.length)) this.#load(unit, unit === units.at(-1));
      if (playlist.ended) {
        await this.#delivery;
        await this.#handler.end();
        return;
      }
      this.#prefetch(playlist.hint);
      if (units.length) this.#freshAt = performance.now();
      if (performance.now() - this.#freshAt > STALE_SECONDS * 1000) throw new StreamChanged("No new media arrives.");
      if (crossing !== null) playlist = await this.#cross(units[crossing].sequence - 1);
      else if (this.#mayCross(playlist)) playlist = await this.#cross(this.#last.sequence);
      else playlist = await this.#reload(this.#url, playlist, units.length > 0);
    }
  }

  /** The segment with which a rendition continues at once: the first that is incomplete of the current one, if it has that. */
  #urgentSequence(first, playlist) {
    this.#abandon(0);
    const sequence = this.#abandoned ?? this.#last.sequence + (isSegmentEnd(playlist, this.#last) ? 1 : 0);
    this.#abandoned = null;
    return Math.max(first, sequence);
  }

  /** Index of the first listed unit from which on the next rendition continues; null where none is. */
  #crossing(units) {
    const first = this.#next?.first ?? null;
    if (first === null) return null;
    const index = units.findIndex((unit, at) => !unit.part && unit.sequence >= first
      && (at > 0 || (this.#last !== null && this.#last.sequence < unit.sequence)));
    return index < 0 ? null : index;
  }

  /** Whether the last unit ends a segment whose successor the next rendition has, or will have. */
  #mayCross(playlist) {
    const first = this.#next?.first ?? null;
    return first !== null && this.#last !== null && first <= this.#last.sequence + 1 && isSegmentEnd(playlist, this.#last);
  }

  /** Continues after a segment with the next rendition. */
  async #cross(sequence) {
    this.#url = this.#next.url;
    this.#next = null;
    // The segments have the same numbers, and other parts.
    this.#last = { ...this.#last, sequence, part: null };
    return await this.#playlist(this.#url, requestAfter(this.#url, this.#last.sequence));
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
    const entry = { unit, since: performance.now(), isAbandoned: false, isKept: false, controller: new AbortController() };
    const media = this.#takePrefetched(entry) ?? this.#fetchUntil(entry.controller, unit.url, unit.duration);
    this.#map = unit.map;
    this.#last = unit;
    this.#pending.push(entry);
    const arrived = () => { this.#pending = this.#pending.filter((other) => other !== entry); };
    media.then(arrived, arrived);
    this.#delivery = this.#delivery.then(async () => {
      if (initialization || discontinuity) {
        await this.#handler.initialize(initialization && await initialization, { discontinuity });
      }
      const bytes = await media.catch((error) => {
        if (!entry.isAbandoned) throw error;
        return null;
      });
      if (bytes) await this.#handler.media(bytes, unit, { isNewest });
    });
    this.#delivery.catch((error) => this.#fail(error));
  }

  /** Requests the part of the preload hint: the server responds when it is complete. */
  #prefetch(url) {
    if (!url || this.#hinted?.url === url || this.#last?.url === url) return;
    this.#hinted?.controller.abort(this.#signal.reason);
    const controller = new AbortController();
    const bytes = this.#fetchUntil(controller, url, this.#last?.duration ?? 0); // A hint that is not fulfilled is not an error.
    this.#hinted = { url, controller, bytes };
  }

  /** The prefetched bytes of a unit, requested again on failure; null when it was not prefetched. */
  #takePrefetched(entry) {
    const { url, duration } = entry.unit;
    if (this.#hinted?.url !== url) return null;
    const { bytes, controller } = this.#hinted;
    this.#hinted = null;
    entry.controller = controller;
    const retried = bytes.catch((error) => {
      if (entry.isAbandoned) throw error;
      return this.#fetch(url, this.#signal, duration);
    });
    retried.catch(() => {}); // Handled on delivery.
    return retried;
  }

  /** Requests a file until a controller, or the end of loading, aborts it. */
  #fetchUntil(controller, url, duration) {
    const end = () => controller.abort(this.#signal.reason);
    this.#signal.addEventListener("abort", end, { once: true });
    const bytes = this.#fetch(url, controller.signal, duration)
      .finally(() => this.#signal.removeEventListener("abort", end));
    bytes.catch(() => {}); // Handled by the caller.
    return bytes;
  }

  /** @param {number} duration Seconds of media in the file; 0 when it is not to be measured. */
  #fetch(url, signal = this.#signal, duration = 0) {
    const epoch = this.#epoch;
    let seconds = 0;
    const transferred = (measured) => { seconds = measured; };
    const bytes = request(url, { signal, seconds: STALE_SECONDS, as: "arrayBuffer", transferred });
    bytes.then((body) => {
      if (duration > 0 && epoch === this.#epoch) this.#handler.transferred?.({ bytes: body.byteLength, seconds, duration });
    }, () => {}); // Handled on delivery.
    bytes.catch(() => {}); // Handled on delivery.
    return bytes;
  }
}
