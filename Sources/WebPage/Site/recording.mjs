// Labels and commands of recording states, and the running time. Pure.

/** Label, commands of the two buttons, and whether the time runs, by state. */
const STATES = {
  idle: { text: "Not recording", main: "start" },
  failed: { text: "Failed", main: "start" },
  waiting: { text: "Starting", main: "pause", stop: true },
  recording: { text: "Recording", main: "pause", stop: true, runs: true },
  paused: { text: "Paused", main: "resume", stop: true },
  // The file is finished in the background.
  finishing: { text: "Finishing file", main: "start" },
};

/** Labels of the main button by command. */
export const NAMES = { start: "Record", pause: "Pause", resume: "Resume" };

/**
 * @param {{state: string, error?: string}} recording As `/api/streams/NAME/recording` describes it.
 * @returns {{text: string, main: "start"|"pause"|"resume"|null, canStop: boolean, runs: boolean, error: string}}
 */
export function describe(recording) {
  const { text, main, stop = false, runs = false } = STATES[recording.state] ?? { text: "Finishing file", main: null };
  return { text, main, canStop: stop, runs, error: recording.state === "failed" ? sentence(recording.error) : "" };
}

/** "the disk is full" as "The disk is full." */
export function sentence(text) {
  if (!text) return "";
  return text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");
}

/** Interpolates the recording time, which the server reports in steps; never decreases while it runs. */
export class RunningTime {
  #reported = 0;
  #at = null;
  #last = 0;

  /**
   * @param {number} seconds Duration reported by the server.
   * @param {boolean} runs Whether the duration increases.
   * @param {number} now In milliseconds.
   */
  note(seconds, runs, now) {
    // A new recording, or one that is not running, is shown as reported.
    if (!runs || seconds < this.#last - 3) this.#last = seconds;
    this.#reported = seconds;
    this.#at = runs ? now : null;
  }

  /** The duration in seconds at a time. */
  at(now) {
    // Extrapolates for at most 3 seconds without a response.
    const since = this.#at === null ? 0 : Math.min(3, (now - this.#at) / 1000);
    this.#last = Math.max(this.#last, this.#reported + since);
    return this.#last;
  }
}
