import Bitstreams
import Media
import RTP

/// Measures a track while it is received. Pure: times are arguments.
struct TrackMeter: Sendable {
  /// Number of packets from which on their jitter means something: each counts by a sixteenth.
  private static let minimumJitterCount = 64

  private var observation: TrackObservation
  private let start: MediaTime
  private var timeline = TimelineMeter()
  private var maximumPresentation: MediaTime?
  private var statistics: RTPReceptionStatistics?
  /// Statistics without the start, at which servers send earlier frames at once.
  private var steady: RTPReceptionStatistics?
  private var unwrapper = RTPTimestampUnwrapper()
  private var lastTicks: Int64?
  private var maximumTicks: Int64?
  private var lastArrival = MediaTime.zero
  private var lastReport: (seconds: Double, ticks: Int64)?

  /// A meter before the first packet.
  ///
  /// - Parameters:
  ///   - clockRate: Ticks per second of RTP timestamps; nil for another protocol.
  ///   - start: Time at which the server has begun to send.
  init(kind: MediaKind, codec: String, clockRate: Int32?, start: MediaTime) {
    self.observation = TrackObservation(kind: kind, codec: codec)
    self.start = start
    self.statistics = clockRate.map { RTPReceptionStatistics(clockRate: $0) }
    self.steady = self.statistics
    self.observation.senderReportCount = clockRate.map { _ in 0 }
  }

  /// Adopts a configuration.
  ///
  /// - Parameter isAnnounced: Whether it has come before the media.
  mutating func handle(_ description: CodecDescription, isAnnounced: Bool) {
    guard case .h264(let video) = description else { return }
    if self.observation.parameterSets == .missing {
      self.observation.parameterSets = isAnnounced ? .description : .stream
    }
    self.observation.size = "\(video.width)x\(video.height)"
    guard let parameters = try? H264SequenceParameterSet(parsing: video.sequenceParameterSet) else { return }
    self.observation.profileLevelID = parameters.profileLevelID
    self.observation.chromaFormat = Int(parameters.chromaFormatIDC)
    self.observation.bitDepth = Int(max(parameters.bitDepthLuma, parameters.bitDepthChroma))
  }

  /// Counts an RTP packet.
  mutating func handle(_ header: RTPHeader, at now: MediaTime) {
    self.handleArrival(at: now)
    guard let clockRate = self.statistics?.clockRate else { return }
    self.statistics?.handle(header, arrival: now)
    let second = Int(max(0, (now - self.start).seconds))
    while self.observation.packetCounts.count <= second { self.observation.packetCounts.append(0) }
    self.observation.packetCounts[second] += 1
    let age = (now - self.start).seconds - (self.observation.firstPacket ?? 0)
    if age >= TimelineMeter.settlingTime { self.steady?.handle(header, arrival: now) }
    let ticks = self.unwrapper.unwrap(header.timestamp)
    // The last packet of a frame of video has the marker, RFC 6184 §5.1.
    if ticks != self.lastTicks || header.marker {
      self.timeline.append(media: Double(ticks) / Double(clockRate), arrival: now.seconds)
    }
    // By the timestamps themselves: the clock that samples are mapped to follows sender reports.
    if self.observation.kind == .video, let maximum = self.maximumTicks, ticks < maximum {
      // A step back of the clock is no other order.
      if maximum - ticks < Int64(clockRate) { self.observation.isReordered = true }
    }
    self.maximumTicks = max(self.maximumTicks ?? ticks, ticks)
    (self.lastTicks, self.lastArrival) = (ticks, now)
  }

  /// Records that a packet has a slice of an IDR picture.
  mutating func handleIDRSlice() {
    self.observation.hasIDRSlices = true
  }

  /// Counts a sender report, and compares its clocks with those of the last one.
  mutating func handle(_ report: RTCPSenderReport) {
    self.observation.senderReportCount = (self.observation.senderReportCount ?? 0) + 1
    // Senders without a wall clock send 0.
    guard let clockRate = self.statistics?.clockRate, report.ntpTimestamp.rawValue != 0, let lastTicks else { return }
    var unwrapper = self.unwrapper
    let ticks = unwrapper.unwrap(report.rtpTimestamp)
    let seconds = Double(report.ntpTimestamp.unixNanoseconds) / 1e9
    if let last = self.lastReport {
      let error = abs((seconds - last.seconds) - Double(ticks - last.ticks) / Double(clockRate))
      self.observation.senderReportError = max(self.observation.senderReportError ?? 0, error)
    }
    self.lastReport = (seconds, ticks)
    let capture = seconds + Double(lastTicks - ticks) / Double(clockRate)
    self.observation.reportedDelay = self.lastArrival.seconds - capture
  }

  /// Counts a sample. Without RTP, its times are those of the track.
  mutating func handle(_ sample: EncodedSample, at now: MediaTime) {
    self.handleArrival(at: now)
    self.observation.frameCount += 1
    if self.statistics == nil {
      self.timeline.append(media: sample.decodeTime.seconds, arrival: now.seconds)
    }
    guard sample.kind == .video else { return }
    if sample.isKeyframe { self.observation.keyframes.append((now - self.start).seconds) }
    guard self.statistics == nil else { return }
    if let maximum = self.maximumPresentation, sample.presentationTime < maximum, !sample.isKeyframe {
      if maximum - sample.presentationTime < .seconds(1) { self.observation.isReordered = true }
    }
    self.maximumPresentation = max(self.maximumPresentation ?? sample.presentationTime, sample.presentationTime)
  }

  private mutating func handleArrival(at now: MediaTime) {
    if self.observation.firstPacket == nil { self.observation.firstPacket = (now - self.start).seconds }
  }

  /// Facts up to a time.
  func observation(until end: MediaTime) -> TrackObservation {
    var observation = self.observation
    observation.duration = (end - self.start).seconds
    observation.clockRatio = self.timeline.ratio
    observation.jumpCount = self.timeline.jumpCount
    observation.stallCount = self.timeline.stallCount
    observation.stillTime = self.timeline.stillTime
    if let statistics {
      observation.expectedCount = Int(clamping: statistics.expectedCount)
      observation.lostCount = Int(clamping: max(0, statistics.lostCount))
    }
    // Timestamps of B-frames are no times of sending.
    if let steady, steady.receivedCount >= Self.minimumJitterCount, !observation.isReordered {
      observation.jitter = Double(steady.jitter) / Double(steady.clockRate)
    }
    return observation
  }
}
