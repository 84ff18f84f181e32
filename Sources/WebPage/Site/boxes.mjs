// Parser of the ISO/IEC 14496-12 boxes that give the start time of a fragment. Pure.

const CONTAINERS = new Set(["moov", "trak", "mdia", "moof", "traf"]);

/** Calls `visit(type, view)` for each box in order, for a container with the type `moov{`; stops at a truncated box. */
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

/** A big-endian 32-bit number; 0 beyond the end of the box. */
function u32(box, offset) {
  return offset + 4 <= box.byteLength ? box.getUint32(offset) : 0;
}

function u64(box, offset) {
  return u32(box, offset) * 2 ** 32 + u32(box, offset + 4);
}

/** Whether the box has version 1, with 64-bit times. */
function isLong(box) {
  return u32(box, 0) >>> 24 === 1;
}

/** The tracks of an initialization segment: a map from track ID to `{timescale, isVideo}`. */
export function tracksOf(bytes) {
  const tracks = new Map();
  let track = null;
  walk(new DataView(bytes), (type, box) => {
    if (type === "trak{") track = { timescale: 1, isVideo: false };
    if (type === "tkhd" && track) tracks.set(u32(box, isLong(box) ? 20 : 12), track);
    if (type === "mdhd" && track) track.timescale = u32(box, isLong(box) ? 20 : 12) || 1;
    if (type === "hdlr" && track) track.isVideo = u32(box, 8) === 0x76696465; // "vide"
  });
  tracks.delete(0); // Not a valid track ID: the box was truncated.
  return tracks;
}

/** The start of a fragment in seconds of media time: of its video, else of its audio; null when neither is found. */
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
