internal import Bitstreams
internal import Containers
internal import Media
internal import NIOCore
internal import TransportStreams

/// Checks of containers: the readers with any bytes, and the muxers with samples of any size and time, whose output
/// the readers must parse without damage.
struct ContainerFuzzCase {
  private let input: ByteBuffer
  private static let descriptions: [CodecDescription] = [
    .h264(
      H264Description(
        sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68, 2], width: 2, height: 2,
        frameRate: FrameRate(25))),
    .aac(
      AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))),
  ]

  init(_ input: ByteBuffer) {
    self.input = input
  }

  /// Parses bytes as a transport stream, whole and in pieces.
  func checkTransportStream() {
    let limit = 2048
    var whole = TransportStreamDemuxer(maximumPacketLength: limit)
    let events = whole.demux(self.input) + whole.finish()
    var pieces = TransportStreamDemuxer(maximumPacketLength: limit)
    var rest = self.input
    var found: [TransportStreamDemuxer.Event] = []
    while let piece = rest.readSlice(length: min(61, max(1, rest.readableBytes))) { found += pieces.demux(piece) }
    found += pieces.finish()
    precondition(found == events, "pieces do not matter")
    for event in events {
      if case .packet(let packet, _, _) = event { precondition(packet.payload.readableBytes <= limit) }
      if case .clock(let clock) = event { precondition(clock < (1 << 33) * 300 + 212) }
    }
    self.checkTransportStreamMuxer()
  }

  /// Parses bytes as boxes, to a depth that files do not reach.
  func checkBoxes() {
    Self.walk(self.input, depth: 0)
    self.checkFragments()
  }

  private static func walk(_ bytes: ByteBuffer, depth: Int) {
    guard depth < 8, let boxes = try? MP4Box.boxes(in: bytes) else { return }
    let length = boxes.reduce(0) { $0 + $1.content.readableBytes }
    precondition(length + 8 * boxes.count <= bytes.readableBytes, "boxes lie behind one another")
    for box in boxes {
      _ = try? TrackExtends(parsing: box)
      let extends = [
        TrackExtends(trackID: 1, defaultDuration: 3000, defaultFlags: .nonSync),
        TrackExtends(trackID: 2, defaultDuration: 1024, defaultFlags: .sync),
      ]
      if let fragment = try? MovieFragment(parsing: box, extends: extends) {
        for track in fragment.tracks { Self.checkRoundTrip(of: track, extends) }
      }
      Self.walk(box.content, depth: depth + 1)
    }
  }

  private static func checkRoundTrip(of track: TrackFragment, _ extends: [TrackExtends]) {
    guard let defaults = extends.first(where: { $0.trackID == track.trackID }) else {
      preconditionFailure("defaults are needed")
    }
    var bytes = ByteBuffer()
    track.serialize(into: &bytes, defaults: defaults)
    guard
      let box = try? MP4Box.boxes(in: bytes).first,
      let again = try? TrackFragment(parsing: box, extends: extends)
    else { preconditionFailure("what is written parses") }
    precondition(again == track, "what is written parses the same")
  }

  /// Samples: kind and keyframe flag, a time step, a size.
  private func samples() -> [EncodedSample] {
    var rest = self.input
    var time = MediaTime.zero + .seconds(1)
    var samples: [EncodedSample] = []
    while samples.count < 16, let (kind, step, size) = rest.readMultipleIntegers(as: (UInt8, Int16, UInt16).self) {
      time += .microseconds(Int64(step) * 20)
      let isVideo = kind & 1 == 0
      // Up to four transport packets.
      let length = 1 + Int(size) % 700
      var payload = ByteBuffer()
      if isVideo { payload.writeInteger(UInt32(length)) }
      payload.writeRepeatingByte(0x41, count: length)
      samples.append(
        EncodedSample(
          kind: isVideo ? .video : .audio, payload: payload,
          presentationTime: time + .milliseconds(kind & 4 == 0 ? 0 : 40), decodeTime: isVideo ? time : nil,
          duration: .milliseconds(21), isKeyframe: kind & 2 == 0))
    }
    return samples
  }

  private func checkTransportStreamMuxer() {
    var muxer = TransportStreamMuxer(Self.descriptions)
    var bytes = ByteBuffer()
    muxer.startSegment(into: &bytes)
    var muxed: [EncodedSample] = []
    for sample in self.samples() {
      let skipped = muxer.skippedSampleCount
      muxer.mux(sample, into: &bytes)
      if muxer.skippedSampleCount == skipped { muxed.append(sample) }
    }
    muxer.flush(into: &bytes)
    var demuxer = TransportStreamDemuxer()
    let events = demuxer.demux(bytes) + demuxer.finish()
    precondition(demuxer.damageCount == 0 && demuxer.discontinuityCount == 0, "what is written is whole")
    var accessUnits: [ByteBuffer] = []
    var audioByteCount = 0
    var clock = UInt64(0)
    for event in events {
      switch event {
      case .clock(let value):
        precondition(value > clock)
        clock = value
      case .packet(let packet, _, _) where packet.streamID == 0xE0:
        accessUnits.append(H264AccessUnit(parsingAnnexB: packet.payload).payload)
      case .packet(let packet, _, _): audioByteCount += packet.payload.readableBytes
      case .programMap: break
      }
    }
    precondition(accessUnits == muxed.filter { $0.kind == .video }.map(\.payload), "video survives the round trip")
    let audioSamples = muxed.filter { $0.kind == .audio }
    precondition(
      audioByteCount == audioSamples.reduce(0) { $0 + 7 + $1.payload.readableBytes }, "audio survives the round trip")
    Self.checkTimes(bytes)
  }

  /// Checks that no timestamp precedes the clock, and that a PES packet's first transport packet holds its header.
  private static func checkTimes(_ bytes: ByteBuffer) {
    var rest = bytes
    var clock = UInt64(0)
    while let next = rest.readSlice(length: TransportPacket.length) {
      guard let packet = try? TransportPacket(parsing: next) else { preconditionFailure("what is written parses") }
      clock = packet.programClock ?? clock
      var start = packet.payload
      guard packet.startsUnit, start.getInteger(at: start.readerIndex, as: UInt16.self) == 0 else { continue }
      start.setInteger(UInt16(0), at: start.readerIndex + 4)
      guard let header = try? PESPacket(parsing: start), let time = header.presentationTimestamp else { continue }
      precondition((header.decodeTimestamp ?? time) * 300 >= clock, "a timestamp is not before the clock")
    }
  }

  private func checkFragments() {
    let samples = self.samples()
    var muxer = FragmentedMP4Muxer(Self.descriptions)
    let extends = [
      TrackExtends(trackID: 1, defaultDuration: 3600, defaultFlags: .nonSync),
      TrackExtends(trackID: 2, defaultDuration: 1024, defaultFlags: .sync),
    ]
    // Earliest start of the next fragment: after the existing audio; a video frame may shorten the one before it.
    var earliest: [UInt32: UInt64] = [:]
    var count = 0
    for start in stride(from: 0, to: samples.count, by: 5) {
      let bytes = muxer.fragment(Array(samples[start..<min(start + 5, samples.count)]))
      guard bytes.readableBytes > 0 else { continue }
      guard
        let moof = try? MP4Box.boxes(in: bytes).first,
        let fragment = try? MovieFragment(parsing: moof, extends: extends)
      else { preconditionFailure("what is written parses") }
      for track in fragment.tracks {
        precondition(track.baseDecodeTime >= earliest[track.trackID] ?? 0, "time goes on")
        let whole = track.trackID == 1 ? track.samples.dropLast() : track.samples[...]
        let end = whole.reduce(track.baseDecodeTime) { $0 + UInt64($1.duration) }
        earliest[track.trackID] = track.trackID == 1 ? end + 1 : end
        count += track.samples.count
      }
    }
    precondition(count + muxer.skippedSampleCount == samples.count, "each sample is written or counted")
  }
}
