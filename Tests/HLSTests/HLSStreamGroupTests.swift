import HLS
import HLSRules
import Media
import NIOCore
import Testing

/// Renditions in virtual time: main with 30 frames per second, `low` with 15, one encoder clock, audio.
private struct GroupSimulation {
  var group: HLSStreamGroup
  var now = StreamSimulation.start
  var checkers: [String: HLSRuleChecker] = [:]
  /// Playlists that viewers read after each sample, by rendition.
  var watched: [(rendition: String?, file: String)] = []
  /// Whether the encoder of `low` delivers.
  var encodesLow = true
  private var frame: Int64 = 0
  private var audioFrame: Int64 = 0
  private var isKeyframePending = true
  private var lastKeyframe: MediaTime?

  private let framesPerSecond: Int32

  init(framesPerSecond: Int32 = 30) {
    self.framesPerSecond = framesPerSecond
    var configuration = StreamSimulation.configuration
    configuration.startSegments = 3
    self.group = HLSStreamGroup(
      HLSStream(
        [StreamSimulation.video(FrameRate(framesPerSecond)), StreamSimulation.audio], configuration: configuration))
    configuration.token = "low"
    configuration.bitrate = 514_000
    self.group.add("low", [Self.low, StreamSimulation.audio], configuration: configuration)
  }

  /// Constrained Baseline, level 3.
  static let low = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1E, 0xAC], pictureParameterSet: [0x68, 0xEE, 0x3C, 0x80], width: 640,
      height: 360, frameRate: 15))

  mutating func respond(_ file: String, _ query: String = "", of rendition: String? = nil) throws -> HLSResponse {
    let request = try #require(HLSRequest(file: file, query: query, arrival: self.now))
    let (response, effects) = self.group.respond(to: request, of: rendition, at: self.now)
    if effects.requestsKeyframe { self.isKeyframePending = true }
    return response
  }

  mutating func text(_ file: String, _ query: String = "", of rendition: String? = nil) throws -> String {
    guard case .content(let content) = try self.respond(file, query, of: rendition) else { return "" }
    return String(buffer: content.body)
  }

  mutating func run(milliseconds: Int64) throws {
    let end = self.now + .milliseconds(milliseconds)
    while true {
      let frameTime = StreamSimulation.start + .ticks(self.frame, timescale: self.framesPerSecond)
      let audioTime = StreamSimulation.start + .ticks(self.audioFrame * 1024, timescale: 48_000)
      let (videoArrival, audioArrival) = (frameTime + .milliseconds(40), audioTime + .milliseconds(60))
      let arrival = min(videoArrival, audioArrival)
      guard arrival < end else { break }
      self.now = max(self.now, arrival)
      if videoArrival <= audioArrival {
        try self.deliver(at: frameTime)
      } else {
        self.audioFrame += 1
        self.perform(
          self.group.consume(
            EncodedSample(
              kind: .audio, payload: StreamSimulation.payload(170, first: 0x21), presentationTime: audioTime,
              duration: .ticks(1024, timescale: 48_000), isKeyframe: true), at: self.now))
      }
      self.perform(self.group.advance(to: self.now))
      for (rendition, file) in self.watched {
        let text = try self.text(file, of: rendition)
        if !text.isEmpty {
          self.checkers[(rendition ?? "") + file, default: HLSRuleChecker()].check(text, at: self.now.seconds)
        }
      }
    }
    self.now = end
  }

  private mutating func deliver(at time: MediaTime) throws {
    let isLate = self.lastKeyframe.map { time - $0 >= .milliseconds(500) } ?? true
    let isKeyframe = self.isKeyframePending && isLate
    if isKeyframe { (self.isKeyframePending, self.lastKeyframe) = (false, time) }
    var sample = EncodedSample(
      kind: .video, payload: StreamSimulation.payload(isKeyframe ? 900 : 300, first: isKeyframe ? 0x65 : 0x41),
      presentationTime: time, duration: .ticks(1, timescale: self.framesPerSecond), isKeyframe: isKeyframe)
    self.perform(self.group.consume(sample, at: self.now))
    sample.duration = .ticks(2, timescale: self.framesPerSecond)
    if self.encodesLow, self.group.areRenditionsActive, isKeyframe || self.frame % 2 == 0 {
      self.perform(self.group.consume(sample, of: "low", at: self.now + .milliseconds(5)))
    }
    self.frame += 1
  }

  private mutating func perform(_ effects: HLSEffects) {
    if effects.requestsKeyframe { self.isKeyframePending = true }
  }
}

