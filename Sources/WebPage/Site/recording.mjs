// How a recording is doing, as people read it, and what can be done about it. Pure.

/** What each state is called, what the two buttons do in it, and whether its time runs. */
const STATES = {
  idle: { text: "Not recording", main: "start" },
  failed: { text: "Stopped by itself", main: "start" },
  waiting: { text: "Starting", main: "pause", stop: true },
  recording: { text: "Recording", main: "pause", stop: true, runs: true },
  paused: { text: "Paused", main: "resume", stop: true },
  finishing: { text: "Finishing the file", main: null },
};

/** What the main button is called. */
export const NAMES = { start: "Record", pause: "Pause", resume: "Resume" };

/**
 * @param {{state: string, error?: string}} recording As `/api/streams/NAME/recording` describes it.
 * @returns {{text: string, main: "start"|"pause"|"resume"|null, canStop: boolean, runs: boolean, error: string}}
 */
export function describe(recording) {
  const { text, main, stop = false, runs = false } = STATES[recording.state] ?? STATES.finishing;
  return { text, main, canStop: stop, runs, error: recording.state === "failed" ? sentence(recording.error) : "" };
}

/** "the disk is full" as "The disk is full." */
export function sentence(text) {
  if (!text) return "";
  return text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

/** The server tells the length of what is on the disk, in steps; this one runs evenly, and never back within a run. */
export class RunningTime {
  #told = 0;
  #at = null;
  #last = 0;

  /**
   * @param {number} seconds As the server tells it.
   * @param {boolean} runs Whether it grows.
   * @param {number} now In milliseconds.
   */
  note(seconds, runs, now) {
    // A new recording, or a run that has ended, counts as told.
    if (!runs || seconds < this.#last - 3) this.#last = seconds;
    this.#told = seconds;
    this.#at = runs ? now : null;
  }

  /** The seconds at a time. */
  at(now) {
    // Without an answer for some seconds nobody knows whether it goes on.
    const since = this.#at === null ? 0 : Math.min(3, (now - this.#at) / 1000);
    this.#last = Math.max(this.#last, this.#told + since);
    return this.#last;
  }
}
