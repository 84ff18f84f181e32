import Media
import NIOCore
import RTMP

/// Plays a stream of an RTMP server as players do, and notes what happens.
final class RTMPProbe: ConnectionProbe {
  private let url: RTMPURL
  private let deadline: MediaTime
  private let stepTimeout: MediaDuration
  private let playTime: MediaDuration
  private let random: UInt64
  private var session: RTMPClientSession
  private var depacketizer = RTMPDepacketizer()
  private var meters: [MediaKind: TrackMeter] = [:]
  private var facts = RTMPObservation()
  private var connectTime: MediaTime?
  private var playStart: MediaTime?
  private(set) var isComplete = false

  /// - Parameters:
  ///   - random: Unpredictable number, for the handshake.
  ///   - stepTimeout: Maximum time of each step up to the stream.
  ///   - playTime: Time for which the stream is played.
  ///   - deadline: Time by which the probe has ended.
  init(
    url: RTMPURL, random: UInt64, stepTimeout: MediaDuration, playTime: MediaDuration, deadline: MediaTime
  ) {
    self.stepTimeout = stepTimeout
    self.url = url
    self.random = random
    self.playTime = playTime
    self.deadline = deadline
    self.session = Self.session(url, random: random, timeout: stepTimeout, at: .zero)
  }

  private static func session(
    _ url: RTMPURL, random: UInt64, timeout: MediaDuration, at now: MediaTime
  ) -> RTMPClientSession {
    RTMPClientSession(url: url, purpose: .play, timeout: timeout, now: now, makeRandom: { random })
  }

  var nextDeadline: MediaTime {
    guard let playStart else { return min(self.session.nextDeadline ?? self.deadline, self.deadline) }
    return min(playStart + self.playTime, self.deadline)
  }

  func start(at now: MediaTime) -> ByteBuffer {
    self.connectTime = now
    // The time of its first step begins now.
    self.session = Self.session(self.url, random: self.random, timeout: self.stepTimeout, at: now)
    return self.perform(self.session.start(now: now), at: now)
  }

  func receive(_ bytes: ByteBuffer, at now: MediaTime) -> ByteBuffer {
    self.perform(self.session.receive(bytes, now: now), at: now)
  }

  func handleTime(_ now: MediaTime) -> ByteBuffer {
    if now >= self.deadline || self.playStart.map({ now >= $0 + self.playTime }) == true {
      self.isComplete = true
      return ByteBuffer()
    }
    return self.perform(self.session.handleTimer(now: now), at: now)
  }

  func handleEnd(at now: MediaTime) {
    _ = self.perform(self.session.handleDisconnected(), at: now)
    self.isComplete = true
  }

  func finish() -> ByteBuffer {
    var goodbye = ByteBuffer()
    for case .send(let bytes) in self.session.finish() { goodbye.writeImmutableBuffer(bytes) }
    return goodbye
  }

  func observation(at now: MediaTime) -> RTMPObservation {
    var facts = self.facts
    facts.tracks = [MediaKind.video, .audio].compactMap { self.meters[$0]?.observation(until: now) }
    facts.duration = self.playStart.map { (now - $0).seconds } ?? 0
    return facts
  }

  private func perform(_ actions: [RTMPClientSession.Action], at now: MediaTime) -> ByteBuffer {
    var output = ByteBuffer()
    for action in actions {
      switch action {
      case .send(let bytes): output.writeImmutableBuffer(bytes)
      case .started:
        self.playStart = now
        self.facts.started = self.connectTime.map { (now - $0).seconds }
      case .media(let message): self.handle(message, at: now)
      case .reconnect: break
      case .close(let failure):
        self.facts.failure = failure
        self.facts.ended = self.playStart.map { (now - $0).seconds }
        self.isComplete = true
      }
    }
    return output
  }

  private func handle(_ message: RTMPMessage, at now: MediaTime) {
    let outputs: [ReceivedMedia]
    do throws(ParsingError) {
      outputs = try self.depacketizer.depacketize(message)
    } catch {
      if RTMPDepacketizer.isFatal(error) { self.note(.video, codec: error.field) }
      return
    }
    for output in outputs {
      switch output {
      case .description(let description):
        self.meter(description.kind)
        // A configuration comes before the media.
        self.meters[description.kind]?.handle(description, isAnnounced: true)
      case .sample(let sample):
        self.meter(sample.kind)
        self.meters[sample.kind]?.handle(sample, at: now)
      case .unsupported(let kind, let codec): self.note(kind, codec: codec)
      case .missingKeyframe: break
      }
    }
  }

  /// Makes the meter of a track, which exists once it has sent anything.
  private func meter(_ kind: MediaKind) {
    guard self.meters[kind] == nil, let playStart else { return }
    let codec = kind == .video ? "H.264" : "AAC"
    self.meters[kind] = TrackMeter(kind: kind, codec: codec, clockRate: nil, start: playStart)
  }

  /// Records a track of another codec, whose name in messages to publishers begins with its kind.
  private func note(_ kind: MediaKind, codec: String) {
    let prefix = "\(kind.rawValue) codec "
    // The name of the audio follows where nothing can be taken.
    let name = codec[..<(codec.firstRange(of: " with ")?.lowerBound ?? codec.endIndex)]
    let track = AnnouncedTrack(
      kind: kind.rawValue, codec: String(name.dropFirst(name.hasPrefix(prefix) ? prefix.count : 0).prefix(40)))
    if !self.facts.otherTracks.contains(where: { $0.kind == track.kind }) { self.facts.otherTracks.append(track) }
  }
}
