// Requests to the server that end: each has a time limit, can be called off, and fails with what the page can tell.

/** A request that failed; `status` is 0 when no answer came at all. */
export class RequestError extends Error {
  constructor(message, status, options) {
    super(message, options);
    this.status = status;
  }
}

/**
 * Asks for something and hands over the whole answer.
 *
 * @param {string} url
 * @param {{signal?: AbortSignal, seconds?: number, as?: "text"|"json"|"arrayBuffer"|"blob", cache?: RequestCache, json?: object, file?: Blob, method?: string}} options
 *   `json` or `file` is something to order: it is sent, by default with POST, and the reason of a refusal is the server's own.
 * @throws {RequestError} An abort by `signal` comes through as it is.
 */
export async function request(url, { signal, seconds = 10, as = "text", cache = "default", json, file, method = "POST" } = {}) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const forward = () => controller.abort(signal.reason);
  signal?.addEventListener("abort", forward);
  const timer = setTimeout(() => controller.abort(), seconds * 1000);
  try {
    const type = json ? "application/json" : file?.type || "application/octet-stream";
    const order = (json || file) && { method, headers: { "Content-Type": type }, body: file ?? JSON.stringify(json) };
    // A page that was opened with name and password in its address has these in what paths are resolved against, which
    // fetch refuses; `location` is without them, and the browser sends them by itself.
    const response = await fetch(new URL(url, location.href), { signal: controller.signal, cache, ...order });
    if (!response.ok) {
      const reason = (order && (await response.text()).trim()) || `The server answered ${response.status}.`;
      throw new RequestError(reason, response.status);
    }
    return await response[as]();
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RequestError) throw error;
    throw new RequestError(controller.signal.aborted ? "The server did not answer in time." : "The server cannot be reached.", 0, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", forward);
  }
}

/** Waits; called off by `signal`. */
export function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = () => { clearTimeout(timer); reject(signal.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", end); resolve(); }, seconds * 1000);
    signal?.addEventListener("abort", end, { once: true });
  });
}
