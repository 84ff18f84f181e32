// The little of ISO/IEC 14496-12 that tells when a fragment begins. Pure.

const CONTAINERS = new Set(["moov", "trak", "mdia", "moof", "traf"]);

/** Calls `visit(type, view)` for each box that is no container, in order; what is cut off is passed over. */
function walk(view, visit) {
  let offset = 0;
  while (offset + 8 <= view.byteLength) {
    let size = view.getUint32(offset);
    let header = 8;
    const type = String.fromCharCode(...[4, 5, 6, 7].map((index) => view.getUint8(offset + index)));
    if (size === 1 && offset + 16 <= view.byteLength) {
      size = Number(view.getBigUint64(offset + 8));
      header = 16;
    } else if (size === 0) {
      size = view.byteLength - offset;
    }
    if (size < header || offset + size > view.byteLength) return;
    const content = new DataView(view.buffer, view.byteOffset + offset + header, size - header);
    if (CONTAINERS.has(type)) {
      visit(`${type}{`, content);
      walk(content, visit);
    } else {
      visit(type, content);
    }
    offset += size;
  }
}

/** A number in a box; 0 where the box ends before. */
function u32(box, offset) {
  return offset + 4 <= box.byteLength ? box.getUint32(offset) : 0;
}

function u64(box, offset) {
  return u32(box, offset) * 2 ** 32 + u32(box, offset + 4);
}

/** Whether a box has the version of long times. */
function isLong(box) {
  return u32(box, 0) >>> 24 === 1;
}

/** The tracks of an initialization segment: identifier to `{timescale, isVideo}`. */
export function tracksOf(bytes) {
  const tracks = new Map();
  let track = null;
  walk(new DataView(bytes), (type, box) => {
    if (type === "trak{") track = { timescale: 1, isVideo: false };
    if (type === "tkhd" && track) tracks.set(u32(box, isLong(box) ? 20 : 12), track);
    if (type === "mdhd" && track) track.timescale = u32(box, isLong(box) ? 20 : 12) || 1;
    if (type === "hdlr" && track) track.isVideo = u32(box, 8) === 0x76696465; // "vide"
  });
  tracks.delete(0); // No track has this: its box was cut off.
  return tracks;
}

/** The media time at which a fragment begins, in seconds: its picture's, or its sound's; null when it does not tell. */
export function startOf(bytes, tracks) {
  let track = null;
  let found = null;
  walk(new DataView(bytes), (type, box) => {
    if (type === "tfhd") track = tracks.get(u32(box, 4)) ?? null;
    if (type !== "tfdt" || !track || (found && !track.isVideo)) return;
    if (!found?.isVideo) found = { time: isLong(box) ? u64(box, 4) : u32(box, 4), ...track };
  });
  return found && found.time / found.timescale;
}
