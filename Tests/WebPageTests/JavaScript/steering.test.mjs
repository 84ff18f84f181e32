import assert from "node:assert/strict";
import { test } from "node:test";
import { Steering } from "../../../Sources/WebPage/Site/steering.mjs";

/** A server that answers when it is told to. */
function server() {
  const asked = [];
  const send = (url, options) => new Promise((resolve, reject) => asked.push({ url, options, resolve, reject }));
  return { asked, send };
}
const turn = () => new Promise((resolve) => setTimeout(resolve));

test("sources are put, settings are patched, and the answer is how the stream stands", async () => {
  const { asked, send } = server(), told = [];
  const steering = new Steering(send, (change) => told.push(change));
  steering.address = "/api/streams/cam/1";
  const done = steering.replace({ video: "plasma" });
  assert.equal(steering.isBusy, true);
  assert.deepEqual([asked[0].url, asked[0].options.method, asked[0].options.json], ["/api/streams/cam/1/source", "PUT", { video: "plasma" }]);
  asked[0].resolve({ name: "1" });
  await done;
  assert.deepEqual(told, [{ isBusy: true }, { stream: { name: "1" }, isBusy: false }]);
  steering.change({ mirror: true });
  assert.deepEqual([asked[1].url, asked[1].options.method], ["/api/streams/cam/1", "PATCH"]);
});

test("while one order is under way only the last of each kind waits", async () => {
  const { asked, send } = server();
  const steering = new Steering(send, () => {});
  steering.address = "/a";
  for (const value of [1, 2, 3, 4]) steering.change({ controls: { zoom: value } });
  steering.change({ mute: true });
  assert.equal(asked.length, 1);
  asked[0].resolve({});
  await turn();
  assert.deepEqual(asked[1].options.json, { controls: { zoom: 4 } });
  asked[1].resolve({});
  await turn();
  assert.deepEqual(asked[2].options.json, { mute: true });
  asked[2].resolve({});
  await turn();
  assert.equal(asked.length, 3);
  assert.equal(steering.isBusy, false);
});

test("a refusal is told in the server's words, and the next order is sent", async () => {
  const { asked, send } = server(), told = [];
  const steering = new Steering(send, (change) => told.push(change));
  steering.address = "/a";
  steering.replace({ video: "v4l2:" });
  steering.replace({ audio: "mic:" });
  asked[0].reject(new Error("v4l2: there is no camera; plug one in"));
  await turn();
  assert.equal(told.at(-2).problem, "v4l2: there is no camera; plug one in");
  assert.equal(asked[1].options.json.audio, "mic:");
});

test("settings do not wait for a source that takes its time", async () => {
  const { asked, send } = server(), told = [];
  const steering = new Steering(send, (change) => told.push(change));
  steering.address = "/a";
  steering.replace({ video: "v4l2:" });
  steering.change({ mute: true });
  assert.deepEqual(asked.map(({ options }) => options.method), ["PUT", "PATCH"]);
  asked[1].resolve({});
  await turn();
  assert.deepEqual(told.at(-1), { stream: {}, isBusy: true });
  assert.equal(steering.isReplacing, true);
  asked[0].resolve({});
  await turn();
  assert.deepEqual(told.at(-1), { stream: {}, isBusy: false });
  assert.equal(steering.isReplacing, false);
});

test("effects are put as a whole, and of many the last one counts", async () => {
  const { asked, send } = server(), told = [];
  const steering = new Steering(send, (change) => told.push(change));
  steering.address = "/a";
  const done = steering.setEffects({ smooth: 0.1 });
  steering.setEffects({ smooth: 0.2 });
  steering.setEffects({ smooth: 0.3 });
  assert.deepEqual([asked[0].url, asked[0].options.method, asked[0].options.json], ["/a/effects", "PUT", { smooth: 0.1 }]);
  asked[0].resolve({ smooth: 0.1 });
  await turn();
  asked[1].resolve({ smooth: 0.3 });
  await done;
  assert.deepEqual(asked.map(({ options }) => options.json.smooth), [0.1, 0.3]);
  assert.deepEqual(told.at(-1), { stream: { smooth: 0.3 }, isBusy: false });
});
