import Media
import NIOCore
import NIOEmbedded
import Serving
import Streaming
import Synchronization
import Testing

@testable import RTMPServer

@Suite("Drop policy of slow RTMP viewers")
struct RTMPSlowViewerTests {
  private let server: EmbeddedRTMPServer

  init() throws { self.server = try EmbeddedRTMPServer() }

  /// A viewer that plays, with everything received; its keyframe has the time 1000.
  private func playing() throws -> EmbeddedRTMPClient {
    let client = try self.server.connect()
    self.server.sendVideo(at: 1000, isKeyframe: true)
    #expect(try client.received().last == "keyframe 2000")
    return client
  }

  @Test func `a viewer whose chunks are unsent for less than a second gets all of them`() throws {
    let client = try self.playing()
    client.setWritable(false)
    self.server.sendVideo(at: 1033)
    self.server.sendAudio(at: 1040)
    self.server.loop.advanceTime(by: .milliseconds(900))
    self.server.sendVideo(at: 1967)
    #expect(try client.received() == [])
    client.setWritable(true)
    #expect(try client.received() == ["frame 2033", "audio 2040", "frame 2967"])
    #expect(self.server.output.statistics.framesSkipped == 0)
  }

  @Test func `a slow viewer is skipped and resumes at a keyframe, other viewers miss nothing`() throws {
    let (slow, fast) = (try self.server.connect(), try self.server.connect())
    self.server.sendVideo(at: 1000, isKeyframe: true)
    _ = (try slow.received(), try fast.received())
    let requests = self.server.stream.statistics.keyframeRequests

    slow.setWritable(false)
    self.server.sendVideo(at: 1033)
    self.server.sendAudio(at: 1040)
    self.server.loop.advanceTime(by: .seconds(1))
    self.server.sendVideo(at: 2067, isKeyframe: true)
    #expect(try slow.received() == [])
    #expect(self.server.output.statistics.framesSkipped == 2)
    #expect(self.server.stream.statistics.keyframeRequests == requests)

    slow.setWritable(true)
    #expect(self.server.stream.statistics.keyframeRequests == requests + 1)
    self.server.sendVideo(at: 2100)
    self.server.sendAudio(at: 2110)
    #expect(try slow.received() == ["audio 3110"])
    #expect(self.server.output.statistics.framesSkipped == 3)

    self.server.sendVideo(at: 2133, isKeyframe: true)
    self.server.sendVideo(at: 2167)
    #expect(try slow.received() == ["keyframe 3133", "frame 3167"])
    #expect(self.server.output.statistics.framesSkipped == 3)
    #expect(
      try fast.received() == [
        "frame 2033", "audio 2040", "keyframe 3067", "frame 3100", "audio 3110", "keyframe 3133", "frame 3167",
      ])
  }

  @Test func `a viewer that reads nothing is closed after ten seconds to the millisecond, and counted`() throws {
    let client = try self.playing()
    client.setWritable(false)
    self.server.sendVideo(at: 1033)
    self.server.loop.advanceTime(by: .milliseconds(9_999))
    #expect(client.isOpen)
    self.server.loop.advanceTime(by: .milliseconds(1))
    #expect(!client.isOpen)
    #expect(self.server.output.statistics.viewersClosedAsSlow == 1)
    #expect(self.server.output.statistics.viewers == 0)
  }

  @Test func `the log has the beginning and the end of a slow viewer's visit, with the cause`() throws {
    let events = Mutex<[ServerEvent]>([])
    let server = try EmbeddedRTMPServer(
      registry: ConnectionRegistry(maximumCount: 10, log: { event in events.withLock { $0.append(event) } }))
    let client = try server.connect()
    server.sendVideo(at: 1000, isKeyframe: true)
    _ = try client.received()
    client.setWritable(false)
    server.sendVideo(at: 1033)
    server.loop.advanceTime(by: .seconds(10))
    #expect(!client.isOpen)
    let all = events.withLock { $0 }
    guard all.count == 2, case .viewerJoined(let joined) = all[0], case .viewerLeft(let left, let duration) = all[1]
    else {
      Issue.record("no visit: \(all)")
      return
    }
    #expect(joined.protocolName == "rtmp" && joined.stream == "hello" && joined.end == .client)
    #expect(left.end == .slow && duration >= .seconds(10))
  }

  @Test func `a viewer that is writable again in time is not closed, however often`() throws {
    let client = try self.playing()
    for round in Int64(0)..<5 {
      client.setWritable(false)
      self.server.sendVideo(at: 1033 + round)
      self.server.loop.advanceTime(by: .milliseconds(9_900))
      client.setWritable(true)
      self.server.loop.advanceTime(by: .milliseconds(200))
      #expect(client.isOpen, "round \(round)")
      self.server.sendVideo(at: 1066 + round, isKeyframe: true)
      #expect(try client.received() == ["keyframe \(2066 + round)"], "round \(round)")
    }
    #expect(self.server.output.statistics.viewersClosedAsSlow == 0)
    #expect(self.server.output.statistics.framesSkipped == 5)
  }

  @Test func `a slow viewer of a stream without video resumes at the next audio, and asks for no keyframe`() throws {
    let server = try EmbeddedRTMPServer([EmbeddedRTMPServer.aac])
    let client = try server.connect()
    server.sendAudio(at: 500)
    #expect(try client.received() == ["onMetaData 0", "AAC 2000", "audio 2000"])
    let requests = server.stream.statistics.keyframeRequests
    client.setWritable(false)
    server.sendAudio(at: 521)
    server.loop.advanceTime(by: .seconds(1))
    server.sendAudio(at: 1600)
    #expect(try client.received() == [])
    client.setWritable(true)
    server.sendAudio(at: 1621)
    #expect(try client.received() == ["audio 3121"])
    #expect(server.output.statistics.framesSkipped == 0)
    #expect(server.stream.statistics.keyframeRequests == requests)
  }

  @Test func `a viewer whose socket is full before its keyframe starts once it takes bytes`() throws {
    let client = try self.server.connect()
    client.setWritable(false)
    self.server.sendVideo(at: 1000)
    client.setWritable(true)
    self.server.sendVideo(at: 1033, isKeyframe: true)
    #expect(try client.received() == ["onMetaData 0", "AVC 2033", "AAC 2033", "keyframe 2033"])
    #expect(self.server.output.statistics.framesSkipped == 0)
  }
}
