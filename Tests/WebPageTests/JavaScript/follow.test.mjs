import assert from "node:assert/strict";
import { test } from "node:test";
import { blockingReload, firstRequest, firstUnits, holdBackOf, unitsAfter, unitsOf } from "../../../Sources/WebPage/Site/follow.mjs";
import { parsePlaylist } from "../../../Sources/WebPage/Site/playlist.mjs";

const URL_ = "http://h/live.m3u8";

/** A playlist of segments with five parts of 0.2 s; the newest three list their parts; the last may be incomplete. */
function live({ first, count, open = 0, token = "a", ended = false }) {
  const lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1", "#EXT-X-PART-INF:PART-TARGET=0.2",
    "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.6", `#EXT-X-MEDIA-SEQUENCE:${first}`];
  const parts = (sequence, number) => Array.from({ length: number }, (_, part) =>
    `#EXT-X-PART:DURATION=0.2,URI="${token}-${sequence}.${part}"${part === 0 ? ",INDEPENDENT=YES" : ""}`);
  for (let sequence = first; sequence < first + count; sequence += 1) {
    lines.push(`#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:${String(sequence).padStart(2, "0")}Z`);
    if (sequence >= first + count - 3) lines.push(...parts(sequence, 5));
    lines.push("#EXTINF:1,", `${token}-${sequence}`);
  }
  if (open) lines.push(...parts(first + count, open));
  if (ended) lines.push("#EXT-X-ENDLIST");
  return parsePlaylist(lines.join("\n"), URL_);
}

const names = (units) => units?.map((unit) => unit.url.slice("http://h/".length));

test("units are the listed parts, and whole segments before them", () => {
  const units = unitsOf(live({ first: 3, count: 4, open: 1 }));
  assert.deepEqual(names(units).slice(0, 3), ["a-3", "a-4.0", "a-4.1"]);
  assert.equal(names(units).at(-1), "a-7.0");
  assert.equal(units.filter((unit) => unit.dateTime !== null).length, 4);
});

test("gaps are omitted", () => {
  const playlist = parsePlaylist('#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-GAP\n#EXTINF:1,\na\n#EXTINF:1,\nb\n', URL_);
  assert.deepEqual(names(unitsOf(playlist)), ["b"]);
});

test("playback starts at an independent unit, at least the hold-back before the end", () => {
  assert.deepEqual(names(firstUnits(live({ first: 3, count: 4, open: 3 }))), ["a-7.0", "a-7.1", "a-7.2"]);
  assert.equal(names(firstUnits(live({ first: 3, count: 4, open: 2 })))[0], "a-6.0");
  assert.equal(names(firstUnits(live({ first: 3, count: 4 })))[0], "a-6.0");
});

test("a stream that has just started is played from its first part", () => {
  assert.deepEqual(names(firstUnits(live({ first: 0, count: 0, open: 1 }))), ["a-0.0"]);
  assert.deepEqual(names(firstUnits(parsePlaylist("#EXTM3U\n#EXT-X-TARGETDURATION:1\n", URL_))), []);
});

test("the units after a loaded part", () => {
  const last = unitsOf(live({ first: 3, count: 4, open: 2 })).at(-1);
  assert.deepEqual(names(unitsAfter(live({ first: 3, count: 4, open: 2 }), last)), []);
  assert.deepEqual(names(unitsAfter(live({ first: 3, count: 4, open: 3 }), last)), ["a-7.2"]);
  assert.deepEqual(names(unitsAfter(live({ first: 4, count: 4, open: 1 }), last)), ["a-7.2", "a-7.3", "a-7.4", "a-8.0"]);
});

test("a segment whose parts are not listed any more is loaded as a whole", () => {
  const last = unitsOf(live({ first: 3, count: 4, open: 2 })).at(-1);
  assert.deepEqual(names(unitsAfter(live({ first: 7, count: 4 }), last)).slice(0, 2), ["a-7", "a-8.0"]);
});

test("a player behind the window must restart", () => {
  const last = unitsOf(live({ first: 3, count: 4, open: 2 })).at(-1);
  assert.equal(unitsAfter(live({ first: 9, count: 4 }), last), null);
});

test("a replaced stream requires a restart: earlier sequence numbers, or the same with other names", () => {
  const last = unitsOf(live({ first: 30, count: 4, open: 2 })).at(-1);
  assert.equal(unitsAfter(live({ first: 0, count: 2, token: "b" }), last), null);
  assert.equal(unitsAfter(live({ first: 30, count: 4, open: 3, token: "b" }), last), null);
});

test("a blocking reload requests the next part", () => {
  assert.equal(blockingReload(URL_, live({ first: 3, count: 4, open: 2 })), `${URL_}?_HLS_msn=7&_HLS_part=2`);
  assert.equal(blockingReload(URL_, live({ first: 3, count: 4 })), `${URL_}?_HLS_msn=7&_HLS_part=0`);
});

test("the first request is answered with the first part", () => {
  assert.equal(firstRequest(`${URL_}?a=b`), `${URL_}?a=b&_HLS_msn=0&_HLS_part=0`);
});

test("without CAN-BLOCK-RELOAD there is no blocking URL", () => {
  const playlist = parsePlaylist("#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\na\n", URL_);
  assert.equal(blockingReload(URL_, playlist), null);
  assert.equal(holdBackOf(playlist), 6);
});

test("the hold-back is the server's, or three part durations", () => {
  assert.equal(holdBackOf(live({ first: 0, count: 1 })), 0.6);
  assert.ok(Math.abs(holdBackOf({ ...live({ first: 0, count: 1 }), partHoldBack: null }) - 0.6) < 1e-9);
});
