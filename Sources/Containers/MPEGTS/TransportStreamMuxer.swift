internal import Bitstreams
public import Media
public import NIOCore

/// Muxes H.264, AAC and timed metadata into an MPEG-2 transport stream of one program, ISO/IEC 13818-1, for HLS (RFC 8216
/// §3.2): tables at the start of each segment, one continuous clock.
///
/// | input | output |
/// |-------|--------|
/// | access unit | one PES packet: delimiter, SPS and PPS for a keyframe, NAL units with start codes |
/// | AAC frames  | ADTS, up to 100 ms in one PES packet |
/// | metadata    | one ID3 tag in one PES packet |
/// | clock       | in each access unit; in separate packets where those are over 40 ms apart; in audio without video |
///
/// Samples are passed in decoding order per track. Audio and video may be 300 ms apart suddenly and 800 ms permanently; a
/// later sample, whose timestamp the clock has passed, is skipped, video up to the next keyframe. Up to 100 ms of audio is
/// buffered, so a segment is ended with ``flush(into:)``.
public struct TransportStreamMuxer: Sendable {
  /// Codec configurations; the first of each kind is muxed.
  public private(set) var descriptions: [CodecDescription]
  /// Number of skipped samples: of a kind without description, malformed, empty, not representable in ADTS, or too late.
  public private(set) var skippedSampleCount = 0
  /// Whether the program map announces a metadata stream, from the next segment on; resetting it has no effect.
  ///
  /// Players wait for announced streams, so a stream without metadata does not announce one.
  public var carriesMetadata = false

  private var programMap: ProgramMap
  private var video: H264Description?
  private var audio: AudioSpecificConfig?
  private var clock = ProgramClock()
  /// Whether video is skipped until a keyframe, because a reference frame was skipped.
  private var needsKeyframe = false
  private var pendingAudio = PendingAudio()
  /// Continuity counters of the next packets, never reset.
  private var counters = (association: UInt8(0), map: UInt8(0), video: UInt8(0), audio: UInt8(0), metadata: UInt8(0))

  /// Packet identifiers whose next packet says that it does not continue the one before.
  private var discontinuous: Set<UInt16> = []

  /// Creates a muxer at the start of a stream.
  ///
  /// - Parameter isContinuation: Whether players may have read segments of another muxer before, as after a restart: the first packets say
  ///   that counters and clock do not continue, §2.4.3.5.
  public init(_ descriptions: [CodecDescription], isContinuation: Bool = false) {
    self.descriptions = descriptions
    self.programMap = ProgramMap(version: 0, clockPacketIdentifier: PacketIdentifier.null, streams: [])
    self.apply(descriptions)
    if isContinuation {
      self.discontinuous = [PacketIdentifier.programAssociation, PacketIdentifier.programMap]
      self.discontinuous.formUnion(self.programMap.streams.map(\.packetIdentifier))
    }
  }

  /// Writes PAT and PMT, the start of each segment. Audio that is not flushed follows them.
  public mutating func startSegment(into buffer: inout ByteBuffer) {
    if self.carriesMetadata, !self.programMap.hasMetadata {
      self.programMap.streams.append(Self.metadataStream)
      self.raiseVersion()
    }
    let association = self.adaptation(AdaptationField(), of: PacketIdentifier.programAssociation)
    Self.write(
      ProgramSection.programAssociation, PacketIdentifier.programAssociation, association,
      counter: &self.counters.association, into: &buffer)
    let map = self.adaptation(AdaptationField(), of: PacketIdentifier.programMap)
    Self.write(
      self.programMap.serialize(), PacketIdentifier.programMap, map, counter: &self.counters.map, into: &buffer)
  }

  /// Writes a sample, or buffers it if it is audio.
  public mutating func mux(_ sample: EncodedSample, into buffer: inout ByteBuffer) {
    let isMuxed =
      switch sample.kind {
      case .video: self.muxVideo(sample, into: &buffer)
      case .audio: self.muxAudio(sample, into: &buffer)
      }
    if !isMuxed { self.skippedSampleCount += 1 }
  }

