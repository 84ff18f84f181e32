#!/usr/bin/env python3
"""Checks MP4 files against ISO/IEC 14496-12, and prints one line per violation.

usage: mp4_check.py plain|fragmented FILE...

Independent of the program that wrote the files. In every file it checks that child boxes fill their parents exactly, the order of
boxes, that each mandatory box exists once, versions and flags, and that identifiers, times and lengths agree. In a plain file:
that tables agree with each other, that chunks are within `mdat` and do not overlap, that the index precedes the media, and that
all tracks have the same duration. In a fragmented file: that sequence numbers increase, that samples are in the `mdat` that
follows, and that times continue without gap or overlap; bytes after the last complete fragment are what a crash left, and are
ignored.
"""
import struct
import sys

CONTAINERS = {"moov", "trak", "edts", "mdia", "minf", "dinf", "stbl", "mvex", "moof", "traf", "udta"}
# Boxes that must exist exactly once in each container, §6.2.3 table 1.
MANDATORY = {
    "moov": ["mvhd"], "trak": ["tkhd", "mdia"], "mdia": ["mdhd", "hdlr", "minf"], "minf": ["dinf", "stbl"], "dinf": ["dref"],
    "stbl": ["stsd", "stts", "stsc"], "moof": ["mfhd"], "traf": ["tfhd"],
}
ONCE = {"mvhd", "tkhd", "mdia", "mdhd", "hdlr", "minf", "dinf", "stbl", "stsd", "stts", "stsc", "stsz", "stco", "co64", "stss",
        "ctts", "vmhd", "smhd", "mvex", "mfhd", "tfhd", "tfdt", "edts", "elst", "udta", "dref"}


class Box:
    def __init__(self, kind, start, body, end):
        self.kind, self.start, self.body, self.end = kind, start, body, end
        self.children = []

    def all(self, kind):
        return [child for child in self.children if child.kind == kind]

    def one(self, *path):
        box = self
        for kind in path:
            found = box.all(kind)
            if not found:
                return None
            box = found[0]
        return box


