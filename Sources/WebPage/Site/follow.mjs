// Selects the next units of a live playlist to load, and the URL of the next playlist request. Pure.
//
// A unit is loaded by one request: a part of a segment, or a whole segment whose parts are not listed any more. `sequence` is
// the segment's media sequence number; `part` counts from 0 and is null for a whole segment.

/** The units of a media playlist in order, without gaps. */
export function unitsOf(playlist) {
  return playlist.segments.flatMap((segment) => {
    const { sequence, discontinuity, map, dateTime } = segment;
    const common = { sequence, discontinuity, map };
    if (!segment.parts.length) {
      if (segment.gap) return [];
      return [{ ...common, part: null, url: segment.url, duration: segment.duration, independent: true, dateTime }];
    }
    return segment.parts.map((part, index) => ({
      ...common, part: index, url: part.url, duration: part.duration, independent: part.independent, gap: part.gap,
      // EXT-X-PROGRAM-DATE-TIME applies to the first part.
      dateTime: index === 0 ? dateTime : null,
    })).filter((unit) => !unit.gap);
  });
}

/** Distance from the end of the playlist at which to play, in seconds, RFC 8216bis §4.4.3.8. */
export function holdBackOf(playlist) {
  if (playlist.partTarget !== null) return playlist.partHoldBack ?? 3 * playlist.partTarget;
  return playlist.holdBack ?? 3 * playlist.targetDuration;
}

/** The first units to load: from the last independent one at least the hold-back before the end. */
export function firstUnits(playlist) {
  const units = unitsOf(playlist);
  const holdBack = holdBackOf(playlist);
  let fromEnd = 0;
  let earliest = 0;
  for (let index = units.length - 1; index >= 0; index -= 1) {
    fromEnd += units[index].duration;
    if (!units[index].independent) continue;
    earliest = index;
    if (fromEnd >= holdBack - 0.001) break;
  }
  return units.slice(earliest);
}

/**
 * The units after the last loaded one.
 *
 * @returns {Array|null} null when the playlist does not continue from `last`: the player has fallen behind the window, or the
 *   stream was replaced.
 */
export function unitsAfter(playlist, last) {
  const end = playlist.mediaSequence + playlist.segments.length;
  if (last.sequence + 1 < playlist.mediaSequence || last.sequence > end) return null;
  const listed = playlist.segments[last.sequence - playlist.mediaSequence];
  if (last.part !== null && listed?.parts.length && listed.parts[last.part]?.url !== last.url) return null;
  return unitsOf(playlist).filter((unit) => {
    if (unit.sequence !== last.sequence) return unit.sequence > last.sequence;
    if (last.part === null) return false;
    // Some parts were loaded and the parts are not listed any more: the segment is loaded again as a whole; repeated
    // frames replace the buffered ones.
    return unit.part === null ? true : unit.part > last.part;
  });
}

/**
 * The URL of the first media playlist request: the response is the current playlist or, for a stream that has just started,
 * the first one with a part. Without the parameters the server may wait for whole segments.
 */
export function firstRequest(url) {
  const first = new URL(url);
  first.searchParams.set("_HLS_msn", "0");
  first.searchParams.set("_HLS_part", "0");
  return first.href;
}

/**
 * The URL of a blocking playlist reload for the next part: `_HLS_msn` and `_HLS_part`, RFC 8216bis §6.2.5.2.
 *
 * @returns {string|null} null without `CAN-BLOCK-RELOAD`.
 */
export function blockingReload(url, playlist) {
  if (!playlist.canBlockReload) return null;
  const next = new URL(url);
  const last = playlist.segments.at(-1);
  const isOpen = last && last.url === null;
  const sequence = last ? last.sequence + (isOpen ? 0 : 1) : playlist.mediaSequence;
  next.searchParams.set("_HLS_msn", String(sequence));
  if (playlist.partTarget !== null) next.searchParams.set("_HLS_part", String(isOpen ? last.parts.length : 0));
  return next.href;
}

/** Whether a unit is the last one of its segment, which is complete. */
export function isSegmentEnd(playlist, unit) {
  const segment = playlist.segments[unit.sequence - playlist.mediaSequence];
  if (!segment || segment.url === null) return false;
  return unit.part === null || unit.part >= segment.parts.length - 1;
}

/** The URL of a playlist request that waits for the first part after a segment. */
export function requestAfter(url, sequence) {
  const next = new URL(url);
  next.searchParams.set("_HLS_msn", String(sequence + 1));
  next.searchParams.set("_HLS_part", "0");
  return next.href;
}
