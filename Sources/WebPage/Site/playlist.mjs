// Parser of HLS playlists, RFC 8216 and draft-pantos-hls-rfc8216bis, for live playback.
//
// Pure. Times are seconds, wall-clock times milliseconds since 1970. Byte ranges, encryption and alternative renditions are not
// supported: the server uses none.

/** A malformed playlist. */
export class PlaylistError extends Error {}

/**
 * Parses a playlist.
 *
 * @param {string} text The playlist.
 * @param {string} url Its URL, the base of relative URLs.
 * @returns {{variants: Array}|{segments: Array}} A multivariant playlist has `variants`, a media playlist `segments`.
 */
export function parsePlaylist(text, url) {
  const lines = text.split(/\r?\n/);
  if (lines[0].replace(/^\uFEFF/, "").trim() !== "#EXTM3U") throw new PlaylistError("The response is not a playlist.");
  return lines.some((line) => line.startsWith("#EXT-X-STREAM-INF:"))
    ? parseMultivariant(lines, url)
    : parseMedia(lines, url);
}

/** Parses an attribute list, §4.2, and removes quotes. */
export function parseAttributes(text) {
  const attributes = {};
  for (const [, name, quoted, plain] of text.matchAll(/([A-Z0-9-]+)=(?:"([^"]*)"|([^",]*))/g)) {
    attributes[name] = quoted ?? plain.trim();
  }
  return attributes;
}

function parseMultivariant(lines, url) {
  const variants = [];
  let pending = null;
  for (const line of lines.map((line) => line.trim())) {
    if (line.startsWith("#EXT-X-STREAM-INF:")) {
      pending = parseAttributes(line.slice(line.indexOf(":") + 1));
    } else if (line && !line.startsWith("#") && pending) {
      variants.push({
        url: resolve(line, url),
        codecs: pending.CODECS ?? "",
        bandwidth: number(pending.BANDWIDTH, 0),
      });
      pending = null;
    }
  }
  if (!variants.length) throw new PlaylistError("The playlist has no variant.");
  return { variants };
}

function parseMedia(lines, url) {
  const playlist = {
    targetDuration: null, partTarget: null, holdBack: null, partHoldBack: null, canBlockReload: false,
    mediaSequence: 0, ended: false, segments: [], hint: null,
  };
  let discontinuity = 0;
  let map = null;
  let pending = emptySegment();

  for (const line of lines.map((line) => line.trim())) {
    if (line && !line.startsWith("#")) {
      playlist.segments.push({ ...pending, url: resolve(line, url), discontinuity, map });
      pending = emptySegment();
      continue;
    }
    const colon = line.indexOf(":");
    const tag = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1);
    switch (tag) {
      case "#EXT-X-TARGETDURATION": playlist.targetDuration = number(value, null); break;
      case "#EXT-X-MEDIA-SEQUENCE": playlist.mediaSequence = number(value, 0); break;
      case "#EXT-X-DISCONTINUITY-SEQUENCE": discontinuity = number(value, 0); break;
      case "#EXT-X-DISCONTINUITY": discontinuity += 1; break;
      case "#EXT-X-ENDLIST": playlist.ended = true; break;
      case "#EXT-X-GAP": pending.gap = true; break;
      case "#EXTINF": pending.duration = number(value.split(",")[0], 0); break;
      case "#EXT-X-PROGRAM-DATE-TIME": pending.dateTime = dateTime(value); break;
      case "#EXT-X-MAP": map = resolve(parseAttributes(value).URI, url); break;
      case "#EXT-X-PART-INF": playlist.partTarget = number(parseAttributes(value)["PART-TARGET"], null); break;
      case "#EXT-X-SERVER-CONTROL": {
        const control = parseAttributes(value);
        playlist.canBlockReload = control["CAN-BLOCK-RELOAD"] === "YES";
        playlist.holdBack = number(control["HOLD-BACK"], null);
        playlist.partHoldBack = number(control["PART-HOLD-BACK"], null);
        break;
      }
      case "#EXT-X-PART": {
        const part = parseAttributes(value);
        pending.parts.push({
          url: resolve(part.URI, url), duration: number(part.DURATION, 0), independent: part.INDEPENDENT === "YES",
          gap: part.GAP === "YES",
        });
        break;
      }
      case "#EXT-X-PRELOAD-HINT": {
        const hint = parseAttributes(value);
        if (hint.TYPE === "PART") playlist.hint = resolve(hint.URI, url);
        break;
      }
    }
  }
  // The parts of the incomplete last segment.
  if (pending.parts.length) playlist.segments.push({ ...pending, url: null, discontinuity, map });
  if (playlist.targetDuration === null) throw new PlaylistError("The playlist has no target duration.");
  playlist.segments.forEach((segment, index) => { segment.sequence = playlist.mediaSequence + index; });
  return playlist;
}

function emptySegment() {
  return { duration: 0, dateTime: null, gap: false, parts: [] };
}

function number(text, fallback) {
  const value = text === undefined || text === "" ? NaN : Number(text);
  return Number.isFinite(value) && value >= 0 ? value : fallback;
}

function dateTime(text) {
  // ISO 8601 allows a zone without a colon (+0000), which not every browser parses.
  const time = Date.parse(text.replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));
  return Number.isNaN(time) ? null : time;
}

function resolve(uri, base) {
  if (!uri) throw new PlaylistError("The playlist lacks a URI.");
  try {
    return new URL(uri, base).href;
  } catch {
    throw new PlaylistError(`The playlist has an invalid URI: ${uri}`);
  }
}
