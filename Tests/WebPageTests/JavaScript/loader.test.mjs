import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.location = { href: "http://h/cam" };
const { Loader, StreamChanged } = await import("../../../Sources/WebPage/Site/loader.mjs");

const INDEX = '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS="low"\nlow.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=2,CODECS="avc1"\nlive.m3u8\n';

/** A playlist of whole segments of 1 s with parts of 0.5 s; `open` parts of the incomplete last one. */
function playlist({ first = 0, count, open = 0, hint = null, ended = false, map = "init.mp4", token = "a" }) {
  const lines = ["#EXTM3U", "#EXT-X-TARGETDURATION:1", "#EXT-X-PART-INF:PART-TARGET=0.5",
    "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=1.0", `#EXT-X-MEDIA-SEQUENCE:${first}`, `#EXT-X-MAP:URI="${map}"`];
  const parts = (sequence, number) => Array.from({ length: number }, (_, part) =>
    `#EXT-X-PART:DURATION=0.5,URI="${token}${sequence}.${part}"${part === 0 ? ",INDEPENDENT=YES" : ""}`);
  for (let sequence = first; sequence < first + count; sequence += 1) lines.push(...parts(sequence, 2), "#EXTINF:1,", `${token}${sequence}`);
  if (open) lines.push(...parts(first + count, open));
  if (hint) lines.push(`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${hint}"`);
  if (ended) lines.push("#EXT-X-ENDLIST");
  return lines.join("\n");
}

/** Loads from a server with these successive playlists; returns what was delivered and requested. */
async function load(playlists, { fail = () => false, delays = {} } = {}) {
  const delivered = [], requested = [], rest = [...playlists];
  globalThis.fetch = async (url, { signal }) => {
    const name = url.pathname.slice(1) + url.search;
    requested.push(name);
    if (url.pathname === "/index.m3u8") return new Response(INDEX);
    if (url.pathname === "/live.m3u8") return new Response(rest.length > 1 ? rest.shift() : rest[0]);
    for (let turn = delays[name] ?? 0; turn > 0; turn -= 1) await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    return fail(name, requested) ? new Response("", { status: 404 }) : new Response(name);
  };
  const text = (bytes) => bytes && new TextDecoder().decode(bytes);
  const controller = new AbortController();
  const loader = new Loader(controller.signal, {
    begin: ({ codecs }) => delivered.push(`begin ${codecs}`),
    initialize: (bytes, { discontinuity }) => delivered.push(`map ${text(bytes)}${discontinuity ? " discontinuity" : ""}`),
    media: (bytes, unit, { isNewest }) => delivered.push(text(bytes) + (isNewest ? " newest" : "")),
    end: () => delivered.push("end"),
  });
  try {
    await loader.run("http://h/index.m3u8");
    return { delivered, requested, error: null };
  } catch (error) {
    return { delivered, requested, error };
  } finally {
    controller.abort(new Error("done"));
  }
}

test("the variant of the highest bandwidth is played from the hold-back to the end", async () => {
  const { delivered, requested, error } = await load([playlist({ count: 2 }), playlist({ count: 3, ended: true })]);
  assert.equal(error, null);
  assert.deepEqual(delivered, ["begin avc1", "map init.mp4", "a1.0", "a1.1 newest", "a2.0", "a2.1 newest", "end"]);
  assert.deepEqual(requested.filter((name) => name.includes("m3u8")),
    ["index.m3u8", "live.m3u8?_HLS_msn=0&_HLS_part=0", "live.m3u8?_HLS_msn=2&_HLS_part=0"]);
});

test("media is delivered in order, whatever the order of the responses", async () => {
  const delays = { "init.mp4": 20, "a1.0": 10 };
  const { delivered } = await load([playlist({ count: 2 }), playlist({ count: 2, ended: true })], { delays });
  assert.deepEqual(delivered, ["begin avc1", "map init.mp4", "a1.0", "a1.1 newest", "end"]);
});

test("a preload hint is requested once, ahead of the playlist that lists it", async () => {
  const { delivered, requested } = await load([
    playlist({ count: 2, hint: "a2.0" }), playlist({ count: 2, open: 1, hint: "a2.1" }), playlist({ count: 3, ended: true }),
  ]);
  assert.deepEqual(delivered.slice(-3), ["a2.0 newest", "a2.1 newest", "end"]);
  for (const part of ["a2.0", "a2.1"]) assert.equal(requested.filter((name) => name === part).length, 1);
  assert.ok(requested.indexOf("a2.0") < requested.indexOf("live.m3u8?_HLS_msn=2&_HLS_part=0"));
});

