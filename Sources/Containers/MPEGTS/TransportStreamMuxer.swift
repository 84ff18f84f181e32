internal import Bitstreams
public import Media
public import NIOCore

/// Writes H.264, AAC and timed metadata as an MPEG-2 transport stream of one program, ISO/IEC 13818-1, as HLS wants it (RFC 8216
/// §3.2): tables at the start of each segment, timestamps of the one clock throughout.
///
/// | what | how |
/// |------|-----|
/// | an access unit | one PES packet: delimiter, before IDR pictures SPS and PPS, the NAL units behind start codes |
/// | AAC frames     | in ADTS, those of up to 100 ms in one PES packet |
/// | metadata      | an ID3 tag in a PES packet of its own |
/// | the clock      | with each access unit; in packets of its own where those are more than 40 ms apart; without video, with the sound |
///
/// Samples come in decoding order. Sound and picture may be up to 300 ms out of step at once, and up to 800 ms for long:
/// what is later, so that its timestamp would lie before the clock, is left out, pictures up to the next keyframe.
/// Sound waits in the muxer for up to 100 ms, so a segment is ended with ``flush(into:)``.
public struct TransportStreamMuxer: Sendable {
  /// What is muxed: one track of each kind, the first where there are several.
  public private(set) var descriptions: [CodecDescription]
  /// Samples that were left out: of a kind that is not described, broken or empty, not to be told in ADTS, or too late.
  public private(set) var skippedSampleCount = 0
  /// Whether the program has a stream of metadata: from the next segment on, and for good. Players wait for streams that
  /// are told of, so it is told of where there is something to tell.
  public var carriesMetadata = false

  private var programMap: ProgramMap
  private var video: H264Description?
  private var audio: AudioSpecificConfig?
  private var clock = ProgramClock()
  /// Whether a picture was left out on which the next ones depend.
  private var needsKeyframe = false
  private var sound = PendingSound()
  /// The continuity counters of the next packets, which never start anew.
  private var counters = (association: UInt8(0), map: UInt8(0), video: UInt8(0), audio: UInt8(0), metadata: UInt8(0))

  /// A muxer at the start of a stream.
  public init(_ descriptions: [CodecDescription]) {
    self.descriptions = descriptions
    self.programMap = ProgramMap(version: 0, clockPacketIdentifier: PacketIdentifier.null, streams: [])
    self.apply(descriptions)
  }

  /// Writes PAT and PMT, with which each segment starts. Sound that was not flushed comes behind them.
  public mutating func startSegment(into buffer: inout ByteBuffer) {
    if self.carriesMetadata, !self.programMap.hasMetadata {
      self.programMap.streams.append(Self.metadataStream)
      self.raiseVersion()
    }
    Self.write(
      ProgramSection.programAssociation, PacketIdentifier.programAssociation, counter: &self.counters.association,
      into: &buffer)
    Self.write(
      self.programMap.serialize(), PacketIdentifier.programMap, counter: &self.counters.map, into: &buffer)
  }

  /// Writes a sample, or keeps it until more sound is there.
  public mutating func mux(_ sample: EncodedSample, into buffer: inout ByteBuffer) {
    let isMuxed =
      switch sample.kind {
      case .video: self.muxVideo(sample, into: &buffer)
      case .audio: self.muxAudio(sample, into: &buffer)
      }
    if !isMuxed { self.skippedSampleCount += 1 }
  }

  /// Writes samples, and metadata, in order of time, before the sample of its time.
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

  /// Writes metadata, before the picture of its time; nothing where the segment's tables do not tell of it, or no tag can
  /// hold it.
  public mutating func mux(_ metadata: TimedMetadata, into buffer: inout ByteBuffer) {
    guard self.programMap.hasMetadata, let tag = ID3Tag.bytes(metadata) else { return }
    let header = PESHeader.packet(
      of: PESHeader.privateStreamID, presentationTimestamp: ProgramClock.timestamp(metadata.time),
      payloadLength: tag.readableBytes)
    TransportPacketWriter.write(
      PacketIdentifier.metadata, AdaptationField(), counter: &self.counters.metadata,
      length: header.count + tag.readableBytes, into: &buffer
    ) { writer in
      header.withUnsafeBytes { writer.append($0) }
      writer.append(tag)
    }
  }

