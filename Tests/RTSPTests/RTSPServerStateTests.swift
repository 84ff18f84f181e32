import Media
import NIOCore
import RTP
import Testing

@testable import RTSP

@Suite("State of the server's side of a connection, RFC 2326 appendix A.2")
struct RTSPServerStateTests {
  /// The events of a connection; each is an argument of a transition.
  private enum Event: String, CaseIterable {
    case setUp, announce, accept, refuse, record, pauseRecording, start, finishStart, failStart, pause, tearDown, close
  }

  private static let states = [
    "initial", "ready", "starting", "playing", "announcing", "announced", "recording", "closed",
  ]

  private static let tracks = RTSPSessionTracks(id: "1", stream: Dialogue.live)

  private static func publication() throws -> RTSPPublication {
    let aac = AACDescription(
      audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2))
    let format = try RTPMediaFormat(MediaDescription(.aac(aac), payloadType: 97, control: "trackID=0"))
    var announcement = try RTSPAnnouncement(streamName: "in", parsing: ByteBuffer(string: Self.sessionDescription))
    announcement.tracks = [.init(format: format, control: "trackID=0")]
    return RTSPPublication(announcement, sessionID: "2")
  }

  private static let sessionDescription = """
    v=0\r
    o=- 1 1 IN IP4 127.0.0.1\r
    s=-\r
    t=0 0\r
    m=audio 0 RTP/AVP 97\r
    a=rtpmap:97 mpeg4-generic/48000/2\r
    a=fmtp:97 streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config=1190\r

    """

  private static func state(_ name: String) throws -> RTSPServerState {
    switch name {
    case "ready": .ready(Self.tracks)
    case "starting": .starting(Self.tracks, cSeq: "7", since: .zero)
    case "playing": .playing(Self.tracks)
    case "announcing": .announcing(try Self.publication(), cSeq: "8")
    case "announced": .announced(try Self.publication())
    case "recording": .recording(try Self.publication())
    case "closed": .closed
    default: .initial
    }
  }

  private static func name(of state: RTSPServerState) -> String {
    switch state {
    case .initial: "initial"
    case .ready: "ready"
    case .starting: "starting"
    case .playing: "playing"
    case .announcing: "announcing"
    case .announced: "announced"
    case .recording: "recording"
    case .closed: "closed"
    }
  }

  /// Applies an event, and returns the result of the transition as text.
  private static func apply(_ event: Event, to state: inout RTSPServerState) throws -> String {
    switch event {
    case .setUp: return "\(state.setUp(Self.tracks))"
    case .announce:
      state.announce(try Self.publication(), cSeq: "9")
      return ""
    case .accept: return state.finishAnnouncement(isAccepted: true) ?? "nil"
    case .refuse: return state.finishAnnouncement(isAccepted: false) ?? "nil"
    case .record: return "\(state.record())"
    case .pauseRecording:
      state.pauseRecording()
      return ""
    case .start: return state.start(cSeq: "10", now: .zero)?.id ?? "nil"
    case .finishStart: return state.finishStart()?.cSeq ?? "nil"
    case .failStart: return state.failStart()?.cSeq ?? "nil"
    case .pause: return "\(state.pause())"
    case .tearDown: return "\(state.tearDown())"
    case .close: return "\(state.close())"
    }
  }

  /// Results of transitions that have no effect.
  private static let refused: [Event: String] = [
    .setUp: "false", .announce: "", .accept: "nil", .refuse: "nil", .record: "false", .pauseRecording: "",
    .start: "nil",
    .finishStart: "nil", .failStart: "nil", .pause: "false", .tearDown: "false", .close: "false",
  ]

  /// The transitions: state, event, next state, result. All others have no effect.
  private static let transitions: [(state: String, event: Event, next: String, result: String)] = [
    ("initial", .setUp, "ready", "true"), ("initial", .announce, "announcing", ""),
    ("ready", .setUp, "ready", "true"), ("ready", .start, "starting", "1"),
    ("starting", .finishStart, "playing", "7"), ("starting", .failStart, "ready", "7"),
    ("playing", .pause, "ready", "true"), ("playing", .tearDown, "initial", "true"),
    ("announcing", .accept, "announced", "8"), ("announcing", .refuse, "initial", "8"),
    ("announced", .setUp, "announced", "true"), ("announced", .record, "recording", "true"),
    ("recording", .pauseRecording, "announced", ""),
    ("ready", .tearDown, "initial", "false"), ("starting", .tearDown, "initial", "false"),
    ("announcing", .tearDown, "initial", "false"), ("announced", .tearDown, "initial", "false"),
    ("recording", .tearDown, "initial", "false"),
    ("initial", .close, "closed", "false"), ("ready", .close, "closed", "false"),
    ("starting", .close, "closed", "true"), ("playing", .close, "closed", "true"),
    ("announcing", .close, "closed", "false"), ("announced", .close, "closed", "false"),
    ("recording", .close, "closed", "false"),
  ]

  @Test(arguments: states) func `each event leads to the next state of the diagram, or has no effect`(name: String)
    throws
  {
    for event in Event.allCases {
      let expected = Self.transitions.first { $0.state == name && $0.event == event }
      var state = try Self.state(name)
      let result = try Self.apply(event, to: &state)
      #expect(Self.name(of: state) == expected?.next ?? name, "\(name), \(event)")
      #expect(result == expected?.result ?? Self.refused[event], "\(name), \(event)")
    }
  }

  @Test(arguments: states) func `each state has its properties, and no other`(name: String) throws {
    let state = try Self.state(name)
    #expect(state.isInitial == (name == "initial") && state.isClosed == (name == "closed"))
    #expect(state.isStarting == (name == "starting") && state.isPlaying == (name == "playing"))
    #expect(state.isAnnouncing == (name == "announcing") && state.isRecording == (name == "recording"))
    let sessions = ["ready": "1", "starting": "1", "playing": "1", "announced": "2", "recording": "2"]
    #expect(state.tracks?.id == sessions[name])
    #expect((state.publication != nil) == ["announced", "recording"].contains(name))
  }

  @Test func `a closed connection stays closed, whatever comes`() throws {
    var state = RTSPServerState.playing(Self.tracks)
    let isJoined = state.close()
    #expect(isJoined)
    for event in Event.allCases {
      let result = try Self.apply(event, to: &state)
      #expect(state.isClosed && result == Self.refused[event], "\(event)")
    }
  }

  @Test func `the tracks of a session go through playing, a pause and another start`() throws {
    var tracks = Self.tracks
    tracks.set(.init(index: 1, url: "rtsp://h/live/trackID=1", transport: .interleaved(.init(rtp: 2, rtcp: 3))))
    var state = RTSPServerState.initial
    let isFirst = state.setUp(tracks)
    tracks.set(.init(index: 0, url: "rtsp://h/live/trackID=0", transport: .interleaved(.init(rtp: 0, rtcp: 1))))
    let isSecond = state.setUp(tracks)
    #expect(isFirst && isSecond)
    for _ in 0..<2 {
      let started = state.start(cSeq: "3", now: .zero)
      #expect(started == tracks && state.tracks == tracks)
      let isSetUpWhileStarting = state.setUp(Self.tracks)
      let finished = state.finishStart()
      let isSetUpWhilePlaying = state.setUp(Self.tracks)
      #expect(!isSetUpWhileStarting && !isSetUpWhilePlaying)
      #expect(finished?.tracks == tracks && finished?.cSeq == "3")
      let isPaused = state.pause()
      #expect(isPaused && state.tracks == tracks)
    }
    // PLAY without a packet leaves the session as it was.
    _ = state.start(cSeq: "4", now: .zero)
    let failed = state.failStart()
    #expect(failed?.tracks == tracks && failed?.cSeq == "4")
    #expect(state.tracks == tracks)
  }

  @Test func `the tracks of a publication stay while its reception is paused`() throws {
    var state = RTSPServerState.initial
    state.announce(try Self.publication(), cSeq: "1")
    let accepted = state.finishAnnouncement(isAccepted: true)
    #expect(accepted == "1")
    var tracks = try #require(state.tracks)
    #expect(tracks.tracks.isEmpty && tracks.stream.name == "in")
    let ports = RTSPTransport.Pair<UInt16>(rtp: 6970, rtcp: 6971)
    tracks.set(.init(index: 0, url: "rtsp://h/in/trackID=0", transport: .udp(clientPorts: ports)))
    let isSetUp = state.setUp(tracks)
    #expect(isSetUp)
    for _ in 0..<2 {
      let (isRecording, isRepeated) = (state.record(), state.record())
      #expect(isRecording && !isRepeated && state.tracks == tracks)
      #expect(state.publication?.recording.tracks == [.init(index: 0, transport: tracks.tracks[0].transport)])
      state.pauseRecording()
      #expect(state.tracks == tracks)
    }
    let wasPlaying = state.tearDown()
    #expect(!wasPlaying && state.isInitial)
  }
}