class File:
    def __init__(self, path, fragmented):
        self.data = open(path, "rb").read()
        self.problems = []
        self.fragmented = fragmented
        self.boxes = self.walk(0, len(self.data), None)
        self.check()

    def wrong(self, text):
        self.problems.append(text)

    def number(self, offset, size):
        return int.from_bytes(self.data[offset:offset + size], "big")

    def walk(self, start, end, parent):
        boxes, offset = [], start
        while offset < end:
            if end - offset < 8:
                if parent or not self.fragmented:
                    self.wrong(f"{end - offset} bytes are left over in {parent or 'the file'}")
                break
            size, kind = self.number(offset, 4), self.data[offset + 4:offset + 8].decode("latin-1")
            body = offset + 8
            if size == 1:
                size, body = self.number(offset + 8, 8), offset + 16
            if size < body - offset or offset + size > end:
                if parent or not self.fragmented:
                    self.wrong(f"{kind} at {offset} has {size} bytes, of {end - offset} in {parent or 'the file'}")
                break
            box = Box(kind, offset, body, offset + size)
            if kind in CONTAINERS:
                box.children = self.walk(body, box.end, kind)
                kinds = [child.kind for child in box.children]
                for needed in MANDATORY.get(kind, []):
                    if kinds.count(needed) != 1:
                        self.wrong(f"{kind} at {offset} has {kinds.count(needed)} {needed}")
                for child in set(kinds) & ONCE:
                    if kinds.count(child) > 1:
                        self.wrong(f"{kind} at {offset} has {child} twice")
            boxes.append(box)
            offset += size
        return boxes

    def full(self, box, versions=(0, 1)):
        """Returns version, flags and the offset of the content after them."""
        version, flags = self.data[box.body], self.number(box.body + 1, 3)
        if version not in versions:
            self.wrong(f"{box.kind} has version {version}")
        return version, flags, box.body + 4

    def table(self, box, width):
        """Returns the rows of a counted table of 32-bit numbers; checks that they fill the box."""
        _, _, at = self.full(box)
        count = self.number(at, 4)
        if at + 4 + count * width != box.end:
            self.wrong(f"{box.kind} has {count} entries in {box.end - at - 4} bytes")
            return []
        rows = struct.iter_unpack(f">{width // 4}I", self.data[at + 4:box.end])
        return [row[0] if width == 4 else row for row in rows]

    def check(self):
        kinds = [box.kind for box in self.boxes]
        if kinds[:1] != ["ftyp"]:
            self.wrong(f"it begins with {kinds[:1]}")
        if kinds.count("moov") != 1:
            return self.wrong(f"it has {kinds.count('moov')} moov")
        ftyp = self.boxes[0]
        brands = [self.data[at:at + 4] for at in range(ftyp.body, ftyp.end, 4) if at != ftyp.body + 4]
        if (ftyp.end - ftyp.body) % 4 or not {b"isom", b"iso2", b"iso4", b"iso5", b"iso6", b"mp41", b"mp42"} & set(brands[1:]):
            self.wrong(f"ftyp has the brands {brands}")
        moov = next(box for box in self.boxes if box.kind == "moov")
        if "mdat" in kinds and kinds.index("mdat") < kinds.index("moov"):
            self.wrong("mdat is before moov")
        unknown = set(kinds) - {"ftyp", "moov", "free", "uuid", "mdat", "moof", "styp", "sidx", "mfra"}
        if unknown:
            self.wrong(f"boxes {unknown} at the top")
        version, _, at = self.full(moov.one("mvhd"))
        wide = 8 if version else 4
        self.timescale = self.number(at + 2 * wide, 4)
        self.duration = self.number(at + 2 * wide + 4, wide)
        next_id = self.number(moov.one("mvhd").end - 4, 4)
        if not self.timescale:
            return self.wrong("mvhd has the timescale 0")
        tracks = [self.track(trak) for trak in moov.all("trak")]
        ids = [track["id"] for track in tracks]
        if not tracks or len(set(ids)) != len(ids) or 0 in ids or next_id <= max(ids):
            self.wrong(f"tracks {ids}, next {next_id}")
        if self.fragmented:
            self.check_fragments(moov, tracks)
        else:
            if moov.one("mvex") or "moof" in kinds:
                self.wrong("it has fragments")
            self.check_plain(tracks)

    def track(self, trak):
        version, flags, at = self.full(trak.one("tkhd"))
        wide = 8 if version else 4
        track = {"trak": trak, "id": self.number(at + 2 * wide, 4)}
        shown = self.number(at + 2 * wide + 8, wide)
        if not flags & 1:
            self.wrong(f"track {track['id']} is not enabled")
        version, _, at = self.full(trak.one("mdia", "mdhd"))
        wide = 8 if version else 4
        track["timescale"] = self.number(at + 2 * wide, 4)
        track["duration"] = self.number(at + 2 * wide + 4, wide)
        handler = trak.one("mdia", "hdlr")
        track["kind"] = self.data[handler.body + 8:handler.body + 12].decode("latin-1")
        if self.data[handler.end - 1] != 0:
            self.wrong("the name in hdlr has no end")
        media = trak.one("mdia", "minf")
        header = {"vide": "vmhd", "soun": "smhd"}.get(track["kind"])
        if not header or not media.one(header):
            self.wrong(f"track {track['id']} is {track['kind']} without its media header")
        if track["kind"] == "vide" and self.full(media.one("vmhd"))[1] != 1:
            self.wrong("vmhd has not the flag 1")
        kinds = [box.kind for box in trak.children]
        if kinds.index("tkhd") > kinds.index("mdia"):
            self.wrong("tkhd is behind mdia")
        dref = media.one("dinf", "dref")
        if self.number(dref.body + 4, 4) != 1 or self.full(Box("url ", 0, dref.body + 16, dref.end))[1] != 1:
            self.wrong("the media is not in this file")
        stsd = media.one("stbl", "stsd")
        entries = self.walk(stsd.body + 8, stsd.end, "stsd")
        if len(entries) != self.number(stsd.body + 4, 4) or len(entries) != 1:
            self.wrong(f"stsd has {len(entries)} entries")
        fixed = {"avc1": 78, "mp4a": 28}.get(entries[0].kind)
        if fixed is None:
            self.wrong(f"samples of {entries[0].kind}")
        else:
            inner = [box.kind for box in self.walk(entries[0].body + fixed, entries[0].end, entries[0].kind)]
            if {"avc1": "avcC", "mp4a": "esds"}[entries[0].kind] not in inner:
                self.wrong(f"{entries[0].kind} has {inner}")
        # Only the part selected by the edit list is presented.
        track["edit"] = 0
        edits = trak.one("edts", "elst")
        shown_by_edits = None
        if edits:
            version, _, at = self.full(edits)
            wide = 8 if version else 4
            rows = [(self.number(at + 4 + i * (2 * wide + 4), wide), self.number(at + 4 + i * (2 * wide + 4) + wide, wide),
                     self.number(at + 4 + i * (2 * wide + 4) + 2 * wide, 4)) for i in range(self.number(at, 4))]
            if at + 4 + len(rows) * (2 * wide + 4) != edits.end or any(rate != 0x10000 for _, _, rate in rows):
                self.wrong(f"elst of {rows}")
            empty = (1 << 8 * wide) - 1
            if len([row for row in rows if row[1] != empty]) != 1 or len(rows) > 2:
                self.wrong(f"elst of {rows}")
            track["edit"] = sum(row[0] for row in rows if row[1] == empty) / self.timescale
            shown_by_edits = sum(row[0] for row in rows)
        track["shown"] = shown / self.timescale
        if not self.fragmented:
            media_length = track["duration"] / track["timescale"]
            if shown_by_edits is not None and shown_by_edits != shown:
                self.wrong(f"track {track['id']} is shown for {shown}, its edits are {shown_by_edits} long")
            if abs(track["shown"] - track["edit"] - media_length) > 0.002:
                self.wrong(f"track {track['id']}: tkhd says {track['shown']} s, mdhd {media_length} s")
        return track

    def check_plain(self, tracks):
        mdats = [(box.body, box.end) for box in self.boxes if box.kind == "mdat"]
        taken = []
        for track in tracks:
            stbl = track["trak"].one("mdia", "minf", "stbl")
            name = f"track {track['id']}"
            _, _, at = self.full(stbl.one("stsz"))
            same, count = self.number(at, 4), self.number(at + 4, 4)
            sizes = [same] * count
            if not same:
                if at + 8 + 4 * count != stbl.one("stsz").end:
                    self.wrong(f"{name}: stsz has {count} sizes in {stbl.one('stsz').end - at - 8} bytes")
                    continue
                sizes = list(struct.unpack(f">{count}I", self.data[at + 8:at + 8 + 4 * count]))
            times = self.table(stbl.one("stts"), 8)
            if sum(row[0] for row in times) != count:
                self.wrong(f"{name}: stts is of {sum(row[0] for row in times)} samples, stsz of {count}")
            length = sum(row[0] * row[1] for row in times)
            if length != track["duration"]:
                self.wrong(f"{name}: stts is {length} long, mdhd says {track['duration']}")
            if any(row[1] == 0 or row[0] == 0 for row in times):
                self.wrong(f"{name}: stts has lengths of 0")
            if stbl.one("ctts") and sum(row[0] for row in self.table(stbl.one("ctts"), 8)) != count:
                self.wrong(f"{name}: ctts is not of {count} samples")
            sync = stbl.one("stss")
            if sync:
                numbers = self.table(sync, 4)
                if numbers != sorted(set(numbers)) or numbers[:1] != [1] or numbers[-1] > count:
                    self.wrong(f"{name}: stss begins {numbers[:3]} and ends {numbers[-3:]}")
            elif track["kind"] == "vide":
                self.wrong(f"{name}: every sample is a sync sample")
            if bool(stbl.one("stco")) == bool(stbl.one("co64")):
                self.wrong(f"{name}: stco or co64, not both nor none")
                continue
            if stbl.one("stco"):
                offsets = self.table(stbl.one("stco"), 4)
            else:
                offsets = [high << 32 | low for high, low in self.table(stbl.one("co64"), 8)]
            runs = self.table(stbl.one("stsc"), 12)
            firsts = [row[0] for row in runs]
            if firsts[:1] != [1] or firsts != sorted(set(firsts)) or any(row[1] == 0 or row[2] != 1 for row in runs):
                self.wrong(f"{name}: stsc begins {runs[:3]}")
                continue
            chunks = []
            for index, row in enumerate(runs):
                until = runs[index + 1][0] if index + 1 < len(runs) else len(offsets) + 1
                chunks += [row[1]] * (until - row[0])
            if len(chunks) != len(offsets) or sum(chunks) != count:
                self.wrong(f"{name}: stsc is of {len(chunks)} chunks and {sum(chunks)} samples, not {len(offsets)} and {count}")
                continue
            sample = 0
            for offset, number in zip(offsets, chunks):
                size = sum(sizes[sample:sample + number])
                sample += number
                taken.append((offset, offset + size))
            if track["kind"] == "vide":
                self.check_samples(name, sizes, offsets, chunks, set(self.table(sync, 4)) if sync else None)
        taken.sort()
        for before, after in zip(taken, taken[1:]):
            if before[1] > after[0]:
                self.wrong(f"chunks at {before[0]} and {after[0]} overlap")
        for start, end in taken:
            if not any(first <= start and end <= last for first, last in mdats):
                self.wrong(f"a chunk at {start} is not in mdat")
        if sum(end - start for start, end in taken) != sum(end - start for start, end in mdats):
            self.wrong("mdat holds more than the chunks")
        lengths = [track["shown"] for track in tracks]
        if max(lengths) - min(lengths) > 0.034:
            self.wrong(f"the tracks are {lengths} s long")
        if abs(self.duration / self.timescale - max(lengths)) > 0.002:
            self.wrong(f"mvhd says {self.duration / self.timescale} s, the tracks are {lengths} s long")

    def check_samples(self, name, sizes, offsets, chunks, sync):
        """Checks that NAL units fill each video sample exactly, and that it is a sync sample if and only if one is an IDR slice."""
        sample = 0
        for offset, number in zip(offsets, chunks):
            for _ in range(number):
                self.check_sample(f"{name}: sample {sample + 1}", offset, sizes[sample], sample + 1 in sync if sync else True)
                offset += sizes[sample]
                sample += 1

    def check_sample(self, name, offset, size, is_sync):
        end, kinds = offset + size, []
        while offset + 4 < end:
            length = self.number(offset, 4)
            kinds.append(self.data[offset + 4] & 0x1F)
            offset += 4 + length
        if offset != end:
            self.wrong(f"{name} is not filled by its NAL units")
        elif (5 in kinds) != is_sync:
            self.wrong(f"{name} has NAL units {kinds}, and is {'a' if is_sync else 'no'} sync sample")

    def check_fragments(self, moov, tracks):
        mvex = moov.one("mvex")
        trex = {self.number(box.body + 4, 4): box for box in mvex.all("trex")} if mvex else {}
        if sorted(trex) != sorted(track["id"] for track in tracks):
            self.wrong(f"trex of the tracks {sorted(trex)}")
        known = {track["id"]: track for track in tracks}
        for track in tracks:
            stbl = track["trak"].one("mdia", "minf", "stbl")
            if self.table(stbl.one("stts"), 8) or self.table(stbl.one("stsc"), 12):
                self.wrong(f"track {track['id']} has samples in moov")
            track["next"] = None
        sequence = 0
        for index, moof in enumerate(self.boxes):
            if moof.kind != "moof" or index + 1 == len(self.boxes):
                continue  # The last fragment may lack its mdat.
            mdat = self.boxes[index + 1]
            if mdat.kind != "mdat":
                self.wrong(f"moof at {moof.start} is followed by {mdat.kind}")
                continue
            number = self.number(moof.one("mfhd").body + 4, 4)
            if number <= sequence:
                self.wrong(f"fragment {number} follows {sequence}")
            sequence = number
            filled = []
            for traf in moof.all("traf"):
                filled += self.check_run(moof, mdat, traf, known, trex)
            filled.sort()
            if filled and (filled[0][0] != mdat.body or filled[-1][1] != mdat.end
                           or any(before[1] != after[0] for before, after in zip(filled, filled[1:]))):
                self.wrong(f"mdat at {mdat.start} is not filled by its samples")
        if not sequence:
            self.wrong("it has no whole fragment")
        ends = [track["next"] / track["timescale"] for track in tracks if track["next"] is not None]
        if len(ends) != len(tracks) or max(ends) - min(ends) > 0.05:
            self.wrong(f"the tracks end at {ends} s")

    def check_run(self, moof, mdat, traf, known, trex):
        _, flags, at = self.full(traf.one("tfhd"), (0,))
        identifier = self.number(at, 4)
        if identifier not in known:
            self.wrong(f"a traf of track {identifier}")
            return []
        if not flags & 0x020000:
            self.wrong("offsets do not count from the moof (default-base-is-moof)")
        track, at = known[identifier], at + 4
        duration, size = (self.number(trex[identifier].body + 12, 4), self.number(trex[identifier].body + 16, 4))
        for flag, width in ((1, 8), (2, 4), (8, 4), (0x10, 4), (0x20, 4)):
            if flags & flag:
                if flag == 8:
                    duration = self.number(at, 4)
                if flag == 0x10:
                    size = self.number(at, 4)
                at += width
        version, _, at = self.full(traf.one("tfdt"))
        time = self.number(at, 8 if version else 4)
        if track["next"] is not None and time < track["next"]:
            self.wrong(f"track {identifier} goes on at {time}, before {track['next']}")
        if track["next"] is not None and track["kind"] == "vide" and time != track["next"]:
            self.wrong(f"track {identifier} goes on at {time}, not {track['next']}")
        filled = []
        for run in traf.all("trun"):
            _, flags, at = self.full(run)
            count = self.number(at, 4)
            at += 4
            if not flags & 1:
                self.wrong("a trun without an offset")
                return filled
            offset = moof.start + int.from_bytes(self.data[at:at + 4], "big", signed=True)
            at += 8 if flags & 4 else 4
            begin = offset
            for _ in range(count):
                time += self.number(at, 4) if flags & 0x100 else duration
                at += 4 if flags & 0x100 else 0
                offset += self.number(at, 4) if flags & 0x200 else size
                at += sum(4 for flag in (0x200, 0x400, 0x800) if flags & flag)
            if at != run.end:
                self.wrong(f"trun at {run.start} has {run.end - at} bytes more than its {count} samples")
            if begin < mdat.body or offset > mdat.end:
                self.wrong(f"samples at {begin} to {offset} are not in mdat at {mdat.start}")
            filled.append((begin, offset))
        track["next"] = time
        return filled


if len(sys.argv) < 3 or sys.argv[1] not in ("plain", "fragmented"):
    sys.exit("usage: mp4_check.py plain|fragmented FILE...")
bad = False
for path in sys.argv[2:]:
    try:
        problems = File(path, sys.argv[1] == "fragmented").problems
    except (IndexError, AttributeError, TypeError, KeyError) as error:
        problems = [f"a box is not what it must be: {type(error).__name__}: {error}"]
    for problem in problems:
        print(f"{path}: {problem}")
        bad = True
sys.exit(1 if bad else 0)
