import assert from "node:assert/strict";
import { test } from "node:test";

const stored = new Map();
globalThis.sessionStorage = {
  getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value), removeItem: (key) => stored.delete(key),
};
const replaced = [];
globalThis.history = { replaceState: (...values) => replaced.push(values[2]) };
globalThis.location = {
  href: "http://10.0.0.5:8080/cam?way=hls#control=abc%2Fd_1", pathname: "/cam", search: "?way=hls", hash: "#control=abc%2Fd_1",
};
const { operatorToken, setOperatorToken, withToken } = await import("../../../Sources/WebPage/Site/operator-token.mjs");
const { streams } = await import("../../../Sources/WebPage/Site/server.mjs");
const { request } = await import("../../../Sources/WebPage/Site/requests.mjs");

test("the token of the address is kept for the session, and leaves the address", () => {
  assert.equal(operatorToken(), "abc/d_1");
  assert.deepEqual([...stored.values()], ["abc/d_1"]);
  assert.deepEqual(replaced, ["/cam?way=hls"]);
});

test("requests send the token in a header, files have it in their query", async () => {
  const calls = [];
  globalThis.fetch = async (url, options) => {
    calls.push({ url: url.href, ...options });
    return new Response("{}");
  };
  await request("/api/streams");
  await request("/api/session", { method: "DELETE" });
  assert.deepEqual(calls.map(({ method, headers }) => [method, headers.Authorization]),
    [[undefined, "Bearer abc/d_1"], ["DELETE", "Bearer abc/d_1"]]);
  assert.equal(withToken("/a"), "/a?token=abc%2Fd_1");
  assert.equal(withToken("/a?b=c"), "/a?b=c&token=abc%2Fd_1");
});

test("the end of control forgets the token", async () => {
  setOperatorToken(null);
  assert.equal(operatorToken(), null);
  assert.equal(stored.size, 0);
  assert.equal(withToken("/a"), "/a");
  globalThis.fetch = async (url, { headers }) => new Response(JSON.stringify(headers));
  assert.equal(await request("/x"), "{}");
});

test("a list of streams that was requested before a login is requested again with its token", async () => {
  setOperatorToken(null);
  const tokens = [];
  globalThis.fetch = async (url, { headers }) => {
    tokens.push(headers.Authorization);
    if (tokens.length === 1) setOperatorToken("fresh");
    return new Response(JSON.stringify({ time: new Date().toISOString(), streams: [{ role: tokens.at(-1) ? "operator" : "viewer" }] }));
  };
  assert.deepEqual(await streams(), [{ role: "operator" }]);
  assert.deepEqual(tokens, [undefined, "Bearer fresh"]);
});

test("a wrong token of the address, with which any page can lead here, does not end control", async () => {
  stored.set("vidicon-operator-token", "right");
  globalThis.location.hash = "#control=wrong";
  const again = await import("../../../Sources/WebPage/Site/operator-token.mjs?again");
  assert.equal(again.operatorToken(), "wrong");
  again.rejectOperatorToken();
  assert.equal(again.operatorToken(), "right");
  assert.deepEqual([...stored.values()], ["right"]);
  again.rejectOperatorToken();
  assert.equal(again.operatorToken(), null);
  assert.equal(stored.size, 0);
});