@Suite("Tracks that a client has set up")
struct RTSPSessionTracksTests {
  private static func track(_ index: Int, _ channel: UInt8) -> RTSPSessionTracks.Track {
    .init(index: index, url: "u\(index)", transport: .interleaved(.init(rtp: channel, rtcp: channel + 1)))
  }

  @Test func `tracks are ordered by index, each once, whatever the order of SETUP`() {
    var tracks = RTSPSessionTracks(id: "1", stream: Dialogue.live)
    tracks.set(Self.track(1, 0))
    tracks.set(Self.track(0, 2))
    #expect(tracks.tracks.map(\.index) == [0, 1])
    tracks.set(Self.track(1, 8))
    #expect(tracks.tracks.map(\.url) == ["u0", "u1"])
    #expect(tracks.playback.tracks.map(\.ssrc) == [0xA0, 0xA1])
    #expect(tracks.playback.tracks.map(\.transport) == [Self.track(0, 2).transport, Self.track(1, 8).transport])
    tracks.remove(index: 0)
    tracks.remove(index: 0)
    #expect(tracks.tracks.map(\.index) == [1])
  }

  @Test func `a channel belongs to the track that has it, and says whether it carries reports`() {
    var tracks = RTSPSessionTracks(id: "1", stream: Dialogue.live)
    tracks.set(Self.track(0, 4))
    tracks.set(.init(index: 1, url: "u", transport: .udp(clientPorts: .init(rtp: 5000, rtcp: 5001))))
    #expect(tracks.track(forChannel: 4)?.index == 0 && tracks.track(forChannel: 4)?.isRTCP == false)
    #expect(tracks.track(forChannel: 5)?.index == 0 && tracks.track(forChannel: 5)?.isRTCP == true)
    #expect(tracks.track(forChannel: 0) == nil && tracks.track(forChannel: 136) == nil)
  }