  /// Writes samples and metadata, both in order of time; metadata precedes the sample of its time.
  public mutating func mux(_ samples: [EncodedSample], metadata: [TimedMetadata], into buffer: inout ByteBuffer) {
    var rest = metadata[...]
    for sample in samples {
      while let next = rest.first, next.time <= sample.presentationTime {
        self.mux(next, into: &buffer)
        rest.removeFirst()
      }
      self.mux(sample, into: &buffer)
    }
    for next in rest { self.mux(next, into: &buffer) }
  }

  /// Writes metadata, before the frame of its time; nothing when the program map of the segment announces no metadata or
  /// the tag would be too long.
  public mutating func mux(_ metadata: TimedMetadata, into buffer: inout ByteBuffer) {
    guard self.programMap.hasMetadata, let tag = ID3Tag.bytes(metadata) else { return }
    let header = PESHeader.packet(
      of: PESHeader.privateStreamID, presentationTimestamp: ProgramClock.timestamp(metadata.time),
      payloadLength: tag.readableBytes)
    let adaptation = self.adaptation(AdaptationField(), of: PacketIdentifier.metadata)
    TransportPacketWriter.write(
      PacketIdentifier.metadata, adaptation, counter: &self.counters.metadata,
      length: header.count + tag.readableBytes, into: &buffer
    ) { writer in
      header.withUnsafeBytes { writer.append($0) }
      writer.append(tag)
    }
  }

  /// Writes buffered audio, at the end of a segment or stream.
  public mutating func flush(into buffer: inout ByteBuffer) {
    guard !self.pendingAudio.isEmpty else { return }
    var adaptation = AdaptationField()
    if self.programMap.clockPacketIdentifier == PacketIdentifier.audio {
      adaptation = AdaptationField(programClock: self.clock.nextValue(), isRandomAccess: true)
    }
    let header = PESHeader.packet(
      of: PESHeader.audioStreamID, presentationTimestamp: ProgramClock.timestamp(self.pendingAudio.start),
      payloadLength: self.pendingAudio.length)
    adaptation = self.adaptation(adaptation, of: PacketIdentifier.audio)
    TransportPacketWriter.write(
      PacketIdentifier.audio, adaptation, counter: &self.counters.audio,
      length: header.count + self.pendingAudio.length,
      into: &buffer
    ) { writer in
      header.withUnsafeBytes { writer.append($0) }
      for frame in self.pendingAudio.frames {
        writer.append(frame.header)
        writer.append(frame.payload)
      }
    }
    self.pendingAudio.removeAll()
  }

  /// Continues with other codecs or parameters: the next program map has the next version number. Continuity counters and
  /// clock continue; equal descriptions change nothing.
  public mutating func change(to descriptions: [CodecDescription]) {
    guard descriptions != self.descriptions else { return }
    self.descriptions = descriptions
    self.raiseVersion()
    self.apply(descriptions)
    self.clock.forgetTracks()
    if self.audio == nil { self.pendingAudio.removeAll() }
  }

  private mutating func apply(_ descriptions: [CodecDescription]) {
    self.video = nil
    self.audio = nil
    for description in descriptions {
      switch description {
      case .h264(let h264): self.video = self.video ?? h264
      case .aac(let aac): self.audio = self.audio ?? (try? AudioSpecificConfig(parsing: aac.audioSpecificConfig))
      }
    }
    var streams: [ProgramMap.Stream] = []
    if self.video != nil { streams.append(.init(type: .h264, packetIdentifier: PacketIdentifier.video)) }
    if self.audio != nil { streams.append(.init(type: .adtsAAC, packetIdentifier: PacketIdentifier.audio)) }
    self.programMap.clockPacketIdentifier = streams.first?.packetIdentifier ?? PacketIdentifier.null
    if self.programMap.hasMetadata { streams.append(Self.metadataStream) }
    self.programMap.streams = streams
  }

  private static let metadataStream = ProgramMap.Stream(
    type: .metadata, packetIdentifier: PacketIdentifier.metadata)

