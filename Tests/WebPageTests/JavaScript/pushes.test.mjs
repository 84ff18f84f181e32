import assert from "node:assert/strict";
import { test } from "node:test";
import { describe } from "../../../Sources/WebPage/Site/pushes.mjs";

const push = {
  id: 1, server: "rtmp://a.example/app", rendition: "main", state: "sending", bitrate: 2_300_000, videoBitrate: 2_200_000,
  ownEncoding: false,
  waitingForEncoding: false,
  queue: 0.1, framesDropped: 0, audioFramesDropped: 0, reconnects: 0, failedAttempts: 0, bytesSent: 1,
};

test("a push that sends has its bitrate", () => {
  assert.deepEqual(describe(push), { server: "rtmp://a.example/app", state: "Sending", detail: "2.3 Mb/s" });
  const slow = { ...push, rendition: "low", ownEncoding: true, bitrate: 812_000, videoBitrate: 700_000, queue: 1.2, framesDropped: 3, reconnects: 2 };
  assert.equal(describe(slow).detail, "low · 812 kb/s · 700 kb/s of its own · 1.20 s behind · 3 dropped · 2 reconnects");
});

test("a push that waits for an encoding has what it gets meanwhile", () => {
  assert.equal(describe({ ...push, waitingForEncoding: true }).detail, "2.3 Mb/s · waits for an encoding of its own");
});

test("a push that waits has the reason and the time", () => {
  const waiting = { ...push, state: "waiting", nextAttempt: 3.2, lastFailure: "connection refused", reconnects: 1 };
  assert.deepEqual(describe(waiting), {
    server: "rtmp://a.example/app", state: "Again in 4 s", detail: "connection refused · 1 reconnect",
  });
  assert.equal(describe({ ...push, state: "connecting" }).state, "Connecting");
});
