// Choice among the renditions of a stream, from the time that its media needs. Pure: time is an argument.

/** Media over which transfers are measured, in seconds. */
const WINDOW = 4;
/** Media over which a network that has become too slow is recognized, in seconds: the page has about a second of reserve. */
const RECENT = 0.8;
/** Maximum time of one transfer per media time that counts there: a single part may be late in any network. */
const MAXIMUM_LOAD = 1.5;
/** Media that must be measured before a decision, in seconds. */
const MINIMUM = 1.2;
/** Minimum time of a transfer: browsers measure no less. */
const SHORTEST = 0.002;
/** Transfer time per media time from which the network is too slow. */
const OVERLOAD = 0.85;
/** Transfer time per media time of two parts running from which a lower rendition is likely to be needed. */
const STRAINED = 0.6;
/** Transfer time per media time from which a stall is due to the network. */
const BUSY = 0.5;
/** Time for which media was to be had without arriving, in seconds, from which the network is too slow, in two looks running. */
const LATE = 0.8;
/** Share of the throughput that a higher rendition may need. */
const USABLE = 0.7;
/** Time with enough throughput before a higher rendition is tried, in seconds; doubled by each failed trial up to the maximum. */
const UP_TIME = 10;
const MAXIMUM_UP_TIME = 160;
/** Time after which a trial has not failed, in seconds. */
const TRIAL = 30;

/** @typedef {{name: string, label: string, url: string, bitrate: number}} Level */

/**
 * The renditions that can be played of a stream from `/api/streams`, highest first; empty where there is no choice.
 *
 * @returns {Level[]} The first one is the stream's own playlist, for which no other rendition is encoded.
 */
export function levelsOf(stream) {
  const others = (stream.renditions ?? []).filter((rendition) => !rendition.failed);
  if (!others.length || !stream.video) return [];
  const label = ({ width, height }) => `${Math.min(width, height)}p`;
  const main = { name: "main", label: label(stream.video), url: stream.hls.replace(/index\.m3u8$/, "live.m3u8"), bitrate: stream.video.bitrate };
  const levels = others.map((rendition) => (
    { name: rendition.name, label: label(rendition), url: rendition.hls, bitrate: rendition.bitrate }));
  levels.sort((one, other) => other.bitrate - one.bitrate);
  const all = [main, ...levels];
  // Equal labels get the names of their renditions.
  for (const level of all) {
    if (all.some((other) => other !== level && other.label === level.label)) level.text = `${level.label} (${level.name})`;
  }
  return all.map(({ text, ...level }) => ({ ...level, label: text ?? level.label }));
}

export class QualityController {
  #levels;
  #current = 0;
  #transfers = [];
  #enoughSince = null;
  #upTime = UP_TIME;
  #raisedAt = null;
  #wasLate = false;
  #strainedCount = 0;

  /** @param {Level[]} levels Highest first. */
  constructor(levels) {
    this.#levels = levels;
  }

  /** Index of the level to play. */
  get current() {
    return this.#current;
  }

  /** Adds a transfer: its bytes, the seconds from its first to its last byte, and the seconds of media in it. */
  noteTransfer({ bytes, seconds, duration }) {
    this.#transfers.push({ bytes, seconds: Math.max(seconds, SHORTEST), duration });
    this.#strainedCount = seconds > STRAINED * duration ? this.#strainedCount + 1 : 0;
    let kept = this.#sum("duration");
    while (kept - this.#transfers[0].duration > WINDOW) kept -= this.#transfers.shift().duration;
  }

  /** Index of the level that is likely to be needed soon, so that its encoder can be started; null for none. */
  get likely() {
    return this.#strainedCount >= 2 && this.#current + 1 < this.#levels.length ? this.#current + 1 : null;
  }

  /** The video stands still because the buffer is empty. */
  noteStall(now) {
    if (this.#load > BUSY) this.#lower(now);
  }

  /**
   * Media has been waited for `age` seconds since a playlist named it. Transfers that have not ended say this before their load
   * is known. One look alone may be due to a page that was asleep.
   */
  noteWaiting(age, now) {
    const isLate = age > LATE;
    if (isLate && this.#wasLate) this.#lower(now);
    this.#wasLate = isLate && !this.#wasLate;
  }

  /** The index of the level to play from now on; `now` in seconds. */
  decide(now) {
    const isOverloaded = this.#recentLoad > OVERLOAD;
    if (this.#sum("duration") < MINIMUM && !isOverloaded) return this.#current;
    if (isOverloaded || this.#load > OVERLOAD) {
      this.#lower(now);
      return this.#current;
    }
    if (this.#raisedAt !== null && now - this.#raisedAt > TRIAL) [this.#raisedAt, this.#upTime] = [null, UP_TIME];
    const higher = this.#levels[this.#current - 1];
    if (!higher || this.throughput * USABLE < higher.bitrate) {
      this.#enoughSince = null;
      return this.#current;
    }
    this.#enoughSince ??= now;
    if (now - this.#enoughSince >= this.#upTime) {
      this.#change(this.#current - 1);
      this.#raisedAt = now;
    }
    return this.#current;
  }

  /** Throughput while media is transferred, in bits per second. */
  get throughput() {
    const seconds = this.#sum("seconds");
    return seconds > 0 ? (this.#sum("bytes") * 8) / seconds : 0;
  }

  get #load() {
    const duration = this.#sum("duration");
    return duration > 0 ? this.#sum("seconds") / duration : 0;
  }

  /** Transfer time per media time of the newest media; 0 while there is too little. */
  get #recentLoad() {
    let [seconds, duration] = [0, 0];
    for (let index = this.#transfers.length - 1; index >= 0 && duration < RECENT - 0.001; index -= 1) {
      const transfer = this.#transfers[index];
      seconds += Math.min(transfer.seconds, MAXIMUM_LOAD * transfer.duration);
      duration += transfer.duration;
    }
    return duration < RECENT - 0.001 ? 0 : seconds / duration;
  }

  #lower(now) {
    if (this.#current + 1 >= this.#levels.length) return;
    if (this.#raisedAt !== null && now - this.#raisedAt <= TRIAL) this.#upTime = Math.min(this.#upTime * 2, MAXIMUM_UP_TIME);
    this.#raisedAt = null;
    this.#change(this.#current + 1);
  }

  #change(index) {
    this.#current = index;
    this.#enoughSince = null;
    // Transfers of the other level say little of this one.
    this.#transfers = [];
    this.#strainedCount = 0;
  }

  #sum(key) {
    return this.#transfers.reduce((sum, transfer) => sum + transfer[key], 0);
  }
}
