import assert from "node:assert/strict";
import { test } from "node:test";
import { ChangeQueue } from "../../../Sources/WebPage/Site/change-queue.mjs";

/** A server whose responses the test sends. */
function server() {
  const requests = [];
  const send = (url, options) => new Promise((resolve, reject) => requests.push({ url, options, resolve, reject }));
  return { requests, send };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("sources are sent by PUT, settings by PATCH, and the response is reported", async () => {
  const { requests, send } = server(), outcomes = [];
  const changes = new ChangeQueue(send, (outcome) => outcomes.push(outcome));
  changes.address = "/api/streams/cam/1";
  const done = changes.replace({ video: "plasma" });
  assert.equal(changes.isBusy, true);
  assert.deepEqual([requests[0].url, requests[0].options.method, requests[0].options.json], ["/api/streams/cam/1/source", "PUT", { video: "plasma" }]);
  requests[0].resolve({ name: "1" });
  await done;
  assert.deepEqual(outcomes, [{ isBusy: true }, { stream: { name: "1" }, isBusy: false }]);
  changes.change({ mirror: true });
  assert.deepEqual([requests[1].url, requests[1].options.method], ["/api/streams/cam/1", "PATCH"]);
});

test("while a change is being sent, only the newest of each setting waits", async () => {
  const { requests, send } = server();
  const changes = new ChangeQueue(send, () => {});
  changes.address = "/a";
  for (const value of [1, 2, 3, 4]) changes.change({ controls: { zoom: value } });
  changes.change({ mute: true });
  assert.equal(requests.length, 1);
  requests[0].resolve({});
  await settle();
  assert.deepEqual(requests[1].options.json, { controls: { zoom: 4 } });
  requests[1].resolve({});
  await settle();
  assert.deepEqual(requests[2].options.json, { mute: true });
  requests[2].resolve({});
  await settle();
  assert.equal(requests.length, 3);
  assert.equal(changes.isBusy, false);
});

test("a rejection is reported with the server's message, and the next change is sent", async () => {
  const { requests, send } = server(), outcomes = [];
  const changes = new ChangeQueue(send, (outcome) => outcomes.push(outcome));
  changes.address = "/a";
  changes.replace({ video: "v4l2:" });
  changes.replace({ audio: "mic:" });
  requests[0].reject(new Error("v4l2: there is no camera; plug one in"));
  await settle();
  assert.equal(outcomes.at(-2).problem, "v4l2: there is no camera; plug one in");
  assert.equal(requests[1].options.json.audio, "mic:");
});

test("settings do not wait for a slow source", async () => {
  const { requests, send } = server(), outcomes = [];
  const changes = new ChangeQueue(send, (outcome) => outcomes.push(outcome));
  changes.address = "/a";
  changes.replace({ video: "v4l2:" });
  changes.change({ mute: true });
  assert.deepEqual(requests.map(({ options }) => options.method), ["PUT", "PATCH"]);
  requests[1].resolve({});
  await settle();
  assert.deepEqual(outcomes.at(-1), { stream: {}, isBusy: true });
  assert.equal(changes.isReplacing, true);
  requests[0].resolve({});
  await settle();
  assert.deepEqual(outcomes.at(-1), { stream: {}, isBusy: false });
  assert.equal(changes.isReplacing, false);
});

test("effects are sent as a whole, and the newest replaces waiting ones", async () => {
  const { requests, send } = server(), outcomes = [];
  const changes = new ChangeQueue(send, (outcome) => outcomes.push(outcome));
  changes.address = "/a";
  const done = changes.setEffects({ smooth: 0.1 });
  changes.setEffects({ smooth: 0.2 });
  changes.setEffects({ smooth: 0.3 });
  assert.deepEqual([requests[0].url, requests[0].options.method, requests[0].options.json], ["/a/effects", "PUT", { smooth: 0.1 }]);
  requests[0].resolve({ smooth: 0.1 });
  await settle();
  requests[1].resolve({ smooth: 0.3 });
  await done;
  assert.deepEqual(requests.map(({ options }) => options.json.smooth), [0.1, 0.3]);
  assert.deepEqual(outcomes.at(-1), { stream: { smooth: 0.3 }, isBusy: false });
});