  /// Writes the sound that waits: at the end of a segment and of the stream.
  public mutating func flush(into buffer: inout ByteBuffer) {
    guard !self.sound.isEmpty else { return }
    var adaptation = AdaptationField()
    if self.programMap.clockPacketIdentifier == PacketIdentifier.audio {
      adaptation = AdaptationField(programClock: self.clock.nextValue(), isRandomAccess: true)
    }
    let header = PESHeader.packet(
      of: PESHeader.audioStreamID, presentationTimestamp: ProgramClock.timestamp(self.sound.start),
      payloadLength: self.sound.length)
    TransportPacketWriter.write(
      PacketIdentifier.audio, adaptation, counter: &self.counters.audio, length: header.count + self.sound.length,
      into: &buffer
    ) { writer in
      header.withUnsafeBytes { writer.append($0) }
      for frame in self.sound.frames {
        writer.append(frame.header)
        writer.append(frame.payload)
      }
    }
    self.sound.removeAll()
  }

  /// Goes on with other codecs or parameters: the next segment's PMT has the next version number. Continuity counters
  /// and clock go on; equal descriptions change nothing.
  public mutating func change(to descriptions: [CodecDescription]) {
    guard descriptions != self.descriptions else { return }
    self.descriptions = descriptions
    self.raiseVersion()
    self.apply(descriptions)
    self.clock.forgetTracks()
    if self.audio == nil { self.sound.removeAll() }
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
    // Before the clock moves on, which may be beyond the sound's time.
    if !self.sound.isEmpty, sample.decodeTime - self.sound.start >= PendingSound.maximumDuration {
      self.flush(into: &buffer)
    }
    self.writeOverdueClock(isCarried: true, into: &buffer)
    let header = PESHeader.video(
      presentationTimestamp: ProgramClock.timestamp(sample.presentationTime),
      decodeTimestamp: ProgramClock.timestamp(sample.decodeTime))
    TransportPacketWriter.write(
      PacketIdentifier.video,
      AdaptationField(programClock: self.clock.nextValue(), isRandomAccess: sample.isKeyframe),
      counter: &self.counters.video, length: header.count + unit.length, into: &buffer
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
    if !self.sound.canTake(sample, header: header) { self.flush(into: &buffer) }
    self.clock.advance(to: sample)
    guard !self.clock.hasPassed(sample) else { return false }
    self.writeOverdueClock(isCarried: false, into: &buffer)
    self.sound.append(sample, header: header)
    if self.sound.end - self.sound.start >= PendingSound.maximumDuration { self.flush(into: &buffer) }
    return true
  }

  /// Moves the clock on with packets of its own, as far as steps would become too large.
  private mutating func writeOverdueClock(isCarried: Bool, into buffer: inout ByteBuffer) {
    let isInVideo = self.programMap.clockPacketIdentifier == PacketIdentifier.video
    while let value = self.clock.overdueValue(isCarried: isCarried) {
      TransportPacketWriter.writeClock(
        value, self.programMap.clockPacketIdentifier,
        counter: isInVideo ? self.counters.video : self.counters.audio, into: &buffer)
    }
  }

  /// A section in a packet of its own, behind a pointer field of 0, with ones to the packet's end, §2.4.4.1.
  private static func write(
    _ section: [UInt8], _ packetIdentifier: UInt16, counter: inout UInt8, into buffer: inout ByteBuffer
  ) {
    var payload = [UInt8](repeating: 0xFF, count: TransportPacketWriter.maximumPayload)
    payload[0] = 0
    payload.replaceSubrange(1..<1 + section.count, with: section)
    TransportPacketWriter.write(
      packetIdentifier, AdaptationField(), counter: &counter, length: payload.count, into: &buffer
    ) { writer in
      payload.withUnsafeBytes { writer.append($0) }
    }
  }
}
