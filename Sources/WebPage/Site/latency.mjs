// Controls the distance of a live player from the live edge by playback rate and seeks. Pure: times are seconds, `now` on a
// monotonic clock.

/** Window of the arrivals from which the live edge is estimated. */
const WINDOW = 10;
/** Excess distance above which the player seeks instead of playing faster. */
const SEEK_THRESHOLD = 1;
/** Hysteresis: the rate changes above the first error and returns to 1 below the second. */
const CORRECTED = 0.12;
const SETTLED = 0.03;
/** Bounds of the playback rate. */
const MINIMUM_RATE = 0.97;
const MAXIMUM_RATE = 1.05;
/** Increase of the target distance per stall, its maximum, and the time without stalls after which it decreases again. */
const STALL_STEP = 0.25;
const MAXIMUM_EXTRA = 1.5;
const QUIET_TIME = 60;
/** Minimum buffered media for a rate above 1. */
const MINIMUM_BUFFER = 0.15;

/**
 * Estimates the live edge and corrects the distance to it.
 *
 * Media arrives in bursts, some of them late. The edge is estimated from the arrival that was earliest relative to its media
 * time: `mediaEnd + (now - arrival)`. Unlike the buffer length, the distance to it does not vary with each burst.
 */
export class LatencyController {
  #arrivals = [];
  #extra = 0;
  #lastStall = null;
  #isCorrecting = false;

  /** @param {number} holdBack The target distance without stalls, in seconds. */
  constructor(holdBack) {
    this.holdBack = holdBack;
  }

  /** The current target distance. */
  get target() {
    return this.holdBack + this.#extra;
  }

  /** Records the arrival of media up to `mediaEnd`. */
  noteArrival(mediaEnd, now) {
    this.#arrivals = this.#arrivals.filter((arrival) => now - arrival.at <= WINDOW);
    this.#arrivals.push({ at: now, lead: mediaEnd - now });
  }

  /** Records a stall: the buffer ran empty. */
  noteStall(now) {
    this.#extra = Math.min(this.#extra + STALL_STEP, MAXIMUM_EXTRA);
    this.#lastStall = now;
  }

  /** Discards the estimate after a jump of the media time. */
  reset() {
    this.#arrivals = [];
    this.#isCorrecting = false;
  }

  /** The live edge in media time; null before the first arrival. */
  edge(now) {
    if (!this.#arrivals.length) return null;
    return now + Math.max(...this.#arrivals.map((arrival) => arrival.lead));
  }

  /**
   * Chooses the playback rate, or a seek.
   *
   * @param {{position: number, bufferedEnd: number, now: number}} state
   * @returns {{rate: number, seekTo: number|null, distance: number|null}}
   */
  decide({ position, bufferedEnd, now }) {
    this.#relax(now);
    const edge = this.edge(now);
    if (edge === null) return { rate: 1, seekTo: null, distance: null };
    const distance = edge - position;
    const error = distance - this.target;

    const destination = Math.min(edge - this.target, bufferedEnd - MINIMUM_BUFFER);
    if (error > SEEK_THRESHOLD && destination - position > SEEK_THRESHOLD / 2) {
      this.#isCorrecting = false;
      return { rate: 1, seekTo: destination, distance };
    }

    if (Math.abs(error) > CORRECTED) this.#isCorrecting = true;
    if (Math.abs(error) < SETTLED) this.#isCorrecting = false;
    let rate = this.#isCorrecting ? Math.min(Math.max(1 + error / 5, MINIMUM_RATE), MAXIMUM_RATE) : 1;
    if (bufferedEnd - position < MINIMUM_BUFFER) rate = Math.min(rate, 1);
    return { rate: Math.round(rate * 100) / 100, seekTo: null, distance };
  }

  #relax(now) {
    if (this.#extra > 0 && now - this.#lastStall > QUIET_TIME) {
      this.#extra = Math.max(this.#extra - STALL_STEP, 0);
      this.#lastStall = now;
    }
  }
}