test("a failed hint is requested again when the playlist lists it", async () => {
  const isFirst = (name, requested) => name === "a2.0" && requested.filter((other) => other === name).length === 1;
  const { delivered, error } = await load([playlist({ count: 2, hint: "a2.0" }), playlist({ count: 3, ended: true })], { fail: isFirst });
  assert.equal(error, null);
  assert.deepEqual(delivered.slice(-3), ["a2.0", "a2.1 newest", "end"]);
});

test("a new map is delivered before its media", async () => {
  const { delivered } = await load([playlist({ count: 2 }), playlist({ count: 3, map: "init2.mp4", ended: true })]);
  assert.deepEqual(delivered.slice(3), ["a1.1 newest", "map init2.mp4", "a2.0", "a2.1 newest", "end"]);
});

test("a missing part ends loading with the error of its request", async () => {
  const { delivered, error } = await load([playlist({ count: 2 })], { fail: (name) => name === "a1.1" });
  assert.equal(error.status, 404);
  assert.deepEqual(delivered, ["begin avc1", "map init.mp4", "a1.0"]);
});

test("a restarted stream, or one that has moved on without the player, requires a new player", async () => {
  const restarted = await load([playlist({ first: 10, count: 2 }), playlist({ first: 0, count: 2, token: "b" })]);
  assert.ok(restarted.error instanceof StreamChanged);
  assert.equal(restarted.error.message, "The stream has restarted.");
  const behind = await load([playlist({ first: 0, count: 2 }), playlist({ first: 10, count: 2 })]);
  assert.ok(behind.error instanceof StreamChanged);
  assert.equal(behind.error.message, "The player has fallen too far behind.");
});

/** Serves two renditions with the same boundaries; the playlists have as many segments and parts as `time` says. */
async function change({ lowFirst = 0, to = "http://h/low.m3u8", at = 3, end = 9 }) {
  const delivered = [], requested = [], transfers = [];
  let time = 2, loader = null;
  globalThis.fetch = async (url, { signal }) => {
    const name = url.pathname.slice(1) + url.search;
    requested.push(name);
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    if (url.pathname === "/x.m3u8") return new Response("", { status: 404 });
    if (!url.pathname.endsWith(".m3u8")) return new Response(name);
    const token = url.pathname.slice(1, 2), first = token === "l" ? lowFirst : 0;
    const wanted = Number(url.searchParams.get("_HLS_msn")) + (Number(url.searchParams.get("_HLS_part")) + 1) / 2;
    // A part takes half a second; a rendition that is asked for the first time waits for its first segment.
    time = Math.max(time, wanted, first + 0.5);
    if (time >= at && to) loader.switchTo(to);
    const count = Math.floor(time) - first, isOpen = time > Math.floor(time);
    return new Response(playlist({ first, count, open: isOpen ? 1 : 0, token, map: `${token}.init`, ended: time >= end }));
  };
  const text = (bytes) => bytes && new TextDecoder().decode(bytes);
  const controller = new AbortController();
  loader = new Loader(controller.signal, {
    begin: () => {}, end: () => delivered.push("end"),
    initialize: (bytes, { discontinuity }) => delivered.push(`map ${text(bytes)}${discontinuity ? " discontinuity" : ""}`),
    media: (bytes) => delivered.push(text(bytes)),
    transferred: (transfer) => transfers.push(transfer),
  });
  try {
    await loader.run("http://h/main.m3u8", { isMedia: true });
    return { delivered, requested, transfers };
  } finally {
    controller.abort(new Error("done"));
  }
}

test("another rendition continues at a segment's boundary, without a gap or a repetition", async () => {
  for (const lowFirst of [0, 2, 5]) {
    const { delivered, transfers } = await change({ lowFirst });
    const media = delivered.filter((name) => /^[lm]\d/.test(name));
    const numbers = media.map((name) => name.slice(1));
    const expected = [];
    for (let sequence = Number(numbers[0].split(".")[0]); sequence < 9; sequence += 1) expected.push(`${sequence}.0`, `${sequence}.1`);
    assert.deepEqual(numbers, expected, String(media));
    const crossing = media.findIndex((name) => name.startsWith("l"));
    assert.ok(crossing > 0 && media[crossing].endsWith(".0"), String(media));
    assert.ok(media.slice(crossing).every((name) => name.startsWith("l")));
    assert.ok(Number(media[crossing].slice(1).split(".")[0]) >= lowFirst);
    assert.deepEqual(delivered.filter((name) => name.startsWith("map")), ["map m.init", "map l.init"]);
    assert.ok(transfers.length >= media.length - 1 && transfers.every(({ duration }) => duration === 0.5));
  }
});

