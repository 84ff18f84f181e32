// Boxes around faces, drawn over the player in sync with the displayed frame.

import { withToken } from "./operator-token.mjs";
import { FaceTimeline, labelOf, onScreen } from "./faces.mjs";
import { urlOf } from "./root.mjs";

const element = (id) => document.getElementById(id);
/** Line width, corner radius and font size in CSS pixels. */
const LINE = 2, CORNER = 8, TEXT = 13;

export class FaceBoxes {
  #video;
  #session;
  #canvas = element("frames");
  #timeline = new FaceTimeline();
  #address = null;
  #events = null;

  constructor(video, session) {
    this.#video = video;
    this.#session = session;
  }

  /** Path of the face events below the root; null for no boxes. Setting the same path again reconnects a closed event source. */
  set address(address) {
    const isClosed = this.#events?.readyState === EventSource.CLOSED;
    if (address === this.#address && !isClosed) return;
    this.#events?.close();
    this.#events = null;
    this.#canvas.hidden = address === null;
    if (address !== this.#address) this.#timeline = new FaceTimeline();
    this.#address = address;
    if (address === null) return;
    this.#events = new EventSource(urlOf(withToken(address)));
    this.#events.addEventListener("faces", ({ data }) => this.#timeline.note(JSON.parse(data)));
    this.#draw(this.#events);
  }

  /** Draws on each display refresh until the event source is replaced. */
  #draw(events) {
    if (events !== this.#events) return;
    requestAnimationFrame(() => this.#draw(events));
    const { clientWidth: width, clientHeight: height } = this.#canvas, scale = devicePixelRatio;
    if (this.#canvas.width !== Math.round(width * scale)) this.#canvas.width = Math.round(width * scale);
    if (this.#canvas.height !== Math.round(height * scale)) this.#canvas.height = Math.round(height * scale);
    const context = this.#canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const current = this.#current();
    if (!current) return;
    const isMirrored = element("stage").classList.contains("mirrored");
    for (const face of current.faces) {
      drawBox(context, onScreen(face.box, current, { width, height }, isMirrored), labelOf(face));
    }
  }

  /** The faces of the displayed frame; null while its capture time is unknown. */
  #current() {
    if (this.#session.way === "images") return this.#timeline.at(null);
    const time = this.#session.player?.capturedAt(this.#video.currentTime) ?? null;
    return time === null ? null : this.#timeline.at(time);
  }
}

function drawBox(context, { x, y, width, height }, label) {
  context.beginPath();
  context.roundRect(x, y, width, height, CORNER);
  // A dark outline keeps the line visible on light video.
  context.lineWidth = LINE * 2;
  context.strokeStyle = "rgb(0 0 0 / 55%)";
  context.stroke();
  context.lineWidth = LINE;
  context.strokeStyle = "#ffd60a";
  context.stroke();
  context.font = `600 ${TEXT}px system-ui, sans-serif`;
  const labelWidth = context.measureText(label).width + 12;
  const top = y > TEXT + 12 ? y - TEXT - 10 : y + height + 4;
  context.fillStyle = "rgb(0 0 0 / 65%)";
  context.beginPath();
  context.roundRect(x, top, labelWidth, TEXT + 7, 5);
  context.fill();
  context.fillStyle = "#fff";
  context.fillText(label, x + 6, top + TEXT + 1);
}
