import Foundation
import Media
import NIOCore
import Testing

@testable import RTMP

/// Dialogues with other programs as they sent their side, behind the handshake: FFmpeg 5.1, GStreamer 1.22 (rtmp2src,
/// rtmp2sink), rtmpdump 2.4, nginx 1.22 with its RTMP module 1.2.2. VLC 3.0 sends the same bytes as FFmpeg.
@Suite("Recorded peers")
struct RecordedPeersTests {
  private static func capture(_ name: String) throws -> ByteBuffer {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return ByteBuffer(bytes: try Data(contentsOf: tests.appending(path: "Captures/rtmp-\(name).rtmp")))
  }

  /// Feeds a server the handshake of an attentive client and what a program has sent, in pieces, accepting its request.
  private static func serve(
    _ bytes: ByteBuffer, inPiecesOf size: Int
  ) -> (events: [String], published: [RTMPMessage], sent: ByteBuffer) {
    var input = ByteBuffer(bytes: [3] + [UInt8](repeating: 0, count: 2 * 1536))
    input.writeImmutableBuffer(bytes)
    var session = RTMPServerSession(now: .zero, makeRandom: { 1 })
    var (events, published, sent): ([String], [RTMPMessage], ByteBuffer) = ([], [], ByteBuffer())
    func perform(_ actions: [RTMPServerAction]) {
      for action in actions {
        switch action {
        case .send(var bytes): sent.writeBuffer(&bytes)
        case .decide(let request):
          events.append("\(request.purpose) \(request.paths.last ?? "")")
          perform(session.accept(now: .zero))
        case .startPlaying: events.append("start")
        case .stopPlaying, .stopPublishing: events.append("stop")
        case .publish(let message): published.append(message)
        case .close(let reason): events.append("close \(reason)")
        }
      }
    }
    while let piece = input.readSlice(length: min(size, input.readableBytes)), piece.readableBytes > 0 {
      perform(session.receive(piece, now: .zero))
    }
    return (events, published, sent)
  }

  @Test(arguments: ["ffmpeg-play", "gstreamer-play", "rtmpdump-play"], [1, 64, 100_000])
  func `players are served`(name: String, size: Int) throws {
    let (events, published, sent) = Self.serve(try Self.capture(name), inPiecesOf: size)
    // rtmpdump was interrupted in order.
    #expect(events == ["play hello", "start"] + (name == "rtmpdump-play" ? ["stop"] : []))
    #expect(published.isEmpty)
    #expect(sent.readableBytes > 3073 && sent.readableBytes < 5000)
  }

  @Test(arguments: [("ffmpeg-publish", 9, 14), ("gstreamer-publish", 10, 11)], [1, 64, 100_000])
  func `publishers' samples are read`(publisher: (name: String, frames: Int, audio: Int), size: Int) throws {
    let (events, published, _) = Self.serve(try Self.capture(publisher.name), inPiecesOf: size)
    #expect(events == ["publish hello", "stop"])
    var depacketizer = RTMPDepacketizer()
    var (kinds, samples): ([MediaKind], [EncodedSample]) = ([], [])
    for message in published {
      for output in try depacketizer.depacketize(message) {
        switch output {
        case .description(let description): kinds.append(description.kind)
        case .sample(let sample): samples.append(sample)
        case .unsupported, .missingKeyframe: Issue.record("\(output)")
        }
      }
    }
    #expect(Set(kinds) == [.video, .audio] && kinds.count == 2)
    let frames = samples.filter { $0.kind == .video }
    #expect(frames.count == publisher.frames && samples.count - frames.count == publisher.audio)
    #expect(frames.map(\.isKeyframe) == [true] + Array(repeating: false, count: publisher.frames - 1))
    #expect(depacketizer.droppedSampleCount == 0)
    let distances = zip(frames, frames.dropFirst()).map { $1.decodeTime - $0.decodeTime }
    #expect(distances.allSatisfy { (.milliseconds(32)...(.milliseconds(35))).contains($0) })
    let times = samples.map(\.presentationTime)
    #expect((times.max() ?? .zero) - (times.min() ?? .zero) < .milliseconds(400))
  }

  @Test(
    arguments: [
      ("nginx", "rtmp://127.0.0.1:19361/live/secretkey"), ("ffmpeg-listen", "rtmp://127.0.0.1:19362/live/k"),
    ], [1, 64, 100_000])
  func `servers accept a publisher`(server: (name: String, url: String), size: Int) throws {
    var session = RTMPClientSession(
      url: try RTMPURL(parsing: server.url), purpose: .publish, now: .zero, makeRandom: { 1 })
    var events: [String] = []
    func perform(_ actions: [RTMPClientSession.Action]) {
      for action in actions {
        switch action {
        case .send: break
        case .started: events.append("started")
        case .media, .reconnect: events.append("unexpected")
        case .close(let failure): events.append("close \(failure)")
        }
      }
    }
    perform(session.start(now: .zero))
    var input = ByteBuffer(bytes: [3] + [UInt8](repeating: 0, count: 2 * 1536))
    input.writeImmutableBuffer(try Self.capture(server.name))
    while let piece = input.readSlice(length: min(size, input.readableBytes)), piece.readableBytes > 0 {
      perform(session.receive(piece, now: .zero))
    }
    #expect(events == ["started"])
    #expect(session.isStreaming && session.streamID == 1)
  }
}
