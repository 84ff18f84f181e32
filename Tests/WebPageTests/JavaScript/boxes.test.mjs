import assert from "node:assert/strict";
import { test } from "node:test";
import { startOf, tracksOf } from "../../../Sources/WebPage/Site/boxes.mjs";

const bytes = (...pieces) => pieces.flatMap((piece) => (typeof piece === "string" ? [...piece].map((c) => c.charCodeAt(0)) : piece));
const u32 = (value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
const u64 = (value) => [...u32(Math.floor(value / 2 ** 32)), ...u32(value % 2 ** 32)];
const zeros = (count) => new Array(count).fill(0);
const box = (type, ...content) => {
  const inside = bytes(...content);
  return [...u32(inside.length + 8), ...bytes(type), ...inside];
};
const buffer = (...boxes) => new Uint8Array(boxes.flat()).buffer;

const track = (id, timescale, handler) => box("trak",
  box("tkhd", u32(7), zeros(8), u32(id), zeros(68)), // Version 0: creation, modification, then the track.
  box("mdia", box("mdhd", u32(0), zeros(8), u32(timescale), zeros(8)), box("hdlr", u32(0), u32(0), handler, zeros(13))));
const initialization = buffer(box("ftyp", "iso6", u32(0)), box("moov", box("mvhd", zeros(100)), track(1, 90_000, "vide"), track(2, 48_000, "soun")));
const fragment = (...tracks) => buffer(
  box("moof", box("mfhd", zeros(8)), ...tracks.map(([id, time, version = 1]) => box("traf",
    box("tfhd", u32(0x020000), u32(id)), box("tfdt", [version, 0, 0, 0], version === 1 ? u64(time) : u32(time))))),
  box("mdat", zeros(50)));

test("tracks with their timescales", () => {
  assert.deepEqual([...tracksOf(initialization)], [
    [1, { timescale: 90_000, isVideo: true }], [2, { timescale: 48_000, isVideo: false }],
  ]);
});

test("a fragment starts with its video, in any order of the tracks", () => {
  const tracks = tracksOf(initialization);
  assert.equal(startOf(fragment([1, 180_000], [2, 48_000]), tracks), 2);
  assert.equal(startOf(fragment([2, 48_000], [1, 180_000]), tracks), 2);
  assert.equal(startOf(fragment([1, 180_000, 0]), tracks), 2);
});

test("times beyond 32 bits", () => {
  assert.equal(startOf(fragment([1, 90_000 * 1_790_000_000]), tracksOf(initialization)), 1_790_000_000);
});

test("the start of audio is used without video; unknown tracks are ignored", () => {
  const tracks = tracksOf(initialization);
  assert.equal(startOf(fragment([2, 72_000]), tracks), 1.5);
  assert.equal(startOf(fragment([3, 72_000]), tracks), null);
});

test("every prefix is parsed without an error", () => {
  const whole = new Uint8Array(fragment([1, 180_000], [2, 48_000]));
  const tracks = tracksOf(initialization);
  for (let length = 0; length < whole.length; length += 1) {
    const start = startOf(whole.slice(0, length).buffer, tracks);
    assert.ok(start === null || start === 2, `${length}: ${start}`);
  }
  const first = new Uint8Array(initialization);
  for (let length = 0; length < first.length; length += 1) tracksOf(first.slice(0, length).buffer);
});

test("boxes that are too short are skipped", () => {
  assert.equal(startOf(buffer(box("moof", box("traf", box("tfhd"), box("tfdt", [1])))), tracksOf(initialization)), null);
  assert.equal(tracksOf(buffer(box("moov", box("trak", box("tkhd"), box("mdhd"), box("hdlr"))))).size, 0);
});
