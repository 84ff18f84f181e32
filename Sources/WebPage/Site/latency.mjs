// Keeps a live player at a distance from the live edge: near enough to be live, far enough not to run dry. Pure:
// times are seconds, `now` on any clock that only moves forward.

/** How long an arrival counts when the live edge is estimated. */
const WINDOW = 10;
/** Farther behind than this the player jumps, which is seen, instead of hurrying, which would take too long. */
const FAR_BEHIND = 1;
/** Off by more than this the rate changes; within `SETTLED` it is 1 again. In between it stays as it is. */
const OFF = 0.12;
const SETTLED = 0.03;
const SLOWEST = 0.97;
const FASTEST = 1.05;
/** Each time the player runs dry it keeps this much more, up to a limit; a quiet minute takes the same away. */
const STALL_STEP = 0.25;
const STALL_LIMIT = 1.5;
const QUIET = 60;
/** With less than this in the buffer, nothing is gained by being faster. */
const NEARLY_DRY = 0.15;

/**
 * Where the live edge is, and what to do about the distance to it.
 *
 * Media arrives in lumps, late ones among them. The arrival that was earliest for its media time, of the last seconds,
 * tells where the edge is now: `mediaEnd + (now - arrival)`. The distance to it is steady, where the length of the
 * buffer goes up and down with each lump.
 */
export class LatencyController {
  #arrivals = [];
  #extra = 0;
  #lastStall = null;
  #isCorrecting = false;

  /** @param {number} holdBack The distance to keep when nothing goes wrong, in seconds. */
  constructor(holdBack) {
    this.holdBack = holdBack;
  }

  /** The distance that is kept now. */
  get target() {
    return this.holdBack + this.#extra;
  }

  /** Media up to `mediaEnd` has arrived. */
  noteArrival(mediaEnd, now) {
    this.#arrivals = this.#arrivals.filter((arrival) => now - arrival.at <= WINDOW);
    this.#arrivals.push({ at: now, lead: mediaEnd - now });
  }

  /** The player has run dry. */
  noteStall(now) {
    this.#extra = Math.min(this.#extra + STALL_STEP, STALL_LIMIT);
    this.#lastStall = now;
  }

  /** Everything known of the edge is void: the media time has jumped. */
  reset() {
    this.#arrivals = [];
    this.#isCorrecting = false;
  }

  /** Where the live edge is, in media time; null while nothing has arrived. */
  edge(now) {
    if (!this.#arrivals.length) return null;
    return now + Math.max(...this.#arrivals.map((arrival) => arrival.lead));
  }

  /**
   * What to do.
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

    const wanted = Math.min(edge - this.target, bufferedEnd - NEARLY_DRY);
    if (error > FAR_BEHIND && wanted - position > FAR_BEHIND / 2) {
      this.#isCorrecting = false;
      return { rate: 1, seekTo: wanted, distance };
    }

    if (Math.abs(error) > OFF) this.#isCorrecting = true;
    if (Math.abs(error) < SETTLED) this.#isCorrecting = false;
    let rate = this.#isCorrecting ? Math.min(Math.max(1 + error / 5, SLOWEST), FASTEST) : 1;
    if (bufferedEnd - position < NEARLY_DRY) rate = Math.min(rate, 1);
    return { rate: Math.round(rate * 100) / 100, seekTo: null, distance };
  }

  #relax(now) {
    if (this.#extra > 0 && now - this.#lastStall > QUIET) {
      this.#extra = Math.max(this.#extra - STALL_STEP, 0);
      this.#lastStall = now;
    }
  }
}