  /// Channels of track 0, requested channels of track 1, and those it gets.
  @Test(
    arguments: [
      (0, (2, 3), (2, 3)), (0, nil, (2, 3)), (2, nil, (0, 1)), (0, (0, 1), (2, 3)), (0, (1, 2), (2, 3)),
      (0, (9, 9), (2, 3)), (0, (7, 4), (7, 4)), (0, (254, 255), (254, 255)), (1, nil, (4, 5)), (2, (1, 2), (0, 1)),
    ] as [(UInt8, (UInt8, UInt8)?, (UInt8, UInt8))])
  func `requested channels are given if they are free, else the lowest free pair`(
    own: UInt8, requested: (UInt8, UInt8)?, given: (UInt8, UInt8)
  ) {
    var tracks = RTSPSessionTracks(id: "1", stream: Dialogue.live)
    tracks.set(Self.track(0, own))
    let pair = tracks.channels(forTrack: 1, requested: requested.map { .init(rtp: $0.0, rtcp: $0.1) })
    #expect(pair == .init(rtp: given.0, rtcp: given.1))
    // A track may keep its own channels.
    #expect(tracks.channels(forTrack: 0, requested: .init(rtp: own, rtcp: own + 1)) == .init(rtp: own, rtcp: own + 1))
  }

  @Test func `the positions of RTP-Info are those of the tracks that are set up`() {
    var tracks = RTSPSessionTracks(id: "1", stream: Dialogue.live)
    #expect(tracks.rtpInfo([]) == nil)
    tracks.set(Self.track(1, 2))
    let positions = [
      RTSPTrackPosition(index: 0, sequenceNumber: 1, rtpTimestamp: 2),
      RTSPTrackPosition(index: 1, sequenceNumber: 65_535, rtpTimestamp: 4_294_967_295),
    ]
    #expect(tracks.rtpInfo(positions) == "url=u1;seq=65535;rtptime=4294967295")
    tracks.set(Self.track(0, 0))
    #expect(tracks.rtpInfo(positions) == "url=u0;seq=1;rtptime=2,url=u1;seq=65535;rtptime=4294967295")
    #expect(tracks.rtpInfo([positions[0]]) == "url=u0;seq=1;rtptime=2")
    #expect(tracks.rtpInfo([]) == nil)
  }
}
