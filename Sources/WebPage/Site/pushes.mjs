// The panel of servers that the stream is sent to, for operators.

import { pause, request } from "./requests.mjs";
import * as text from "./text.mjs";

/** Polling interval in seconds. */
const INTERVAL = 2;

/** Labels of states. */
const STATES = { connecting: "Connecting", sending: "Sending", waiting: "Waiting", stopped: "Stopped" };

/**
 * The server, and a sentence about the state of a push. Pure.
 *
 * @param {object} push As `/api/streams/NAME/pushes` describes it.
 * @returns {{server: string, state: string, detail: string}}
 */
export function describe(push) {
  const state = push.state === "waiting" && push.nextAttempt !== undefined
    ? `Again in ${Math.ceil(push.nextAttempt)} s` : STATES[push.state] ?? push.state;
  const details = push.state === "sending"
    ? [
      push.rendition === "main" ? "" : push.rendition,
      text.bitrate(push.bitrate),
      push.ownEncoding ? `${text.bitrate(push.videoBitrate)} of its own` : "",
      push.waitingForEncoding ? "waits for an encoding of its own" : "",
      push.queue >= 0.5 ? `${text.seconds(push.queue)} behind` : "",
    ] : [push.lastFailure ?? ""];
  if (push.framesDropped > 0) details.push(`${push.framesDropped} dropped`);
  if (push.reconnects > 0) details.push(push.reconnects === 1 ? "1 reconnect" : `${push.reconnects} reconnects`);
  return { server: push.server, state, detail: details.filter(Boolean).join(" · ") };
}

export class PushPanel {
  #stream = null;

  constructor() {
    this.#watch();
  }

  /** Sets the stream as `/api/streams` describes it; null while there is none. */
  set stream(stream) {
    this.#stream = stream;
    if (!stream?.steerable) this.#show([]);
  }

  async #watch() {
    for (;;) {
      await this.#poll();
      await pause(INTERVAL);
    }
  }

  async #poll() {
    const stream = this.#stream;
    if (!stream?.steerable || document.hidden) return;
    try {
      const { pushes } = await request(`api/streams${stream.page}/pushes`, { as: "json", cache: "no-store", seconds: 5 });
      if (stream === this.#stream) this.#show(pushes);
    } catch {
      // The player reports the lost connection.
    }
  }

  #show(pushes) {
    document.getElementById("pushes").hidden = pushes.length === 0;
    document.getElementById("push-list").replaceChildren(...pushes.map((push) => {
      const { server, state, detail } = describe(push);
      const item = document.createElement("li");
      item.className = "what";
      const [title, ...lines] = [state, server, detail].filter(Boolean).map((content, index) => {
        const part = document.createElement(index === 0 ? "strong" : "span");
        if (index > 0) part.className = "quiet";
        part.textContent = content;
        return part;
      });
      item.append(title, ...lines);
      return item;
    }));
  }
}
