internal import Bitstreams
internal import Media
internal import NIOCore

/// Turns the packets of one track into samples: order, depacketizing, codec configuration, times, statistics.
///
/// Memory is bounded: the packets of ``RTPReorderBuffer``, and one sample.
struct RTPTrackReceiver: Sendable {
  private enum Depacketizer: Sendable {
    case h264(H264Depacketizer)
    case aac(AACDepacketizer)
    case latm(LATMDepacketizer)
  }

  let format: RTPMediaFormat
  /// SSRC of the sender; nil before its first packet.
  private(set) var ssrc: UInt32?
  /// Number of samples that could not be decoded and were dropped.
  private(set) var droppedSampleCount = 0
  /// Nil over TCP, which keeps the order.
  private var reorderBuffer: RTPReorderBuffer?
  private let reorders: Bool
  private var depacketizer: Depacketizer
  private var statistics: RTPReceptionStatistics
  private var unwrapper = RTPTimestampUnwrapper()
  private var video: H264SampleReader
  private var decodeOrder = RTPDecodeOrder()

  /// - Throws: `ParsingError` when the format's parameters cannot be used.
  init(_ format: RTPMediaFormat, reorders: Bool) throws(ParsingError) {
    self.format = format
    self.reorders = reorders
    self.reorderBuffer = reorders ? RTPReorderBuffer() : nil
    self.statistics = RTPReceptionStatistics(clockRate: format.clockRate)
    switch format.kind {
    // The start of decoding is decided by this receiver: there may be no keyframe.
    case .video: self.depacketizer = .h264(H264Depacketizer(dropsUntilKeyframe: false))
    case .audio:
      guard case .aac(let description)? = format.description else { throw ParsingError(.missing, field: "config") }
      if let config = format.muxConfig {
        self.depacketizer = .latm(LATMDepacketizer(config, samplesPerFrame: description.samplesPerFrame))
      } else {
        self.depacketizer = .aac(
          try AACDepacketizer(parameters: format.parameters, samplesPerFrame: description.samplesPerFrame))
      }
    }
    var frameRate = format.frameRate
    if case .h264(let video)? = format.description { frameRate = video.frameRate }
    self.video = H264SampleReader(Self.parameterSets(of: format), frameRate: frameRate)
    self.setDecodeOrder()
  }

  /// All parameter sets of a session description, of which a codec description has one pair.
  private static func parameterSets(of format: RTPMediaFormat) -> H264ParameterSets {
    guard case .h264(let video)? = format.description else { return H264ParameterSets() }
    var record = AVCDecoderConfiguration(video)
    for part in (format.parameters["sprop-parameter-sets"] ?? "").split(separator: ",") {
      guard let set = Base64.decode(part.trimmed), let header = set.first else { continue }
      switch H264NALUnitType(rawValue: header) {
      case .sequenceParameterSet where !record.sequenceParameterSets.contains(set):
        record.sequenceParameterSets.append(set)
      case .pictureParameterSet where !record.pictureParameterSets.contains(set):
        record.pictureParameterSets.append(set)
      default: break
      }
    }
    return H264ParameterSets(record)
  }

  /// The configuration of a session description; nil when it is in the stream only.
  var firstDescription: CodecDescription? { self.format.description }

  /// Depacketizes a packet. Those of other payload types are ignored, those of a new SSRC start the track again.
  ///
  /// - Parameter time: Maps a timestamp, extended to 64 bits, to the sender's clock.
  /// - Throws: `ParsingError` of a malformed packet; those that waited for it are dropped.
  mutating func handle(
    _ packet: RTPPacket, at now: MediaTime, time: (_ ticks: Int64) -> MediaTime
  ) throws(ParsingError) -> [ReceivedMedia] {
    guard packet.header.payloadType == self.format.payloadType else { return [] }
    if packet.header.ssrc != self.ssrc {
      if self.ssrc != nil, let fresh = try? RTPTrackReceiver(self.format, reorders: self.reorders) {
        let (video, dropped) = (self.video, self.droppedSampleCount)
        self = fresh
        (self.video, self.droppedSampleCount) = (video, dropped)
        self.video.awaitStart()
        self.setDecodeOrder()
      }
      self.ssrc = packet.header.ssrc
    }
    self.statistics.handle(packet.header, arrival: now)
    var outputs: [ReceivedMedia] = []
    var failure: ParsingError?
    for packet in self.reorderBuffer?.insert(packet, at: now) ?? [packet] {
      do throws(ParsingError) {
        try self.depacketize(packet, to: &outputs, time: time)
      } catch {
        failure = error
      }
    }
    if let failure, outputs.isEmpty { throw failure }
    return outputs
  }

