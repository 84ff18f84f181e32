import Media
import NIOCore
import Pushing
import RTMP
import Testing

@testable import RTMPServer

/// The sender, the messages and both ends of the connection of a push, without a network and in virtual time.
@Suite("A push for 24 hours, over the wrap of the timestamps after 49.7 days")
struct PushDayTests {
  private static let video = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [
        0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00,
        0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
      ], pictureParameterSet: [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0], width: 1280, height: 720, frameRate: 30))
  private static let audio = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: 44_100, channelCount: 1)))
  private static let wrap = MediaDuration.milliseconds(1 << 32)

  /// The connection to a server, which notes what arrives.
  private final class Connection {
    private var client: RTMPClientSession
    private var server: RTMPServerSession
    private var depacketizer = RTMPDepacketizer()
    private var media = RTMPPushMedia(bitrates: (nil, nil))
    /// Timestamp of the last message of each kind.
    private var last: [RTMPMessageType: UInt32] = [:]
    private(set) var now: MediaTime
    private(set) var isAccepted = false
    /// Samples that have not arrived.
    private var sent: [EncodedSample] = []
    private(set) var arrived = 0
    /// Number of messages whose timestamp is before that of the previous one of their kind.
    private(set) var backwards = 0
    /// Time at the server minus capture time of the last sample of each kind, in milliseconds.
    private(set) var shifts: [MediaKind: Double] = [:]
    /// Minimum and maximum difference of the shifts of audio and video.
    private(set) var offsets = (minimum: 0.0, maximum: 0.0)
    private(set) var failure: String?
    private(set) var lastBytes = ByteBuffer()

    init(now: MediaTime) throws {
      self.now = now
      self.client = RTMPClientSession(
        url: try RTMPURL(parsing: "rtmp://host/app/key"), purpose: .publish, now: now, makeRandom: { 7 })
      self.server = RTMPServerSession(now: now, makeRandom: { 7 })
      self.perform(self.client.start(now: now))
    }

    func configure() { self.media.configure([PushDayTests.video, PushDayTests.audio]) }

    func send(_ sample: EncodedSample, now: MediaTime) {
      self.now = now
      var buffer = ByteBuffer()
      self.sent.append(sample)
      for message in self.media.messages(for: sample) { self.client.write(message, into: &buffer) }
      self.lastBytes = buffer
      self.perform(self.server.receive(buffer, now: now))
    }

    private func perform(_ actions: [RTMPClientSession.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes): self.perform(self.server.receive(bytes, now: self.now))
        case .started: self.isAccepted = true
        case .close(let failure): self.failure = "\(failure)"
        case .media, .reconnect: break
        }
      }
    }

    private func perform(_ actions: [RTMPServerAction]) {
      for action in actions {
        switch action {
        case .send(let bytes): self.perform(self.client.receive(bytes, now: self.now))
        case .decide: self.perform(self.server.accept(now: self.now))
        case .publish(let message): self.take(message)
        case .close(let reason): self.failure = "\(reason)"
        case .startPlaying, .stopPlaying, .stopPublishing: break
        }
      }
    }

    private func take(_ message: RTMPMessage) {
      if message.type == .video || message.type == .audio {
        // As serial numbers: a server without a wrap of its own has the same order.
        if let last = self.last[message.type], Int32(bitPattern: message.timestamp &- last) < 0 { self.backwards += 1 }
        self.last[message.type] = message.timestamp
      }
      do throws(ParsingError) {
        for case .sample(let sample) in try self.depacketizer.depacketize(message) {
          guard let index = self.sent.firstIndex(where: { $0.kind == sample.kind }) else { continue }
          let source = self.sent.remove(at: index)
          self.arrived += 1
          self.shifts[sample.kind] =
            (sample.decodeTime - MediaTime.zero).seconds * 1000
            - (source.decodeTime - MediaTime.zero).seconds * 1000
          guard let video = self.shifts[.video], let audio = self.shifts[.audio] else { continue }
          self.offsets = (min(self.offsets.minimum, audio - video), max(self.offsets.maximum, audio - video))
        }
      } catch {
        self.failure = "\(error)"
      }
    }
  }

  /// A push whose server is killed at times, and the connections that it has had.
  private final class Push {
    private var sender: PushSender
    private(set) var connections: [Connection] = []

    init() {
      self.sender = PushSender(settings: PushSettings(bitrate: 2_300_000), makeRandom: { .max / 2 })
    }

    func start(at now: MediaTime) throws { try self.perform(self.sender.start(now: now), now: now) }

    func enqueue(_ sample: EncodedSample, now: MediaTime) throws {
      try self.perform(self.sender.update(unsentByteCount: 0, now: now), now: now)
      try self.perform(self.sender.enqueue(sample, now: now), now: now)
      try self.perform(self.sender.update(unsentByteCount: 0, now: now), now: now)
    }

    func lose(at now: MediaTime) throws {
      try self.perform(self.sender.handleDisconnected("killed", now: now), now: now)
    }

    private func perform(_ actions: [PushSender.Action], now: MediaTime) throws {
      for action in actions {
        switch action {
        case .connect:
          let connection = try Connection(now: now)
          self.connections.append(connection)
          #expect(connection.isAccepted)
          try self.perform(self.sender.handleConnected(now: now), now: now)
        case .sendConfiguration: self.connections.last?.configure()
        case .send(let sample): self.connections.last?.send(sample, now: now)
        default: break
        }
      }
    }
  }

  /// Every 30th frame of video of 29.97 frames per second and every 32nd of AAC of 44.1 kHz, with an offset of 7.3 ms; a
  /// keyframe every 40 s, of more than a chunk.
  private static func samples(
    from start: MediaTime, for duration: MediaDuration, _ body: (EncodedSample) throws -> Void
  ) rethrows {
    let keyframe = ByteBuffer(bytes: [0, 1, 0x11, 0x71, 0x65] + [UInt8](repeating: 0xA5, count: 70_000))
    let frame = ByteBuffer(bytes: [0, 0, 0, 2, 0x41, 0x80])
    let block = ByteBuffer(bytes: [0x21, 0x10])
    var (frames, blocks): (Int64, Int64) = (0, 0)
    while true {
      let video = start + .ticks(frames * 30_030, timescale: 30_000)
      let audio = start + .microseconds(7_300) + .ticks(blocks * 32 * 1024, timescale: 44_100)
      if min(video, audio) - start > duration { return }
      if video <= audio {
        let isKeyframe = frames % 40 == 0
        try body(
          EncodedSample(
            kind: .video, payload: isKeyframe ? keyframe : frame, presentationTime: video,
            duration: .milliseconds(33), isKeyframe: isKeyframe))
        frames += 1
      } else {
        try body(
          EncodedSample(
            kind: .audio, payload: block, presentationTime: audio, duration: .milliseconds(23), isKeyframe: true))
        blocks += 1
      }
    }
  }

  @Test func `a server gets rising times and one offset of audio and video, before and after the wrap`() throws {
    let push = Push()
    let start = MediaTime.zero + .seconds(1000)
    try push.start(at: start)
    // Of a connection of 49 days a minute every ten days is sent: half the wrap is the most that a server takes as progress.
    let day = start + Self.wrap - .seconds(12 * 3600)
    var count = 0
    var extendedHeaders = 0
    for moment in (0..<5).map({ start + .seconds($0 * 10 * 24 * 3600) }) + [day] {
      try Self.samples(from: moment, for: .seconds(moment == day ? 24 * 3600 : 60)) { sample in
        try push.enqueue(sample, now: sample.presentationTime)
        count += 1
        guard sample.isKeyframe, sample.kind == .video, let bytes = push.connections.last?.lastBytes else { return }
        // The message has 70,010 bytes: a chunk of 32,767 with 12 or 16 bytes in front, and two of fmt 3.
        let timestamp = UInt32(truncatingIfNeeded: (sample.decodeTime - start).ticks(timescale: 1000))
        guard timestamp >= 0xFF_FFFF else { return }
        let rest = bytes.readableBytes - (70_010 - 2 * 32_767)
        let header = bytes.getInteger(at: rest - 5, as: UInt8.self)
        #expect(header == 0b1100_0110 && bytes.getInteger(at: rest - 4, as: UInt32.self) == timestamp)
        extendedHeaders += 1
      }
    }
    let connection = try #require(push.connections.first)
    #expect(push.connections.count == 1 && connection.failure == nil)
    #expect(connection.arrived == count && count > 200_000)
    #expect(connection.backwards == 0)
    #expect(connection.offsets.minimum > -1 && connection.offsets.maximum < 1, "\(connection.offsets)")
    // Also to the first frame: nothing adds up.
    #expect(connection.shifts.values.allSatisfy { abs($0 + 1_000_000) <= 1 }, "\(connection.shifts)")
    #expect(extendedHeaders > 1700)
  }

  @Test func `a server that is killed each half minute gets the same offset over every connection`() throws {
    let push = Push()
    let start = MediaTime.zero + .seconds(1000)
    try push.start(at: start)
    var nextKill = start + .milliseconds(30_011)
    try Self.samples(from: start, for: .seconds(3600)) { sample in
      if sample.presentationTime >= nextKill {
        nextKill += .milliseconds(30_011)
        try push.lose(at: sample.presentationTime)
      }
      try push.enqueue(sample, now: sample.presentationTime)
    }
    #expect(push.connections.count == 120)
    let sending = push.connections.filter { $0.arrived > 0 }
    // The others ended before the next keyframe.
    #expect(sending.count > 60)
    for connection in sending {
      #expect(connection.failure == nil && connection.backwards == 0)
      #expect(connection.offsets.minimum > -1 && connection.offsets.maximum < 1, "\(connection.offsets)")
    }
  }
}
