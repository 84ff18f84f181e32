// Frames around faces, drawn over the player in step with its picture.

import { FaceTimeline, labelOf, onScreen } from "./faces.mjs";

const element = (id) => document.getElementById(id);
const LINE = 2, CORNER = 8, TEXT = 13;

export class FaceFrames {
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

  /** Where the events come from; null for no frames. Set again and again, it also finds its way back to a stream. */
  set address(address) {
    const isGone = this.#events?.readyState === EventSource.CLOSED;
    if (address === this.#address && !isGone) return;
    this.#events?.close();
    this.#events = null;
    this.#canvas.hidden = address === null;
    if (address !== this.#address) this.#timeline = new FaceTimeline();
    this.#address = address;
    if (address === null) return;
    this.#events = new EventSource(new URL(address, location.href));
    this.#events.addEventListener("faces", ({ data }) => this.#timeline.note(JSON.parse(data)));
    this.#draw(this.#events);
  }

  /** Draws with each refresh of the screen, as long as these events are what it draws. */
  #draw(events) {
    if (events !== this.#events) return;
    requestAnimationFrame(() => this.#draw(events));
    const { clientWidth: width, clientHeight: height } = this.#canvas, dots = devicePixelRatio;
    if (this.#canvas.width !== Math.round(width * dots)) this.#canvas.width = Math.round(width * dots);
    if (this.#canvas.height !== Math.round(height * dots)) this.#canvas.height = Math.round(height * dots);
    const context = this.#canvas.getContext("2d");
    context.setTransform(dots, 0, 0, dots, 0, 0);
    context.clearRect(0, 0, width, height);
    const shown = this.#shown();
    if (!shown) return;
    const isMirrored = element("stage").classList.contains("mirrored");
    for (const face of shown.faces) frame(context, onScreen(face.box, shown, { width, height }, isMirrored), labelOf(face));
  }

  /** What is known of the picture on the screen; null where it is not known which one that is. */
  #shown() {
    if (this.#session.way === "pictures") return this.#timeline.at(null);
    const time = this.#session.player?.capturedAt(this.#video.currentTime) ?? null;
    return time === null ? null : this.#timeline.at(time);
  }
}

function frame(context, { x, y, width, height }, label) {
  context.beginPath();
  context.roundRect(x, y, width, height, CORNER);
  // Light on dark and dark on light.
  context.lineWidth = LINE * 2;
  context.strokeStyle = "rgb(0 0 0 / 55%)";
  context.stroke();
  context.lineWidth = LINE;
  context.strokeStyle = "#ffd60a";
  context.stroke();
  context.font = `600 ${TEXT}px system-ui, sans-serif`;
  const room = context.measureText(label).width + 12;
  const top = y > TEXT + 12 ? y - TEXT - 10 : y + height + 4;
  context.fillStyle = "rgb(0 0 0 / 65%)";
  context.beginPath();
  context.roundRect(x, top, room, TEXT + 7, 5);
  context.fill();
  context.fillStyle = "#fff";
  context.fillText(label, x + 6, top + TEXT + 1);
}
