// The server's clock as this browser sees it, and what media time was captured when. Pure.

/** How many answers count. */
const SAMPLES = 12;

/**
 * The offset between two clocks, as NTP finds it: the answer that took the least time to come tells it best, since at
 * most half of that time can be wrong.
 */
export class ServerClock {
  #samples = [];

  /**
   * The server has told its time.
   *
   * @param {number} sent This browser's time when it asked, milliseconds since 1970.
   * @param {number} received This browser's time when the answer came.
   * @param {number} serverTime The server's time in the answer.
   */
  note(sent, received, serverTime) {
    if (!Number.isFinite(serverTime) || received < sent) return;
    this.#samples.push({ roundTrip: received - sent, offset: serverTime - (sent + received) / 2 });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
  }

  /** What to add to this browser's time; 0 while nothing is known. */
  get offset() {
    if (!this.#samples.length) return 0;
    return this.#samples.reduce((best, sample) => (sample.roundTrip < best.roundTrip ? sample : best)).offset;
  }
}

/** When the media was captured: pairs of media time (seconds) and wall-clock time (milliseconds since 1970). */
export class CaptureTimes {
  #anchors = [];

  /** The picture at a media time was captured at a wall-clock time. Media times come in order. */
  note(mediaTime, wallTime) {
    this.#anchors = this.#anchors.filter((anchor) => anchor.mediaTime < mediaTime).slice(-60);
    this.#anchors.push({ mediaTime, wallTime });
  }

  /** The wall-clock time of a media time; null while nothing is known. */
  at(mediaTime) {
    const anchor = this.#anchors.findLast((anchor) => anchor.mediaTime <= mediaTime) ?? this.#anchors[0];
    return anchor ? anchor.wallTime + (mediaTime - anchor.mediaTime) * 1000 : null;
  }
}
