// Where faces are in the picture that is on the screen, out of what the server has told of pictures. Pure: times are
// milliseconds since 1970 on the server's clock.

/** How long what was told is kept, in milliseconds: pictures are some seconds behind. */
const KEPT = 60_000;
/** Between two tellings that are no further apart, faces move in a straight line. */
const STEADY = 300;

export class FaceTimeline {
  #told = [];

  /** The server has told where faces are: what `faces` of the events holds. */
  note({ date, width, height, faces }) {
    const time = Date.parse(date);
    if (!Number.isFinite(time) || !(width > 0 && height > 0)) return;
    // What comes again, since the connection was lost, is there once.
    this.#told = this.#told.filter((other) => other.time < time && other.time > time - KEPT);
    this.#told.push({ time, width, height, faces });
  }

  /**
   * Where faces are in a picture.
   *
   * @param {number|null} time When it was captured; null for the newest one.
   * @returns {{width: number, height: number, faces: object[]}|null} null while nothing is known.
   */
  at(time) {
    const index = time === null ? this.#told.length - 1 : this.#told.findLastIndex((told) => told.time <= time);
    if (index < 0) return null;
    const [now, next] = this.#told.slice(index, index + 2);
    if (!next || next.time - now.time > STEADY || next.width !== now.width || next.height !== now.height) return now;
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

/** A box of a picture as it is on a screen on which the whole picture is shown as large as it fits. */
export function onScreen(box, picture, screen, isMirrored) {
  const scale = Math.min(screen.width / picture.width, screen.height / picture.height);
  const left = (screen.width - picture.width * scale) / 2, top = (screen.height - picture.height * scale) / 2;
  const x = isMirrored ? picture.width - box.x - box.width : box.x;
  return { x: left + x * scale, y: top + box.y * scale, width: box.width * scale, height: box.height * scale };
}

/** What is said of a face, for people. */
export function labelOf({ id, smiling, leftEyeClosed, rightEyeClosed }) {
  const eyes = leftEyeClosed && rightEyeClosed ? "eyes closed" : leftEyeClosed || rightEyeClosed ? "winking" : "";
  return [`Face ${id}`, smiling ? "smiling" : "", eyes].filter(Boolean).join(", ");
}

/** Whether frames are drawn on the page, unless its viewer has said so: where the picture does not have them itself. */
export function hasFrames(effects) {
  return effects?.faces === "track";
}