/** Serves main, whose parts from segment 4 on do not arrive, unless the other one is refused, and the other rendition, which begins with segment `lowFirst`. */
async function hurry({ lowFirst, low = true }) {
  const delivered = [], aborted = [], transfers = [];
  let loader = null, isAsked = false, waited = 0, release = null, held = 0, later = 0;
  const now = performance.now;
  performance.now = () => now.call(performance) + later;
  const refusal = new Promise((resolve) => { release = resolve; });
  globalThis.fetch = async (url, { signal }) => {
    const name = url.pathname.slice(1), isMain = name.startsWith("m"), sequence = Number.parseInt(name.slice(1), 10);
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    if (name === "low.m3u8") isAsked = true;
    if (name.endsWith(".m3u8")) {
      if (!isMain && !low) {
        release();
        return new Response("", { status: 404 });
      }
      const wanted = Number(url.searchParams.get("_HLS_msn"));
      if (isMain && wanted === 6 && !isAsked) {
        for (let turn = 0; held === 0 && turn < 1000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        later = 30;
        waited = loader.waiting;
        loader.switchTo("http://h/low.m3u8", { isUrgent: true });
        // The playlist of main comes before that of the other one.
      }
      const count = isMain ? Math.min(8, wanted + 2) : 8 - lowFirst;
      return new Response(playlist({
        first: isMain ? 0 : lowFirst, count: isMain ? Math.max(4, count) : count, token: name[0], map: `${name[0]}.init`,
        ended: !isMain || count === 8, hint: isMain && count < 8 ? `m${count}.0` : null,
      }));
    }
    if (isMain && sequence >= 4 && sequence < 6) {
      held += 1;
      await new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => { aborted.push(name); reject(signal.reason); });
        if (!low) refusal.then(() => setImmediate(resolve));
      });
    }
    return new Response(name);
  };
  const text = (bytes) => bytes && new TextDecoder().decode(bytes);
  const controller = new AbortController();
  loader = new Loader(controller.signal, {
    begin: () => {}, end: () => delivered.push("end"),
    initialize: (bytes) => delivered.push(`map ${text(bytes)}`),
    media: (bytes) => delivered.push(text(bytes)),
    transferred: (transfer) => transfers.push(transfer),
  });
  try {
    await loader.run("http://h/main.m3u8", { isMedia: true });
    return { delivered, aborted, waited, transfers, waiting: loader.waiting };
  } finally {
    performance.now = now;
    controller.abort(new Error("done"));
  }
}

test("when the network is too slow, requested parts are given up, and the other rendition continues as early as it can", async () => {
  for (const [lowFirst, from] of [[0, 4], [6, 6]]) {
    const { delivered, aborted, waited, waiting } = await hurry({ lowFirst });
    assert.ok(waited >= 0.03, String(waited));
    assert.equal(waiting, 0);
    const expected = ["map m.init", "m3.0", "m3.1", "map l.init"];
    for (let sequence = from; sequence < 8; sequence += 1) expected.push(`l${sequence}.0`, `l${sequence}.1`);
    assert.deepEqual(delivered, [...expected, "end"]);
    for (const part of ["m4.0", "m4.1", "m5.0", "m5.1"]) assert.ok(aborted.includes(part), String(aborted));
  }
});

test("without the other rendition the current one goes on, behind what was given up", async () => {
  const { delivered } = await hurry({ lowFirst: 0, low: false });
  assert.deepEqual(delivered, ["map m.init", "m3.0", "m3.1", "m4.0", "m6.0", "m6.1", "m7.0", "m7.1", "end"]);
});

test("a rendition that cannot be had changes nothing", async () => {
  const { delivered } = await change({ to: "http://h/x.m3u8" });
  assert.equal(delivered.at(-1), "end");
  assert.ok(delivered.filter((name) => /^\w\d/.test(name)).every((name) => name.startsWith("m")));
});

test("the playlist of a rendition that is likely to be needed is requested once, and its failure is none of the player's", async () => {
  const requested = [];
  globalThis.fetch = async (url) => {
    requested.push(url.href);
    return new Response("", { status: requested.length === 1 ? 404 : 503 });
  };
  const loader = new Loader(new AbortController().signal, {});
  for (let time = 0; time < 3; time += 1) {
    loader.prepare("http://h/low.m3u8");
    await new Promise((resolve) => setImmediate(resolve));
  }
  loader.prepare("http://h/lowest.m3u8");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(requested.length, 2);
  assert.ok(requested[0].startsWith("http://h/low.m3u8") && requested[1].startsWith("http://h/lowest.m3u8"), String(requested));
});
