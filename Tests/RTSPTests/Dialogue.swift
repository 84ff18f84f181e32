import Media
import NIOCore
import Testing

@testable import Authentication
@testable import RTSP

/// A dialogue between a client and a server session over a parser, with virtual time.
///
/// The server's side is compared as text: responses without the `Server` line, other actions in brackets.
final class Dialogue {
  struct Directory: RTSPStreamDirectory {
    var streams: [RTSPStreamDescription]
    /// Paths of streams that are to be prepared.
    var unprepared: Set<String> = []

    func needsPreparation(ofPath path: String) -> Bool { self.unprepared.contains(path) }

    func stream(forPath path: String) -> RTSPStreamDescription? {
      path.isEmpty ? self.streams.first : self.streams.first { $0.name == path }
    }
  }

  static let live = RTSPStreamDescription(
    name: "live", sessionDescription: "v=0\r\n",
    tracks: [
      RTSPStreamDescription.Track(kind: .video, control: "trackID=0", ssrc: 0x0000_00a0),
      RTSPStreamDescription.Track(kind: .audio, control: "trackID=1", ssrc: 0x0000_00a1),
    ])
  static let camera = RTSPStreamDescription(
    name: "cam/1", sessionDescription: "v=0\r\ns=1\r\n",
    tracks: [RTSPStreamDescription.Track(kind: .video, control: "trackID=0", ssrc: 0xdead_beef)])

  /// Streams that are found once they are prepared.
  var prepared: [RTSPStreamDescription] = []
  var directory = Directory(streams: [Dialogue.live, Dialogue.camera])
  /// The refusal of publications; nil to accept them.
  var publicationRefusal: RTSPPublicationRefusal?
  private(set) var now: MediaTime
  private var parser = RTSPMessageParser()
  private var session: RTSPServerSession
  private var output = ""

  /// - Parameter start: Time at which the connection is opened.
  convenience init(
    credentials: String? = nil, udpPorts: RTSPTransport.Pair<UInt16>? = nil, openedAt start: MediaTime = .zero
  ) {
    var settings = AccessSettings()
    settings.users = credentials.flatMap { Credentials(parsing: $0) }.map { [$0] } ?? []
    self.init(
      access: AccessControl(settings: settings, makeRandom: { 0x1234_5678_9abc_def0 }), udpPorts: udpPorts,
      openedAt: start)
  }

  /// Number of refusals by reason.
  let refusals: RefusalCounters

  init(access: AccessControl, udpPorts: RTSPTransport.Pair<UInt16>? = nil, openedAt start: MediaTime = .zero) {
    self.refusals = access.refusals
    self.now = start
    self.session = RTSPServerSession(
      configuration: RTSPServerConfiguration(
        serverName: "Vidicon", access: access, udpPorts: udpPorts), now: start,
      makeRandom: { 0x0123_4567_89ab_cdef })
  }

  /// Sends a client's message: the lines, an empty line, the body.
  func client(_ head: String, body: String = "") {
    var text = head.split(separator: "\n", omittingEmptySubsequences: false).map { $0 + "\r\n" }.joined()
    if !body.isEmpty { text += "Content-Length: \(body.utf8.count)\r\n" }
    self.client(bytes: Array((text + "\r\n" + body).utf8))
  }

  func client(bytes: [UInt8]) {
    self.parser.append(ByteBuffer(bytes: bytes))
    self.drain()
  }

  /// Reports the first packets to the session.
  func media(_ positions: (index: Int, sequenceNumber: UInt16, rtpTimestamp: UInt32)...) {
    let positions = positions.map {
      RTSPTrackPosition(index: $0.index, sequenceNumber: $0.sequenceNumber, rtpTimestamp: $0.rtpTimestamp)
    }
    self.perform(self.session.playingStarted(at: positions, now: self.now))
    self.drain()
  }

  func mediaFails() {
    self.perform(self.session.playingFailed(now: self.now))
    self.drain()
  }

  func streamEnds() { self.perform(self.session.handleStreamEnded()) }

  func publicationIsLost() { self.perform(self.session.handlePublicationLost()) }

  func serverStops() { self.perform(self.session.handleShutdown()) }

  /// Advances the time, and runs the timers that are due.
  func wait(seconds: Int64) {
    let end = self.now + .seconds(seconds)
    while let deadline = self.session.nextDeadline, deadline <= end {
      self.now = deadline
      self.perform(self.session.handleTimer(now: deadline))
      self.drain()
    }
    self.now = end
  }

  /// Compares the server's responses and actions since the last call.
  func server(_ expected: String, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.output == expected + "\n", sourceLocation: sourceLocation)
    self.output = ""
  }

  func serverIsSilent(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(self.output == "", sourceLocation: sourceLocation)
  }

  /// The status codes of the responses and the other actions since the last call.
  func statuses() -> [String] {
    defer { self.output = "" }
    return self.output.split(separator: "\n").compactMap { line in
      if line.hasPrefix("RTSP/1.0 ") { return String(line.dropFirst(9).prefix(3)) }
      return line.hasPrefix("[") ? String(line) : nil
    }
  }

  /// The values of a header in the responses since the last call.
  func headers(_ name: String) -> [String] {
    defer { self.output = "" }
    return self.output.split(separator: "\n").filter { $0.hasPrefix(name + ": ") }
      .map { String($0.dropFirst(name.utf8.count + 2)) }
  }

  private func drain() {
    while !self.session.isStarting, let message = self.parser.next() {
      switch message {
      case .request(let request):
        self.perform(self.session.handle(request, directory: self.directory, now: self.now))
      case .response:
        self.session.handleActivity(now: self.now)
      case .interleaved(let channel, _):
        if self.session.track(forChannel: channel) != nil { self.session.handleActivity(now: self.now) }
      case .malformed(let message):
        self.perform(self.session.handle(message, now: self.now))
      }
    }
  }

  private func perform(_ actions: [RTSPServerAction]) {
    for action in actions {
      switch action {
      case .respond(var response):
        #expect(response.headers["Server"] == "Vidicon")
        response.headers["Server"] = nil
        let text = serialized(response).split(separator: "\r\n", omittingEmptySubsequences: false)
        self.output += text.filter { !$0.isEmpty }.map { $0 + "\n" }.joined()
      case .prepareStream(let path, let request):
        self.output += "[prepare \(path)]\n"
        self.directory.unprepared.remove(path)
        self.directory.streams += self.prepared.filter { $0.name == path }
        self.perform(self.session.streamPrepared(request, directory: self.directory))
      case .startPlaying(let playback):
        let tracks = playback.tracks.map { Self.text($0.index, $0.transport) }
        self.output += "[start \(playback.streamName): \(tracks.joined(separator: ", "))]\n"
      case .stopPlaying: self.output += "[stop]\n"
      case .beginPublication(let announcement):
        self.output += "[begin \(announcement.streamName)]\n"
        self.perform(
          self.publicationRefusal.map { self.session.publicationRefused($0) }
            ?? self.session.publicationBegan(now: self.now))
      case .startRecording(let recording):
        let tracks = recording.tracks.map { Self.text($0.index, $0.transport) }
        self.output += "[record \(recording.streamName): \(tracks.joined(separator: ", "))]\n"
      case .endPublication: self.output += "[end]\n"
      case .close: self.output += "[close]\n"
      }
    }
  }

  private static func text(_ index: Int, _ transport: RTSPTrackTransport) -> String {
    switch transport {
    case .interleaved(let pair): "\(index) on channels \(pair.rtp)-\(pair.rtcp)"
    case .udp(let pair): "\(index) to ports \(pair.rtp)-\(pair.rtcp)"
    }
  }
}
