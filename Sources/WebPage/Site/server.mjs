// Polls the list of streams while the page is visible.

import { ServerClock } from "./clock.mjs";
import { operatorToken } from "./operator-token.mjs";
import { pause, request } from "./requests.mjs";

/** Polling interval in seconds. */
const INTERVAL = 2;

/** The server's clock, estimated from its responses. */
export const clock = new ServerClock();

/** Requests the served streams, as the holder of the operator token sees them. */
export async function streams() {
  const token = operatorToken();
  const sent = Date.now();
  const start = performance.now();
  const response = await request("api/streams", { as: "json", cache: "no-store", seconds: 5 });
  // Not a second `Date.now()`: the clock may be set in between.
  clock.note(sent, sent + performance.now() - start, Date.parse(response.time));
  // A login or its end during the request: the roles of the response are outdated.
  return token === operatorToken() ? response.streams : streams();
}

/**
 * Calls `update(streams)` about every two seconds while the page is visible, and `fail(error)` when a request fails.
 * Runs as long as the page.
 */
export async function watchStreams(update, fail) {
  let wake = () => {};
  document.addEventListener("visibilitychange", () => wake());
  for (;;) {
    if (!document.hidden) {
      try {
        update(await streams());
      } catch (error) {
        fail(error);
      }
    }
    await Promise.race([pause(INTERVAL), new Promise((resolve) => { wake = resolve; })]);
  }
}

/** Whether the source delivers frames, so that the slate is not shown. */
export function hasSignal(stream) {
  return !stream.slate;
}

/** Number of viewers over all protocols. */
export function viewersOf(stream) {
  return Object.values(stream.viewers ?? {}).reduce((sum, count) => sum + count, 0);
}
