import assert from "node:assert/strict";
import { test } from "node:test";
import { addressesOf, publishAddressesOf } from "../../../Sources/WebPage/Site/addresses.mjs";
import * as text from "../../../Sources/WebPage/Site/text.mjs";
import { waysFor } from "../../../Sources/WebPage/Site/ways.mjs";

const STREAM = {
  name: "hello", page: "/hello", snapshot: "/hello/snapshot.jpg", mjpeg: "/hello/mjpeg", hls: "/hello/index.m3u8",
  ts: "/hello/playlist.m3u8", rtsp: ["rtsp://10.0.0.5:8554/hello", "rtsp://192.168.2.67:8554/hello"],
  http: ["http://10.0.0.5:8080/hello", "http://192.168.2.67:8080/hello"],
};
const of = (stream, page) => addressesOf(stream, page).map((entry) => entry.address);

test("URLs have the host of the page", () => {
  assert.deepEqual(of(STREAM, "http://192.168.2.67:8080/hello"), [
    "http://192.168.2.67:8080/hello", "rtsp://192.168.2.67:8554/hello", "http://192.168.2.67:8080/hello/index.m3u8",
    "http://192.168.2.67:8080/hello/playlist.m3u8", "http://192.168.2.67:8080/hello/mjpeg",
    "http://192.168.2.67:8080/hello/snapshot.jpg",
  ]);
});

test("a page opened as localhost shows URLs that other machines can use", () => {
  for (const host of ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"]) {
    assert.deepEqual(of(STREAM, `http://${host}/hello`).slice(0, 2), ["http://10.0.0.5:8080/hello", "rtsp://10.0.0.5:8554/hello"]);
  }
  assert.equal(of({ ...STREAM, http: [] }, "http://localhost:8080/hello")[0], "http://localhost:8080/hello");
});

test("a host name is kept; protocols that are not served are omitted", () => {
  const addresses = of({ ...STREAM, rtsp: [], mjpeg: undefined }, "https://camera.local/hello");
  assert.equal(addresses[0], "https://camera.local/hello");
  assert.equal(addresses.length, 4);
});

test("senders get the encrypted page with the token in its fragment, the address for encoders, and the token", () => {
  const stream = { ...STREAM, whip: "/hello/whip" };
  const pages = ["https://10.0.0.5:8443/hello/publish", "https://192.168.2.67:8443/hello/publish"];
  const of = (page, root, given = pages) =>
    publishAddressesOf(stream, { pages: given, token: "TOKEN" }, page, root).map(({ address, isSecret }) => [address, isSecret ?? false]);
  assert.deepEqual(of("http://192.168.2.67:8080/hello"), [
    ["https://192.168.2.67:8443/hello/publish#TOKEN", true], ["https://192.168.2.67:8443/hello/whip", false], ["TOKEN", true]]);
  // Opened as localhost it shows what a phone can reach.
  assert.equal(of("http://localhost:8080/hello")[0][0], "https://10.0.0.5:8443/hello/publish#TOKEN");
  // Behind a proxy with TLS the proxy's address counts, below its path.
  assert.deepEqual(of("https://cam.example/door/hello", "/door/").map(([address]) => address), [
    "https://cam.example/door/hello/publish#TOKEN", "https://cam.example/door/hello/whip", "TOKEN"]);
  // Without HTTPS browsers cannot send.
  assert.deepEqual(of("http://192.168.2.67:8080/hello", "/", []).map(([address]) => address), ["http://192.168.2.67:8080/hello/whip", "TOKEN"]);
});

test("the order of ways for each browser", () => {
  const ways = (isApple, playsHLS, playsFragments) => waysFor({ isApple, playsHLS, playsFragments }).join(" ");
  assert.equal(ways(true, true, true), "native stream images"); // Safari
  assert.equal(ways(false, true, true), "stream native images"); // Chromium
  assert.equal(ways(false, false, true), "stream images"); // Firefox
  assert.equal(ways(false, false, false), "images"); // A browser without H.264
  assert.deepEqual(waysFor({ isApple: true, playsHLS: true, playsFragments: true, playsWebRTC: true }),
    ["webrtc", "native", "stream", "images"]);
});

test("numbers and names are formatted for display", () => {
  assert.deepEqual([2_300_000, 64_000, null].map(text.bitrate), ["2.3 Mb/s", "64 kb/s", "–"]);
  assert.deepEqual([0.8234, 12.3, null].map(text.seconds), ["0.82 s", "12 s", "–"]);
  assert.deepEqual([30, 29.97, 29.94, null].map(text.frameRate), ["30 fps", "30 fps", "29.9 fps", "–"]);
  assert.deepEqual([0, 999, 99_949, 999_499, 999_500, 12_345_678, 99_950_000, 2.5e9, 1e16].map(text.bytes).map((size) => size.replace("\u00a0", " ")),
    ["0 kB", "1 kB", "100 kB", "999 kB", "1.0 MB", "12.3 MB", "100 MB", "2.5 GB", "10000 TB"]);
  assert.deepEqual([0, 5.99, 65, 3599.9, 3723.9, 360_000].map(text.duration), ["0:00", "0:05", "1:05", "59:59", "1:02:03", "100:00:00"]);
  assert.deepEqual([0, 1, 2].map(text.files), ["0 files", "1 file", "2 files"]);
  assert.deepEqual([0, 1, 2].map(text.viewers), ["0 viewers", "1 viewer", "2 viewers"]);
  assert.deepEqual(["avc1.64001f", "avc1.42E01F", "mp4a.40.2", "opus", undefined].map(text.codec), ["H.264 High", "H.264 Baseline", "AAC", "opus", ""]);
  assert.deepEqual(["webrtc", "stream", null].map(text.way), ["WebRTC, real time", "HLS, low latency", "–"]);
  assert.equal(text.snapshotName("hello", new Date(2026, 10, 1, 7, 4, 3)), "hello 2026-11-01 07.04.03.jpg");
});
