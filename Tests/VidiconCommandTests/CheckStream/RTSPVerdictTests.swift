import Media
import NIOCore
import Testing

@testable import VidiconCommand

@Suite("Verdicts on RTSP streams", .timeLimit(.minutes(5)))
struct RTSPVerdictTests {
  /// The verdict on a healthy stream after a change.
  private static func verdict(_ change: (inout RTSPObservation) -> Void) -> StreamVerdict {
    var facts = StreamFixtures.rtsp
    change(&facts)
    return facts.verdict
  }

  /// The verdict on a stream that the server refuses at the end of these exchanges.
  private static func refusal(
    _ method: String, _ status: Int, hasCredentials: Bool = false, failure: RTSPObservation.Failure = .refused
  ) -> StreamVerdict {
    var facts = RTSPObservation(hasCredentials: hasCredentials, failure: failure)
    facts.exchanges = [.init(method: method, status: status, seconds: 0.01)]
    return facts.verdict
  }

  @Test func `a healthy stream plays everywhere, with no problem`() {
    let verdict = StreamFixtures.rtsp.verdict
    #expect(verdict.problems == [])
    for client in [StreamClient.players, .datagramPlayers, .webRTC] { #expect(verdict.line(client) == "ok: plays") }
    #expect(CheckReport(verdict.sections).exitStatus == 0)
  }

  @Test func `peculiarities of healthy servers are no problem`() {
    // A server with TCP only, one that knows no GET_PARAMETER, a camera with G.711, and one whose reports come seldom.
    #expect(Self.verdict { $0.datagrams = .refused(461) }.problems == [])
    #expect(Self.verdict { $0.keepAliveStatus = 501 }.problems == [])
    #expect(
      Self.verdict {
        $0.announced[1].codec = "PCMA"; $0.tracks.removeLast()
      }.problems == [])
    #expect(
      Self.verdict { facts in
        for index in facts.tracks.indices {
          (facts.tracks[index].senderReportCount, facts.tracks[index].reportedDelay) = (0, nil)
        }
      }.problems == [])
    #expect(Self.verdict { $0.datagrams = .unknown }.problems == [])
    #expect(Self.verdict { $0.tracks[0].parameterSets = .stream }.problems == [])
  }

  @Test func `a path without a stream is a fault that names the publisher too`() {
    let verdict = Self.refusal("DESCRIBE", 404)
    #expect(verdict.problems == ["fault RTSP: no stream has this path (404)"])
    #expect(verdict.remedies[0].contains("publisher"))
    #expect(verdict.line(.players) == "fault: does not play, because RTSP: no stream has this path (404)")
    #expect(verdict.line(.webRTC).hasPrefix("warning: does not play"))
  }

  @Test func `a missing password and a wrong one are different faults`() {
    #expect(Self.refusal("DESCRIBE", 401).problems == ["fault RTSP: the server asks for a user name and password"])
    let wrong = Self.refusal("DESCRIBE", 401, hasCredentials: true)
    #expect(wrong.problems == ["fault RTSP: the user name or password is wrong"])
    #expect(wrong.remedies[0].contains("%40"))
    let unknown = Self.refusal("DESCRIBE", 401, hasCredentials: true, failure: .unsupported)
    #expect(unknown.problems[0].contains("login schemes are not known"))
  }

  @Test(arguments: [
    (403, "denies access"), (453, "no bandwidth or session left"), (454, "forgotten the session"),
    (503, "not available"),
    (500, "refuses DESCRIBE (500)"),
  ])
  func `each refusal of a server has its reason`(status: Int, reason: String) {
    #expect(Self.refusal("DESCRIBE", status).problems[0].contains(reason))
  }

  @Test func `a server of another protocol, one that closes, and one that does not respond are faults`() {
    func facts(_ failure: RTSPObservation.Failure?, pending: String?) -> [String] {
      RTSPObservation(failure: failure, pendingMethod: pending).verdict.problems
    }
    #expect(facts(.notRTSP, pending: nil) == ["fault RTSP: the server speaks another protocol there"])
    #expect(facts(.closed, pending: "DESCRIBE") == ["fault RTSP: the server closes the connection after DESCRIBE"])
    #expect(facts(nil, pending: "DESCRIBE") == ["fault RTSP: the server does not respond to DESCRIBE"])
    #expect(facts(.invalid, pending: nil)[0].contains("breaks the protocol"))
  }

  @Test func `a server that sends over UDP alone plays, with what players behind routers need`() {
    var facts = RTSPObservation(failure: .unsupported)
    facts.exchanges = [.init(method: "SETUP", status: 461, seconds: 0.01)]
    facts.announced = [.init(kind: "video", codec: "H264"), .init(kind: "audio", codec: "mpeg4-generic")]
    facts.datagrams = .received
    let verdict = facts.verdict
    #expect(verdict.problems == [] && verdict.line(.players) == "ok: plays over UDP", "\(verdict)")
    #expect(verdict.findings.contains { $0.finding.meaning.contains("refuses TCP (461)") && $0.finding.remedy != nil })
    // Without anything over UDP either, it is the fault.
    facts.datagrams = .unknown
    #expect(facts.verdict.problems.count == 1 && facts.verdict.problems[0].contains("does not send over TCP (461)"))
    facts.exchanges = [.init(method: "SETUP", status: 302, seconds: 0.01)]
    #expect(!facts.refusesTCP)
  }

  @Test func `a redirect, a server without TCP, and a description without media are faults with their cause`() {
    let nowhere = "fault RTSP: the server redirects (302), and not to an address of RTSP"
    #expect(Self.refusal("DESCRIBE", 302, failure: .unsupported).problems == [nowhere])
    var redirect = RTSPObservation(failure: .unsupported)
    redirect.exchanges = [.init(method: "DESCRIBE", status: 301, seconds: 0.01)]
    redirect.redirectProblem = .insecure
    #expect(redirect.verdict.problems == ["fault RTSP: the server redirects (301) from RTSPS to RTSP"])
    #expect(Self.refusal("SETUP", 461, failure: .unsupported).problems[0].contains("does not send over TCP (461)"))
    var facts = RTSPObservation(failure: .unsupported)
    facts.exchanges = [.init(method: "DESCRIBE", status: 200, seconds: 0.01)]
    #expect(facts.verdict.problems == ["fault RTSP: its session description has no video and no audio"])
    facts.announced = [.init(kind: "application", codec: "vnd.onvif.metadata")]
    #expect(facts.verdict.problems == ["fault RTSP: its session description has no video and no audio"])
  }

  @Test(arguments: [
    ("video", "H265", 1), ("video", "JPEG", 1), ("video", "VP9", 0), ("audio", "opus", 0), ("audio", "PCMA", 0),
  ])
  func `a stream of another codec is not judged for players, and blocks WebRTC where browsers have no decoder`(
    kind: String, codec: String, problemCount: Int
  ) {
    var facts = RTSPObservation(failure: .unsupported)
    facts.exchanges = [.init(method: "DESCRIBE", status: 200, seconds: 0.01)]
    facts.announced = [.init(kind: kind, codec: codec)]
    let verdict = facts.verdict
    #expect(verdict.line(.players) == "ok: not judged: its \(kind) is \(codec)")
    #expect(
      verdict.problems.count == problemCount && verdict.problems.allSatisfy { $0.hasPrefix("warning video track") })
    #expect(verdict.line(.webRTC).hasPrefix(problemCount == 0 ? "ok: not judged" : "warning: does not play"))
  }

  @Test func `video of another codec beside AAC is not judged for players, and blocks WebRTC`() {
    let verdict = Self.verdict { facts in
      facts.announced[0].codec = "H265"
      facts.tracks.removeFirst()
    }
    #expect(verdict.problems.count == 1 && verdict.problems[0].hasPrefix("warning video track: H265"))
    #expect(verdict.line(.players) == "ok: not judged: its video is H265")
    #expect(verdict.line(.webRTC).hasPrefix("warning: does not play"))
  }

  @Test func `Basic without TLS is a warning where the address has a password`() {
    func login(_ schemes: [String], hasCredentials: Bool = true, isEncrypted: Bool = false) -> [String] {
      Self.verdict {
        ($0.loginSchemes, $0.hasCredentials, $0.isEncrypted) = (schemes, hasCredentials, isEncrypted)
      }.problems
    }
    #expect(login(["Basic"]) == ["warning login: Basic without TLS: the password can be read on the network"])
    #expect(login(["Basic"], isEncrypted: true) == [] && login(["Digest", "Basic"]) == [])
    #expect(login(["Basic"], hasCredentials: false) == [])
  }

  @Test func `a slow server, one that ends the stream, and one without keep-alive are named`() {
    let slow = Self.verdict { $0.exchanges[1].seconds = 3 }
    #expect(slow.problems == ["warning RTSP: the server takes 3.0 s up to PLAY"])
    #expect(slow.line(.players).hasPrefix("warning: plays late, because RTSP"))
    let ended = Self.verdict { $0.closed = 2.5 }
    #expect(ended.problems == ["fault session: the server ends it 2.5 s after PLAY"])
    #expect(ended.line(.players).hasPrefix("fault: does not play"))
    #expect(Self.verdict { $0.keepAliveStatus = nil }.problems[0].contains("does not respond to it"))
    #expect(Self.verdict { $0.keepAliveStatus = 454 }.problems[0].contains("does not know its own session"))
  }

  @Test func `datagrams that are accepted and do not arrive are a warning for players over UDP alone`() {
    let verdict = Self.verdict { $0.datagrams = .silent }
    #expect(verdict.problems.count == 1 && verdict.problems[0].contains("a firewall or router drops the datagrams"))
    #expect(verdict.line(.datagramPlayers).hasPrefix("warning: does not play"))
    #expect(verdict.line(.players) == "ok: plays" && verdict.remedies[0].contains("-rtsp_transport tcp"))
  }

  @Test func `the outcome of a request for datagrams is that of the transport, not of a second session`() {
    func outcome(_ status: Int, isPlaying: Bool = false, count: Int = 0) -> RTSPObservation.Datagrams {
      var facts = RTSPObservation()
      facts.exchanges = [.init(method: "SETUP", status: status, seconds: 0)]
      facts.isPlaying = isPlaying
      return DatagramProbe.outcome(of: .init(observation: facts, packetCount: count), beside: StreamFixtures.rtsp)
    }
    #expect(outcome(461) == .refused(461) && outcome(453) == .unknown && outcome(200) == .unknown)
    #expect(outcome(503) == .unknown && outcome(200, isPlaying: true, count: 9) == .received)
    #expect(outcome(0) == .unknown)
  }

  @Test func `datagrams are missing only where the same track comes over TCP in the same time`() {
    func outcome(begin: Double, duration: Double, _ change: (inout RTSPObservation) -> Void = { _ in })
      -> RTSPObservation.Datagrams
    {
      var main = StreamFixtures.rtsp
      main.start = MediaTime.zero + .seconds(100)
      main.tracks[0].packetCounts = [200, 200, 200, 200, 0, 0, 200, 200]
      change(&main)
      var facts = RTSPObservation()
      facts.start = main.start.map { $0 + .milliseconds(Int64(begin * 1000)) }
      facts.isPlaying = true
      facts.tracks = [TrackObservation(kind: .video, duration: duration)]
      return DatagramProbe.outcome(of: .init(observation: facts, packetCount: 0), beside: main)
    }
    #expect(outcome(begin: 0.5, duration: 3) == .silent)
    // The track pauses, no whole second is left, no keyframe comes, another track comes first.
    #expect(outcome(begin: 3.5, duration: 2.4) == .unknown && outcome(begin: 0.5, duration: 0.6) == .unknown)
    #expect(outcome(begin: 0.5, duration: 3) { $0.tracks[0].keyframes = [0.05, 7] } == .unknown)
    #expect(outcome(begin: 0.5, duration: 3) { $0.tracks.removeFirst() } == .unknown)
    #expect(outcome(begin: 9, duration: 3) == .unknown)
  }

  @Test func `firewalls are opened by a packet of RTP and a report, as of ffmpeg`() {
    let openers = DatagramProbe.openers
    #expect(Array(openers.rtp.readableBytesView) == [0x80] + [UInt8](repeating: 0, count: 11))
    #expect(Array(openers.rtcp.readableBytesView) == [0x80, 201, 0, 1, 0, 0, 0, 0])
  }

  @Test func `a report has findings and observations, and no secret of the address`() {
    var facts = StreamFixtures.rtsp
    facts.loginSchemes = ["Digest"]
    let verdict = facts.verdict
    let text = StreamCheckReport(
      address: "rtsp://user:sesame@cam/live?token=opensesame".withoutCredentials(),
      report: CheckReport(verdict.sections),
      observations: verdict.observations
    ).text
    #expect(!text.contains("sesame"))
    for part in ["DESCRIBE 200 after 20 ms", "ok       video packets", "profile", "42C01F", "datagrams received"] {
      #expect(text.contains(part), "\(part)")
    }
  }
}
