import assert from "node:assert/strict";
import { test } from "node:test";
import { PlaylistError, parseAttributes, parsePlaylist } from "../../../Sources/WebPage/Site/playlist.mjs";

const BASE = "http://host:8080/hello/live.m3u8";

/** After RFC 8216bis §9.4: whole segments, parts of the newest ones, an incomplete segment, a preload hint. */
export const LIVE = `#EXTM3U
#EXT-X-VERSION:10
#EXT-X-TARGETDURATION:1
#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=0.6,CAN-SKIP-UNTIL=6.0
#EXT-X-PART-INF:PART-TARGET=0.2
#EXT-X-MEDIA-SEQUENCE:10
#EXT-X-MAP:URI="a-init1.mp4"
#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:00.000Z
#EXTINF:1.00000,
a-10.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:01.000Z
#EXT-X-PART:DURATION=0.5,URI="a-11.0.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.5,URI="a-11.1.m4s"
#EXTINF:1.00000,
a-11.m4s
#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:02.000Z
#EXT-X-PART:DURATION=0.2,URI="a-12.0.m4s",INDEPENDENT=YES
#EXT-X-PART:DURATION=0.2,URI="a-12.1.m4s"
#EXT-X-PRELOAD-HINT:TYPE=PART,URI="a-12.2.m4s"
`;

test("variants of a multivariant playlist with codecs", () => {
  const text = `#EXTM3U\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-STREAM-INF:BANDWIDTH=2500000,`
    + `CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720\nlive.m3u8\n`;
  assert.deepEqual(parsePlaylist(text, "http://host:8080/hello/index.m3u8"), {
    variants: [{ url: BASE, codecs: "avc1.64001f,mp4a.40.2", bandwidth: 2500000 }],
  });
});

test("a low-latency media playlist", () => {
  const playlist = parsePlaylist(LIVE, BASE);
  assert.equal(playlist.targetDuration, 1);
  assert.equal(playlist.partTarget, 0.2);
  assert.equal(playlist.partHoldBack, 0.6);
  assert.equal(playlist.holdBack, null);
  assert.equal(playlist.canBlockReload, true);
  assert.equal(playlist.ended, false);
  assert.equal(playlist.hint, "http://host:8080/hello/a-12.2.m4s");
  assert.deepEqual(playlist.segments.map((segment) => segment.sequence), [10, 11, 12]);
  assert.deepEqual(playlist.segments.map((segment) => segment.url?.split("/").at(-1) ?? null), ["a-10.m4s", "a-11.m4s", null]);
  assert.deepEqual(playlist.segments.map((segment) => segment.parts.length), [0, 2, 2]);
  assert.equal(playlist.segments[0].dateTime, Date.UTC(2026, 10, 21, 7, 41, 0));
  assert.deepEqual(playlist.segments[2].parts[0], {
    url: "http://host:8080/hello/a-12.0.m4s", duration: 0.2, independent: true, gap: false,
  });
  assert.equal(playlist.segments[2].parts[1].independent, false);
});

test("discontinuities continue the discontinuity sequence, and a map applies until the next one", () => {
  const text = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-DISCONTINUITY-SEQUENCE:4\n#EXT-X-MAP:URI="1.mp4"\n#EXTINF:1,\n1.m4s\n`
    + `#EXTINF:1,\n2.m4s\n#EXT-X-DISCONTINUITY\n#EXT-X-MAP:URI="2.mp4"\n#EXTINF:1,\n3.m4s\n#EXT-X-ENDLIST\n`;
  const playlist = parsePlaylist(text, "http://h/");
  assert.deepEqual(playlist.segments.map((segment) => segment.discontinuity), [4, 4, 5]);
  assert.deepEqual(playlist.segments.map((segment) => segment.map), ["http://h/1.mp4", "http://h/1.mp4", "http://h/2.mp4"]);
  assert.equal(playlist.ended, true);
});

test("attributes with and without quotes, with commas inside quotes", () => {
  assert.deepEqual(parseAttributes('A-B="c,d=e",F=1.5,G=YES'), { "A-B": "c,d=e", F: "1.5", G: "YES" });
});

test("dates with every notation of the zone", () => {
  for (const zone of ["Z", "+00:00", "+0000"]) {
    const text = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-PROGRAM-DATE-TIME:2026-11-21T07:41:00.123${zone}\n#EXTINF:1,\na\n`;
    assert.equal(parsePlaylist(text, "http://h/").segments[0].dateTime, Date.UTC(2026, 10, 21, 7, 41, 0, 123));
  }
});

test("CRLF, a byte order mark and unknown tags are accepted", () => {
  const odd = "\uFEFF" + LIVE.replace("#EXT-X-VERSION:10\n", "#EXT-X-VERSION:10\n#EXT-X-UNKNOWN:1\n# a comment\n\n").replaceAll("\n", "\r\n");
  assert.deepEqual(parsePlaylist(odd, BASE), parsePlaylist(LIVE, BASE));
});

test("a malformed playlist throws PlaylistError", () => {
  const texts = [
    "", "<html>", "#EXTM3U", "#EXTM3U\n#EXT-X-TARGETDURATION:x\n", '#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXT-X-PART:DURATION=1\n',
    "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n", "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://[\n",
  ];
  for (const text of texts) assert.throws(() => parsePlaylist(text, BASE), PlaylistError, JSON.stringify(text));
});

test("every prefix of a playlist is parsed or throws PlaylistError", () => {
  for (let length = 0; length < LIVE.length; length += 1) {
    try {
      parsePlaylist(LIVE.slice(0, length), BASE);
    } catch (error) {
      assert.ok(error instanceof PlaylistError, `${length}: ${error}`);
    }
  }
});