@Suite("Renditions over HLS")
struct HLSStreamGroupTests {
  /// Start time, duration and parts of each segment of a playlist, by number.
  private static func segments(_ text: String) -> [Int: String] {
    var segments: [Int: String] = [:]
    var (number, lines) = (0, [String]())
    for line in text.split(separator: "\n") {
      if line.hasPrefix("#EXT-X-MEDIA-SEQUENCE:") { number = Int(line.dropFirst(22)) ?? 0 }
      if line.hasPrefix("#EXT-X-PROGRAM-DATE-TIME") || line.hasPrefix("#EXTINF") { lines.append(String(line)) }
      if line.hasPrefix("#EXT-X-PART:") { lines.append(String(line.prefix { $0 != "," })) }
      if !line.hasPrefix("#") {
        segments[number] = lines.joined(separator: " ")
        (number, lines) = (number + 1, [])
      }
    }
    return segments
  }

  /// The segments of main with three parts in one, as other renditions have them: the same times and durations otherwise.
  private static func joined(_ segments: [Int: String]) -> [Int: String] {
    segments.mapValues { segment in
      let tags = segment.split(separator: " ")
      let name = "#EXT-X-PART:DURATION="
      let parts = tags.filter { $0.hasPrefix(name) }.compactMap { Double($0.dropFirst(name.count)) }
      let joined = stride(from: 0, to: parts.count, by: 3).map { start in
        "\(name)\((parts[start..<min(start + 3, parts.count)].reduce(0, +) * 1e6).rounded() / 1e6)"
      }
      guard let first = tags.firstIndex(where: { $0.hasPrefix(name) }) else { return segment }
      let others = tags.filter { !$0.hasPrefix(name) }.map(String.init)
      return (others[..<first] + joined + others[first...]).joined(separator: " ")
    }
  }

  private static func value(_ name: String, in text: String) -> Substring? {
    text.split(separator: "\n").first { $0.hasPrefix(name + ":") }?.dropFirst(name.count + 1)
  }

  @Test func `a variant is moved to the front with its tag, the rest stays`() {
    let tags = ["#EXT-X-STREAM-INF:BANDWIDTH=3", "#EXT-X-STREAM-INF:BANDWIDTH=2", "#EXT-X-STREAM-INF:BANDWIDTH=1"]
    let names = ["main", "mid", "low"]
    func playlist(_ order: [Int]) -> ByteBuffer {
      ByteBuffer(string: "#EXTM3U\n" + order.map { "\(tags[$0])\n\(names[$0])/live.m3u8\n" }.joined())
    }
    #expect(HLSVariants.starting(with: "low", playlist([0, 1, 2])) == playlist([2, 0, 1]))
    #expect(HLSVariants.starting(with: "mid", playlist([0, 1, 2])) == playlist([1, 0, 2]))
    #expect(HLSVariants.starting(with: "main", playlist([0, 1, 2])) == playlist([0, 1, 2]))
    #expect(HLSVariants.starting(with: "lo", playlist([0, 1, 2])) == playlist([0, 1, 2]))
    #expect(HLSVariants.starting(with: "low", ByteBuffer(string: "low/")) == ByteBuffer(string: "low/"))
  }

  @Test func `the multivariant playlist names each rendition, and starts none`() throws {
    var simulation = GroupSimulation()
    let lines = try simulation.text("index.m3u8").split(separator: "\n")
    #expect(lines.filter { !$0.hasPrefix("#") } == ["main/live.m3u8", "low/live.m3u8"])
    let variants = lines.filter { $0.hasPrefix("#EXT-X-STREAM-INF:") }
    #expect(variants.count == 2)
    #expect(variants[0].contains("RESOLUTION=1280x720") && variants[0].contains("avc1.64001f,mp4a.40.2"))
    #expect(variants[1].contains("RESOLUTION=640x360") && variants[1].contains("avc1.42c01e,mp4a.40.2"))
    #expect(variants[1].contains("BANDWIDTH=771000,AVERAGE-BANDWIDTH=514000"))
    #expect(variants[1].contains("FRAME-RATE=15.000"))
    #expect(!simulation.group.areRenditionsActive)
  }

