// Positions of faces in the displayed frame, from the server's face events. Pure: times are milliseconds since 1970 on the
// server's clock.

/** Retention of events, in milliseconds: the displayed frame is some seconds old. */
const KEPT = 60_000;
/** Maximum interval between two events over which positions are interpolated, in milliseconds. */
const INTERPOLATED = 300;

export class FaceTimeline {
  #events = [];

  /** Adds the data of a `faces` event. */
  note({ date, width, height, faces }) {
    const time = Date.parse(date);
    if (!Number.isFinite(time) || !(width > 0 && height > 0)) return;
    // Events repeated after a reconnection replace the earlier copy.
    this.#events = this.#events.filter((other) => other.time < time && other.time > time - KEPT);
    this.#events.push({ time, width, height, faces });
  }

  /**
   * The faces of a frame.
   *
   * @param {number|null} time Capture time; null for the newest event.
   * @returns {{width: number, height: number, faces: object[]}|null} null before the first event.
   */
  at(time) {
    const index = time === null ? this.#events.length - 1 : this.#events.findLastIndex((event) => event.time <= time);
    if (index < 0) return null;
    const [now, next] = this.#events.slice(index, index + 2);
    if (!next || next.time - now.time > INTERPOLATED || next.width !== now.width || next.height !== now.height) return now;
    const part = (time - now.time) / (next.time - now.time);
    const moved = (face) => {
      const later = next.faces.find(({ id }) => id === face.id);
      return later ? { ...face, box: between(face.box, later.box, part) } : face;
    };
    return { ...now, faces: now.faces.map(moved) };
  }
}

function between(from, to, part) {
  const mix = (key) => from[key] + (to[key] - from[key]) * part;
  return { x: mix("x"), y: mix("y"), width: mix("width"), height: mix("height") };
}

/** Maps a box in pixels of the frame to the screen, where the frame is scaled to fit (letterboxed). */
export function onScreen(box, frame, screen, isMirrored) {
  const scale = Math.min(screen.width / frame.width, screen.height / frame.height);
  const left = (screen.width - frame.width * scale) / 2, top = (screen.height - frame.height * scale) / 2;
  const x = isMirrored ? frame.width - box.x - box.width : box.x;
  return { x: left + x * scale, y: top + box.y * scale, width: box.width * scale, height: box.height * scale };
}

/** The label of a face. */
export function labelOf({ id, smiling, leftEyeClosed, rightEyeClosed }) {
  const eyes = leftEyeClosed && rightEyeClosed ? "eyes closed" : leftEyeClosed || rightEyeClosed ? "winking" : "";
  return [`Face ${id}`, smiling ? "smiling" : "", eyes].filter(Boolean).join(", ");
}

/** Whether the page draws boxes by default: faces are tracked, and the video itself has no boxes. */
export function hasBoxes(effects) {
  return effects?.faces === "track";
}