  private mutating func depacketize(
    _ packet: RTPPacket, to outputs: inout [ReceivedMedia], time: (Int64) -> MediaTime
  ) throws(ParsingError) {
    switch self.depacketizer {
    case .h264(var depacketizer):
      // The only reference, so that appending to an access unit copies nothing.
      self.depacketizer = .h264(H264Depacketizer())
      defer { self.depacketizer = .h264(depacketizer) }
      for unit in try depacketizer.depacketize(packet) { self.append(unit, to: &outputs, time: time) }
      if self.video.isAtKeyframe { depacketizer.dropsUntilKeyframe = true }
    case .aac(var depacketizer):
      defer { self.depacketizer = .aac(depacketizer) }
      for frame in try depacketizer.depacketize(packet) { self.append(frame, to: &outputs, time: time) }
    case .latm(var depacketizer):
      defer { self.depacketizer = .latm(depacketizer) }
      for frame in try depacketizer.depacketize(packet) { self.append(frame, to: &outputs, time: time) }
    }
  }

  private mutating func append(
    _ frame: AACDepacketizer.Output, to outputs: inout [ReceivedMedia], time: (Int64) -> MediaTime
  ) {
    guard case .aac(let description)? = self.format.description else { return }
    outputs.append(
      .sample(
        EncodedSample(
          kind: .audio, payload: frame.payload, presentationTime: time(self.unwrapper.unwrap(frame.timestamp)),
          duration: .ticks(Int64(description.samplesPerFrame), timescale: self.format.clockRate), isKeyframe: true)))
  }

  private mutating func append(
    _ unit: H264Depacketizer.Output, to outputs: inout [ReceivedMedia], time: (Int64) -> MediaTime
  ) {
    if let changed = self.video.adopt(unit.accessUnit) {
      self.setDecodeOrder()
      outputs.append(.description(.h264(changed)))
    }
    let ticks = self.unwrapper.unwrap(unit.timestamp)
    let presentation = time(ticks)
    let content = unit.isComplete ? self.video.read(unit.accessUnit, isMarked: false, at: presentation) : .empty
    guard case .frame(let payload, let isStart) = content else {
      self.droppedSampleCount += 1
      if case .early(let missing?) = content { outputs.append(.missingKeyframe(dropped: missing)) }
      return
    }
    let decode = self.decodeOrder.decodeTime(ofPresentation: ticks, frameDuration: self.frameTicks)
    outputs.append(
      .sample(
        EncodedSample(
          kind: .video, payload: payload, presentationTime: presentation,
          decodeTime: presentation
            + .ticks(decode.subtractingReportingOverflow(ticks).partialValue, timescale: self.format.clockRate),
          duration: .zero, isKeyframe: isStart)))
  }

  /// Begins to derive decode times, by the number of frames that may precede one in the parameter sets.
  private mutating func setDecodeOrder() {
    guard let video = self.video.description,
      let parameters = try? H264SequenceParameterSet(parsing: video.sequenceParameterSet)
    else { return }
    self.decodeOrder = RTPDecodeOrder(depth: Int(parameters.vui?.reorderFrames ?? 0))
  }

  /// Nominal duration of a frame, in ticks.
  private var frameTicks: Int64 {
    guard let video = self.video.description else { return 0 }
    return video.frameRate.frameInterval.ticks(timescale: self.format.clockRate)
  }

  /// Records a sender report for the report blocks.
  ///
  /// - Returns: Its RTP timestamp, extended to 64 bits; nil for another sender's.
  mutating func handle(_ report: RTCPSenderReport, at now: MediaTime) -> Int64? {
    if let ssrc, ssrc != report.ssrc { return nil }
    self.statistics.handle(report, arrival: now)
    return self.unwrapper.unwrap(report.rtpTimestamp)
  }

  /// The report block on the sender; nil before its first packet.
  mutating func makeReportBlock(now: MediaTime) -> RTCPReportBlock? {
    self.ssrc.map { self.statistics.makeReportBlock(ssrc: $0, now: now) }
  }
}