  private mutating func raiseVersion() {
    self.programMap.version = (self.programMap.version + 1) & 0b1_1111
  }

  private mutating func muxVideo(_ sample: EncodedSample, into buffer: inout ByteBuffer) -> Bool {
    guard
      let description = self.video,
      let unit = H264ByteStreamUnit(sample, description: description)
    else { return false }
    self.clock.advance(to: sample)
    self.needsKeyframe = self.clock.hasPassed(sample) || (self.needsKeyframe && !sample.isKeyframe)
    guard !self.needsKeyframe else { return false }
    // Flushed before the clock advances, possibly beyond the time of the audio.
    if !self.pendingAudio.isEmpty, sample.decodeTime - self.pendingAudio.start >= PendingAudio.maximumDuration {
      self.flush(into: &buffer)
    }
    self.writeOverdueClock(isCarried: true, into: &buffer)
    let header = PESHeader.video(
      presentationTimestamp: ProgramClock.timestamp(sample.presentationTime),
      decodeTimestamp: ProgramClock.timestamp(sample.decodeTime))
    let adaptation = self.adaptation(
      AdaptationField(programClock: self.clock.nextValue(), isRandomAccess: sample.isKeyframe),
      of: PacketIdentifier.video)
    TransportPacketWriter.write(
      PacketIdentifier.video, adaptation, counter: &self.counters.video, length: header.count + unit.length,
      into: &buffer
    ) { writer in
      header.withUnsafeBytes { writer.append($0) }
      unit.write(to: &writer)
    }
    return true
  }

  private mutating func muxAudio(_ sample: EncodedSample, into buffer: inout ByteBuffer) -> Bool {
    guard
      let config = self.audio, sample.payload.readableBytes > 0,
      let header = ADTSHeader(config, payloadLength: sample.payload.readableBytes)
    else { return false }
    if !self.pendingAudio.canAppend(sample, header: header) { self.flush(into: &buffer) }
    self.clock.advance(to: sample)
    guard !self.clock.hasPassed(sample) else { return false }
    self.writeOverdueClock(isCarried: false, into: &buffer)
    self.pendingAudio.append(sample, header: header)
    if self.pendingAudio.end - self.pendingAudio.start >= PendingAudio.maximumDuration { self.flush(into: &buffer) }
    return true
  }

  /// Writes clock packets while the step to the sample exceeds the maximum.
  private mutating func writeOverdueClock(isCarried: Bool, into buffer: inout ByteBuffer) {
    let isInVideo = self.programMap.clockPacketIdentifier == PacketIdentifier.video
    while let value = self.clock.overdueValue(isCarried: isCarried) {
      var adaptation = AdaptationField(programClock: value)
      adaptation.isDiscontinuous = self.discontinuous.contains(self.programMap.clockPacketIdentifier)
      TransportPacketWriter.writeClock(
        adaptation, self.programMap.clockPacketIdentifier,
        counter: isInVideo ? self.counters.video : self.counters.audio, into: &buffer)
    }
  }

  /// The adaptation field of the next packet with payload.
  private mutating func adaptation(_ field: AdaptationField, of packetIdentifier: UInt16) -> AdaptationField {
    guard !self.discontinuous.isEmpty, self.discontinuous.remove(packetIdentifier) != nil else { return field }
    var field = field
    field.isDiscontinuous = true
    return field
  }

  /// Writes a section in one packet: pointer_field 0, the section, stuffing bytes 0xFF, §2.4.4.1.
  private static func write(
    _ section: [UInt8], _ packetIdentifier: UInt16, _ adaptation: AdaptationField, counter: inout UInt8,
    into buffer: inout ByteBuffer
  ) {
    var payload = [UInt8](repeating: 0xFF, count: TransportPacketWriter.maximumPayload - adaptation.length)
    payload[0] = 0
    payload.replaceSubrange(1..<1 + section.count, with: section)
    TransportPacketWriter.write(
      packetIdentifier, adaptation, counter: &counter, length: payload.count, into: &buffer
    ) { writer in
      payload.withUnsafeBytes { writer.append($0) }
    }
  }
}
