// What the server says of its streams, asked for again and again while somebody looks.

import { ServerClock } from "./clock.mjs";
import { pause, request } from "./requests.mjs";

/** Seconds between two questions. */
const INTERVAL = 2;

/** The server's clock, as its answers tell it. */
export const clock = new ServerClock();

/** The streams that are published now. */
export async function streams() {
  const sent = Date.now();
  const start = performance.now();
  const answer = await request("/api/streams", { as: "json", cache: "no-store", seconds: 5 });
  // Two readings of a clock that is being set would tell a wrong time in between.
  clock.note(sent, sent + performance.now() - start, Date.parse(answer.time));
  return answer.streams;
}

/**
 * Calls `tell(streams)` about every two seconds while the page is visible, and `fail(error)` when there is no answer.
 * Runs as long as the page does.
 */
export async function watchStreams(tell, fail) {
  let early = () => {};
  document.addEventListener("visibilitychange", () => early());
  for (;;) {
    if (!document.hidden) {
      try {
        tell(await streams());
      } catch (error) {
        fail(error);
      }
    }
    await Promise.race([pause(INTERVAL), new Promise((resolve) => { early = resolve; })]);
  }
}

/** Whether pictures of the source come, rather than the slate. */
export function hasSignal(stream) {
  return !stream.slate;
}

/** Everybody who watches, however. */
export function viewersOf(stream) {
  return Object.values(stream.viewers ?? {}).reduce((sum, count) => sum + count, 0);
}
