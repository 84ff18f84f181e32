internal import Media
internal import NIOCore

/// Initialization segment of a fragmented file, ISO/IEC 14496-12 §8: track descriptions without samples.
///
/// ```
/// ftyp
/// moov ─┬─ mvhd
///       ├─ trak ─┬─ tkhd
///       │        └─ mdia ─┬─ mdhd
///       │                 ├─ hdlr
///       │                 └─ minf ─┬─ vmhd or smhd
///       │                          ├─ dinf ── dref ── url
///       │                          └─ stbl ── stsd, and stts, stsc, stsz, stco without entries
///       ├─ mvex ── trex for each track
///       └─ udta, if there is a title or encoder
/// ```
struct InitializationSegment {
  var tracks: [MP4Track]
  var metadata: MovieMetadata
  /// Whether fragments may contain event messages.
  var hasEvents = false

  /// Ticks per second of the movie header; its duration is 0, unknown.
  private static let movieTimescale: UInt32 = 1000

  func serialize() -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: 2048)
    self.writeFileType(to: &buffer)
    buffer.writeBox("moov") {
      self.writeMovieHeader(to: &$0)
      for track in self.tracks { self.write(track, to: &$0) }
      $0.writeBox("mvex") {
        for track in self.tracks { track.defaults.serialize(into: &$0) }
      }
      self.metadata.writeUserData(to: &$0)
    }
    return buffer
  }

  /// `iso6` implies default-base-is-moof, signed composition offsets and `tfdt`; `cmfc` (CMAF) allows one track per file.
  private func writeFileType(to buffer: inout ByteBuffer) {
    var others: [FourCharacterCode] = ["iso6", "mp41"]
    if self.tracks.count == 1 { others.append("cmfc") }
    if self.hasEvents { others.append(EventMessage.brand) }
    buffer.writeBox("ftyp") {
      $0.writeInteger(FourCharacterCode("iso6").rawValue)  // major_brand
      $0.writeInteger(UInt32(0))  // minor_version
      for brand in others { $0.writeInteger(brand.rawValue) }
    }
  }

  /// §8.2.2.
  private func writeMovieHeader(to buffer: inout ByteBuffer) {
    buffer.writeFullBox("mvhd") {
      self.writeTimes(to: &$0)
      $0.writeInteger(Self.movieTimescale)
      $0.writeInteger(UInt32(0))  // duration
      $0.writeInteger(UInt32(0x1_0000))  // rate 1.0
      $0.writeInteger(UInt16(0x100))  // volume 1.0
      $0.writeZeros(10)
      $0.writeUnityMatrix()
      $0.writeZeros(24)
      $0.writeInteger(UInt32(self.tracks.count + 1))  // next_track_ID
    }
  }

  private func writeTimes(to buffer: inout ByteBuffer) {
    buffer.writeInteger(self.metadata.creationTime)
    buffer.writeInteger(self.metadata.creationTime)  // modification_time
  }

  private func write(_ track: MP4Track, to buffer: inout ByteBuffer) {
    buffer.writeBox("trak") {
      self.writeTrackHeader(track, to: &$0)
      $0.writeBox("mdia") {
        self.writeMediaHeader(track, to: &$0)
        $0.writeBox("minf") {
          switch track.description.kind {
          case .video: $0.writeFullBox("vmhd", flags: 1) { $0.writeZeros(8) }  // graphicsmode, opcolor
          case .audio: $0.writeFullBox("smhd") { $0.writeZeros(4) }  // balance
          }
          $0.writeBox("dinf") {
            $0.writeFullBox("dref") {
              $0.writeInteger(UInt32(1))
              $0.writeFullBox("url ", flags: 1) { _ in }  // the media data is in this file
            }
          }
          $0.writeBox("stbl") {
            $0.writeFullBox("stsd") {
              $0.writeInteger(UInt32(1))
              SampleEntry(track.description).serialize(into: &$0)
            }
            $0.writeFullBox("stts") { $0.writeZeros(4) }
            $0.writeFullBox("stsc") { $0.writeZeros(4) }
            $0.writeFullBox("stsz") { $0.writeZeros(8) }
            $0.writeFullBox("stco") { $0.writeZeros(4) }
          }
        }
      }
    }
  }

  /// §8.3.2. Flags: enabled, in movie; display size as 16.16 fixed point.
  private func writeTrackHeader(_ track: MP4Track, to buffer: inout ByteBuffer) {
    buffer.writeFullBox("tkhd", flags: 0x3) {
      self.writeTimes(to: &$0)
      $0.writeInteger(track.trackID)
      $0.writeZeros(4 + 4 + 8 + 4)  // reserved, duration, reserved, layer and alternate_group
      $0.writeInteger(UInt16(track.description.kind == .audio ? 0x100 : 0))  // volume
      $0.writeZeros(2)
      let size = SampleEntry(track.description).displaySize
      if track.description.kind == .video {
        self.metadata.writeMatrix(forSize: size, to: &$0)
      } else {
        $0.writeUnityMatrix()
      }
      $0.writeInteger(UInt32(UInt16(clamping: size.width)) << 16)
      $0.writeInteger(UInt32(UInt16(clamping: size.height)) << 16)
    }
  }

  /// §8.4.2 and §8.4.3.
  private func writeMediaHeader(_ track: MP4Track, to buffer: inout ByteBuffer) {
    buffer.writeFullBox("mdhd") {
      self.writeTimes(to: &$0)
      $0.writeInteger(track.timescale)
      $0.writeInteger(UInt32(0))  // duration
      $0.writeInteger(UInt16(0x55C4))  // language: "und"
      $0.writeZeros(2)
    }
    buffer.writeFullBox("hdlr") {
      $0.writeZeros(4)
      let isVideo = track.description.kind == .video
      $0.writeInteger((isVideo ? "vide" as FourCharacterCode : "soun").rawValue)
      $0.writeZeros(12)
      $0.writeNullTerminatedString(isVideo ? "Video" : "Sound")
    }
  }
}
