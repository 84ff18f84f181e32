// Offset of the server's clock, and the mapping of media time to capture time. Pure.

/** Number of responses considered. */
const SAMPLES = 12;

/**
 * Estimates the offset between two clocks as NTP does: from the response with the minimum round trip, whose error is at
 * most half the round trip.
 */
export class ServerClock {
  #samples = [];

  /**
   * Adds a response with the server's time.
   *
   * @param {number} sent Local time of the request, milliseconds since 1970.
   * @param {number} received Local time of the response.
   * @param {number} serverTime Server time in the response.
   */
  note(sent, received, serverTime) {
    if (!Number.isFinite(serverTime) || received < sent) return;
    this.#samples.push({ roundTrip: received - sent, offset: serverTime - (sent + received) / 2 });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
  }

  /** Server time minus local time in milliseconds; 0 before the first response. */
  get offset() {
    if (!this.#samples.length) return 0;
    return this.#samples.reduce((best, sample) => (sample.roundTrip < best.roundTrip ? sample : best)).offset;
  }
}

/** Maps media time (seconds) to capture time (milliseconds since 1970). */
export class CaptureTimes {
  #anchors = [];

  /** Adds the capture time of the frame at a media time. Later anchors are replaced. */
  note(mediaTime, wallTime) {
    this.#anchors = this.#anchors.filter((anchor) => anchor.mediaTime < mediaTime).slice(-60);
    this.#anchors.push({ mediaTime, wallTime });
  }

  /** The capture time of a media time; null without an anchor. */
  at(mediaTime) {
    const anchor = this.#anchors.findLast((anchor) => anchor.mediaTime <= mediaTime) ?? this.#anchors[0];
    return anchor ? anchor.wallTime + (mediaTime - anchor.mediaTime) * 1000 : null;
  }
}
