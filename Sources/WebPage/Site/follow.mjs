// What of a live playlist to load next, and how to ask for the next playlist. Pure.
//
// A unit is what is loaded with one request: a part of a segment, or a segment whose parts are listed no more. Its
// `sequence` is the segment's media sequence number, its `part` counts from 0 and is null for a whole segment.

/** The units of a media playlist, in order, but for those that are marked as gaps. */
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
      // The date of a segment is that of its first part.
      dateTime: index === 0 ? dateTime : null,
    })).filter((unit) => !unit.gap);
  });
}

/** How far from the end of the playlist to play, in seconds, §4.4.3.8 of the second edition. */
export function holdBackOf(playlist) {
  if (playlist.partTarget !== null) return playlist.partHoldBack ?? 3 * playlist.partTarget;
  return playlist.holdBack ?? 3 * playlist.targetDuration;
}

/** The units to begin with: from the last one that can be decoded on its own and lies far enough from the end. */
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
 * The units that come after one that was loaded.
 *
 * @returns {Array|null} null when the playlist no longer holds what follows: the player has fallen too far behind, or
 *   another stream has taken this one's place.
 */
export function unitsAfter(playlist, last) {
  const end = playlist.mediaSequence + playlist.segments.length;
  if (last.sequence + 1 < playlist.mediaSequence || last.sequence > end) return null;
  const held = playlist.segments[last.sequence - playlist.mediaSequence];
  if (last.part !== null && held?.parts.length && held.parts[last.part]?.url !== last.url) return null;
  return unitsOf(playlist).filter((unit) => {
    if (unit.sequence !== last.sequence) return unit.sequence > last.sequence;
    if (last.part === null) return false;
    // Only part of the segment was loaded, and its parts are listed no more: it is loaded again as a whole. When the
    // last part was its last one that costs a request; the pictures replace themselves.
    return unit.part === null ? true : unit.part > last.part;
  });
}

/**
 * The address for the first reading of a media playlist: it answers with the present one, or, where a stream begins just
 * now, as soon as that has its first part. Without it a server may wait for the segments that other players want.
 */
export function firstReading(url) {
  const first = new URL(url);
  first.searchParams.set("_HLS_msn", "0");
  first.searchParams.set("_HLS_part", "0");
  return first.href;
}

/**
 * The address that answers when the playlist has more than now: `_HLS_msn` and `_HLS_part`, §6.2.5.2.
 *
 * @returns {string|null} null when the server does not hold requests.
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
