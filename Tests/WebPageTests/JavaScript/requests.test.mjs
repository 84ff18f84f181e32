import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";

globalThis.location = { href: "http://10.0.0.5:8080/cam" };
const { pause, request, RequestError } = await import("../../../Sources/WebPage/Site/requests.mjs");

/** Replaces fetch by a function of the URL and options; returns the received calls. */
function serve(respond) {
  const calls = [];
  globalThis.fetch = async (url, options) => {
    calls.push({ url: url.href, ...options });
    return respond(url, options);
  };
  return calls;
}
/** A server that never responds; fetch rejects when it is aborted. */
const never = (_, { signal }) => new Promise((_, reject) => {
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
});

afterEach(() => mock.timers.reset());

test("a path is resolved against the page, and the body is returned as requested", async () => {
  const calls = serve(() => new Response('{"a":1}'));
  assert.deepEqual(await request("/api/streams", { as: "json", cache: "no-store" }), { a: 1 });
  assert.equal(calls[0].url, "http://10.0.0.5:8080/api/streams");
  assert.equal(calls[0].cache, "no-store");
  assert.equal(calls[0].method, undefined);
  assert.equal(await request("/x"), '{"a":1}');
  assert.equal((await request("/x", { as: "arrayBuffer" })).byteLength, 7);
});

test("JSON and files are sent with their type, by POST unless another method is given", async () => {
  const calls = serve(() => new Response("{}"));
  await request("/a", { json: { action: "start" } });
  await request("/b", { json: { mute: true }, method: "PATCH" });
  await request("/c", { file: new Blob(["x"], { type: "image/png" }), method: "PUT" });
  await request("/d", { file: new Blob(["x"]) });
  assert.deepEqual(calls.map(({ method, headers }) => [method, headers["Content-Type"]]), [
    ["POST", "application/json"], ["PATCH", "application/json"], ["PUT", "image/png"], ["POST", "application/octet-stream"],
  ]);
  assert.equal(calls[0].body, '{"action":"start"}');
});

test("the error of a read names the status, that of a change is the server's message", async () => {
  serve(() => new Response("the disk is full; make room\n", { status: 409 }));
  await assert.rejects(request("/a"), { message: "The server responded with status 409.", status: 409 });
  await assert.rejects(request("/a", { json: {} }), { message: "the disk is full; make room", status: 409 });
  serve(() => new Response("", { status: 500 }));
  await assert.rejects(request("/a", { json: {} }), { message: "The server responded with status 500.", status: 500 });
});

test("an unreachable server is an error with status 0 and its cause", async () => {
  const cause = new TypeError("no network");
  serve(() => { throw cause; });
  await assert.rejects(request("/a"), (error) => error instanceof RequestError && error.status === 0
    && error.message === "The server cannot be reached." && error.cause === cause);
});

test("a request ends at its timeout", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  serve(never);
  const response = request("/a", { seconds: 5 });
  mock.timers.tick(4_999);
  const early = await Promise.race([response, Promise.resolve("waiting")]);
  assert.equal(early, "waiting");
  mock.timers.tick(1);
  await assert.rejects(response, { message: "The server did not respond in time.", status: 0 });
});

test("an abort rejects with its reason, before and during the request", async () => {
  const controller = new AbortController(), reason = new Error("closed");
  const calls = serve(never);
  const response = request("/a", { signal: controller.signal });
  controller.abort(reason);
  await assert.rejects(response, (error) => error === reason);
  await assert.rejects(request("/a", { signal: controller.signal }), (error) => error === reason);
  assert.equal(calls.length, 1);
});

test("a pause ends after its time, or with the reason of an abort", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const controller = new AbortController(), reason = new Error("closed");
  const finished = pause(2, controller.signal), aborted = pause(10, controller.signal);
  mock.timers.tick(2_000);
  await finished;
  controller.abort(reason);
  await assert.rejects(aborted, (error) => error === reason);
  await assert.rejects(pause(1, controller.signal), (error) => error === reason);
});
