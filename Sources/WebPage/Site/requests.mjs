// HTTP requests with a timeout, cancellation, and errors that the page can display.

import { operatorToken } from "./operator-token.mjs";
import { urlOf } from "./root.mjs";

/** A failed request; `status` is 0 without a response. */
export class RequestError extends Error {
  constructor(message, status, options) {
    super(message, options);
    this.status = status;
  }
}

/**
 * Sends a request and returns the body of the response.
 *
 * @param {string} url A URL, or a path below the root of the server.
 * @param {{signal?: AbortSignal, seconds?: number, as?: "text"|"json"|"arrayBuffer"|"blob", cache?: RequestCache, json?: object, file?: Blob, method?: string, token?: string|null, credentials?: RequestCredentials, transferred?: (seconds: number) => void}} options
 *   `json` or `file` is sent as the body, by default with POST; the error message is then the text of the response. `token` is sent
 *   in place of the page's; with `credentials` "omit" the browser asks for no password. `transferred` gets the time from the head of the response to the end of its body.
 * @throws {RequestError} or, when aborted, the reason of `signal`.
 */
export async function request(url, { signal, seconds = 10, as = "text", cache = "default", json, file, method, token = operatorToken(), credentials = "same-origin", transferred } = {}) {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const forward = () => controller.abort(signal.reason);
  signal?.addEventListener("abort", forward);
  const timer = setTimeout(() => controller.abort(), seconds * 1000);
  try {
    const type = json ? "application/json" : file?.type || "application/octet-stream";
    const upload = (json || file) && { method: "POST", body: file ?? JSON.stringify(json) };
    const headers = { ...(upload && { "Content-Type": type }), ...(token && { Authorization: `Bearer ${token}` }) };
    const response = await fetch(urlOf(url), { signal: controller.signal, cache, credentials, headers, ...upload, ...(method && { method }) });
    if (!response.ok) {
      const reason = (upload && (await response.text()).trim()) || `The server responded with status ${response.status}.`;
      throw new RequestError(reason, response.status);
    }
    const start = performance.now();
    const body = await response[as]();
    transferred?.((performance.now() - start) / 1000);
    return body;
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof RequestError) throw error;
    throw new RequestError(controller.signal.aborted ? "The server did not respond in time." : "The server cannot be reached.", 0, { cause: error });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", forward);
  }
}

/** Waits for a number of seconds; rejects when `signal` is aborted. */
export function pause(seconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = () => { clearTimeout(timer); reject(signal.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", end); resolve(); }, seconds * 1000);
    signal?.addEventListener("abort", end, { once: true });
  });
}