  @Test func `renditions are named in their order, also one that is added late`() throws {
    var simulation = GroupSimulation()
    for name in ["other", "mid"] {
      var configuration = StreamSimulation.configuration
      configuration.token = name
      simulation.group.add(name, [GroupSimulation.low, StreamSimulation.audio], configuration: configuration)
    }
    simulation.group.sort(like: ["mid", "low"])
    let lines = try simulation.text("index.m3u8").split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines == ["main/live.m3u8", "mid/live.m3u8", "low/live.m3u8", "other/live.m3u8"])
  }

  @Test func `main alone is as without renditions`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [(nil, "live.m3u8"), (nil, "playlist.m3u8")]
    try simulation.run(milliseconds: 6_000)
    let text = try simulation.text("live.m3u8")
    #expect(text.contains("#EXT-X-PART:") && !text.contains("RENDITION-REPORT"))
    #expect(!simulation.group.areRenditionsActive)
    for checker in simulation.checkers.values { #expect(checker.violations == []) }
  }

  @Test func `a rendition that a viewer switches to has main's segments from the next boundary on`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [(nil, "live.m3u8")]
    try simulation.run(milliseconds: 5_300)
    let before = Self.segments(try simulation.text("live.m3u8"))
    let query = "_HLS_msn=0&_HLS_part=0"
    for query in ["", query] {
      guard case .wait = try simulation.respond("live.m3u8", query, of: "low") else {
        Issue.record("its first playlist does not wait")
        return
      }
    }
    #expect(simulation.group.areRenditionsActive)
    try simulation.run(milliseconds: 1_500)
    // A player that can start with a part needs no segment.
    let early = try simulation.text("live.m3u8", query, of: "low")
    #expect(early.contains("#EXT-X-PART:"))
    // Others, Chromium among them, need three.
    guard case .wait = try simulation.respond("live.m3u8", of: "low") else {
      Issue.record("its first playlist is too short for Chromium")
      return
    }
    simulation.watched += [("low", "live.m3u8"), ("low", "playlist.m3u8")]
    try simulation.run(milliseconds: 7_200)
    let (main, low) = (
      try simulation.text("live.m3u8", of: "main"), try simulation.text("live.m3u8", of: "low")
    )
    let alone = try simulation.text("live.m3u8")
    #expect(!alone.contains("RENDITION-REPORT") && Self.segments(alone) == Self.segments(main))
    let (mainSegments, lowSegments) = (Self.segments(main), Self.segments(low))
    #expect(lowSegments.count >= 7)
    let (first, newestBefore) = (try #require(lowSegments.keys.min()), try #require(before.keys.max()))
    #expect(first <= newestBefore + 2)
    let joined = Self.joined(mainSegments)
    for (number, segment) in lowSegments { #expect(segment == joined[number], "\(number)") }
    #expect(Self.value("#EXT-X-TARGETDURATION", in: low) == Self.value("#EXT-X-TARGETDURATION", in: main))
    #expect(Self.value("#EXT-X-PART-INF", in: main) == "PART-TARGET=0.22")
    #expect(Self.value("#EXT-X-PART-INF", in: low) == "PART-TARGET=0.66")
    // Three times the maximum part target of the renditions, §4.4.3.8; main alone promises less.
    for text in [main, low] { #expect(text.contains(",PART-HOLD-BACK=1.98\n")) }
    #expect(alone.contains(",PART-HOLD-BACK=0.66\n"))
    #expect(low.contains("#EXT-X-INDEPENDENT-SEGMENTS"))
    let newest = try #require(mainSegments.keys.max())
    #expect(main.contains("#EXT-X-RENDITION-REPORT:URI=\"../low/live.m3u8\",LAST-MSN="))
    let report = try #require(Self.value("#EXT-X-RENDITION-REPORT", in: low))
    #expect(
      report.hasPrefix("URI=\"../main/live.m3u8\",LAST-MSN=\(newest + 1),LAST-PART=")
        || report.contains("LAST-MSN=\(newest),"))
    for checker in simulation.checkers.values { #expect(checker.violations == []) }
    #expect(simulation.checkers.count == 3)
  }

  @Test func `all renditions run while main is played among them, so that a change waits for nothing`() throws {
    var simulation = GroupSimulation()
    _ = try simulation.respond("index.m3u8")
    simulation.watched = [("main", "live.m3u8")]
    try simulation.run(milliseconds: 6_000)
    #expect(simulation.group.areRenditionsActive)
    let low = Self.segments(try simulation.text("live.m3u8", of: "low"))
    let main = Self.joined(Self.segments(try simulation.text("live.m3u8", of: "main")))
    #expect(low.count >= 5 && low.allSatisfy { main[$0.key] == $0.value })
    #expect(try #require(main.keys.max()) - #require(low.keys.max()) <= 1)
    for checker in simulation.checkers.values { #expect(checker.violations == []) }
    // Segments have the same addresses in both places.
    let uri = try #require(
      try simulation.text("live.m3u8", of: "main").split(separator: "\n").last { $0.hasSuffix(".m4s") })
    #expect(try simulation.respond(String(uri), of: "main") == simulation.respond(String(uri)))
    #expect(try simulation.respond("index.m3u8", of: "main") == .notFound)
    simulation.watched = [(nil, "live.m3u8")]
    try simulation.run(milliseconds: 10_100)
    #expect(!simulation.group.areRenditionsActive && simulation.group.main.isActive)
  }

  @Test func `both forms of main's playlist have entity tags of their own, which change with their bytes`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [("main", "live.m3u8")]
    try simulation.run(milliseconds: 4_000)
    var bodies: [String: String] = [:]
    for _ in 0..<40 {
      try simulation.run(milliseconds: 23)
      for rendition in [nil, "main", "low"] {
        guard case .content(let content) = try simulation.respond("live.m3u8", of: rendition) else { continue }
        let text = String(buffer: content.body)
        #expect(bodies.updateValue(text, forKey: content.etag) ?? text == text)
      }
    }
    #expect(bodies.count > 12)
  }

  @Test func `bitrates of the encoder are those that players choose by until segments are measured`() throws {
    var simulation = GroupSimulation()
    simulation.group.encoderBitrate = StreamSimulation.configuration.bitrate / 4
    let lines = try simulation.text("index.m3u8").split(separator: "\n").filter { $0.hasPrefix("#EXT-X-STREAM-INF:") }
    #expect(lines[0].contains("AVERAGE-BANDWIDTH=\(StreamSimulation.configuration.bitrate / 4),"))
    #expect(lines[1].contains("AVERAGE-BANDWIDTH=\(514_000 / 4),"))
    #expect(lines[0].contains(":BANDWIDTH=\(StreamSimulation.configuration.bitrate / 2),"))
    #expect(lines[1].contains(":BANDWIDTH=\(514_000 / 2),"))
  }

  @Test(arguments: [(0.1, 0.2), (0.7, 1.4), (0.8, 1.5), (1, 1.5), (4, 6)])
  func `the largest segment to expect is twice the average, up to the encoder's limit`(
    share: Double, peak: Double
  ) throws {
    var simulation = GroupSimulation()
    simulation.group.encoderBitrate = Int(share * 2_364_000)
    #expect(try simulation.text("index.m3u8").contains(":BANDWIDTH=\(Int(peak * 2_364_000)),"))
  }

  @Test func `a player that measures four times the bitrate of what it loads keeps main, however little main needs`()
    throws
  {
    var simulation = GroupSimulation()
    simulation.watched = [("main", "live.m3u8")]
    try simulation.run(milliseconds: 6_000)
    let line = try #require(
      try simulation.text("index.m3u8").split(separator: "\n").first { $0.hasPrefix("#EXT-X-STREAM-INF:") })
    func value(_ name: String) throws -> Double {
      let attribute = line.dropFirst(18).split(separator: ",").first { $0.hasPrefix(name + "=") }
      return try #require(attribute.flatMap { Double($0.dropFirst(name.count + 1)) })
    }
    // 0.7 of the estimate is the threshold of hls.js for a better variant.
    #expect(try value("BANDWIDTH") < 4 * 0.7 * value("AVERAGE-BANDWIDTH"))
    #expect(try value("AVERAGE-BANDWIDTH") < Double(StreamSimulation.configuration.bitrate) / 10)
  }

  @Test func `the parts of a rendition that starts within a segment of a slow source keep HLS's rules`() throws {
    var simulation = GroupSimulation(framesPerSecond: 3)
    simulation.watched = [("main", "live.m3u8"), ("low", "live.m3u8"), ("low", "playlist.m3u8")]
    try simulation.run(milliseconds: 20_000)
    let low = Self.segments(try simulation.text("live.m3u8", of: "low"))
    #expect(low.count >= 5)
    for checker in simulation.checkers.values { #expect(checker.violations == []) }
  }

  @Test func `the first plain viewer of a rendition waits for its three segments, however long main's are`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [(nil, "live.m3u8")]
    try simulation.run(milliseconds: 8_050)
    let request = try #require(HLSRequest(file: "playlist.m3u8", query: "", arrival: simulation.now))
    var waited = 0
    while case .wait(let deadline) = simulation.group.respond(to: request, of: "low", at: simulation.now).response {
      #expect(deadline > simulation.now)
      waited += 100
      try simulation.run(milliseconds: 100)
    }
    guard case .content(let content) = simulation.group.respond(to: request, of: "low", at: simulation.now).response
    else {
      Issue.record("there is no playlist after \(waited) ms")
      return
    }
    #expect(Self.segments(String(buffer: content.body)).count >= 3)
    #expect(waited > 3_000 && waited <= 4_300)
  }

  @Test func `a viewer of a rendition alone starts, and every part of it starts with samples of its own`() throws {
    var simulation = GroupSimulation()
    guard case .wait = try simulation.respond("live.m3u8", of: "low") else {
      Issue.record("there is a playlist before the first sample")
      return
    }
    simulation.watched = [("low", "live.m3u8")]
    try simulation.run(milliseconds: 4_000)
    let text = try simulation.text("live.m3u8", of: "low")
    #expect(Self.segments(text).keys.min() == 0)
    for uri in text.split(separator: "\n").filter({ $0.hasSuffix(".m4s") }) {
      guard case .content(let content) = try simulation.respond(String(uri), of: "low") else {
        Issue.record("\(uri) is missing")
        continue
      }
      #expect(content.body.readableBytes > 15 * 300)
    }
    #expect(simulation.group.main.statistics.segments >= 3)
  }

  @Test func `renditions rest ten seconds after their last request, while main goes on`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [(nil, "live.m3u8")]
    try simulation.run(milliseconds: 3_000)
    _ = try simulation.respond("live.m3u8", of: "low")
    try simulation.run(milliseconds: 9_900)
    #expect(simulation.group.areRenditionsActive)
    try simulation.run(milliseconds: 300)
    #expect(!simulation.group.areRenditionsActive && simulation.group.main.isActive)
    let alone = try simulation.text("live.m3u8")
    #expect(!alone.contains("RENDITION-REPORT"))
    // Back again, it continues with main's numbers.
    _ = try simulation.respond("live.m3u8", of: "low")
    try simulation.run(milliseconds: 5_000)
    let low = Self.segments(try simulation.text("live.m3u8", of: "low"))
    let main = Self.segments(try simulation.text("live.m3u8"))
    #expect(!low.isEmpty)
    for (number, segment) in low { #expect(segment == Self.joined(main)[number]) }
    for checker in simulation.checkers.values { #expect(checker.violations == []) }
  }

  @Test func `an encoder that stops delivering delays no part of main`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [(nil, "live.m3u8"), ("low", "live.m3u8")]
    try simulation.run(milliseconds: 4_000)
    simulation.encodesLow = false
    try simulation.run(milliseconds: 4_000)
    for checker in simulation.checkers.values { #expect(checker.violations == []) }
    let (main, low) = (
      Self.segments(try simulation.text("live.m3u8")), Self.segments(try simulation.text("live.m3u8", of: "low"))
    )
    let (newest, newestLow) = (try #require(main.keys.max()), try #require(low.keys.max()))
    #expect(newest - newestLow <= 1)
  }

  @Test func `what was discarded is gone in each rendition`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [("low", "live.m3u8")]
    try simulation.run(milliseconds: 4_000)
    let uri = try #require(
      try simulation.text("live.m3u8", of: "low").split(separator: "\n").last { $0.hasSuffix(".m4s") })
    _ = simulation.group.discardEarlier()
    #expect(try simulation.respond(String(uri), of: "low") == .gone)
    try simulation.run(milliseconds: 4_000)
    let (main, low) = (try simulation.text("live.m3u8"), try simulation.text("live.m3u8", of: "low"))
    #expect(!Self.segments(low).isEmpty)
    for (number, segment) in Self.segments(low) { #expect(segment == Self.joined(Self.segments(main))[number]) }
    #expect(
      Self.value("#EXT-X-DISCONTINUITY-SEQUENCE", in: low) == Self.value("#EXT-X-DISCONTINUITY-SEQUENCE", in: main))
  }

  @Test func `at the end each rendition's playlist ends, and an unknown rendition is not found`() throws {
    var simulation = GroupSimulation()
    simulation.watched = [("low", "live.m3u8")]
    try simulation.run(milliseconds: 4_000)
    _ = simulation.group.end()
    #expect(try simulation.text("live.m3u8", of: "low").contains("#EXT-X-ENDLIST"))
    #expect(try simulation.text("live.m3u8").contains("#EXT-X-ENDLIST"))
    #expect(try simulation.respond("live.m3u8", of: "none") == .notFound)
    _ = simulation.group.remove("low")
    #expect(try simulation.respond("live.m3u8", of: "low") == .notFound)
    let rest = try simulation.text("index.m3u8")
    #expect(!rest.contains("low"))
  }
}
