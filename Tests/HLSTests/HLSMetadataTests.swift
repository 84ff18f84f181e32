import Containers
import HLSRules
import Media
import NIOCore
import Testing
import TransportStreams

@testable import HLS

@Suite("HLS: timed metadata")
struct HLSMetadataTests {
  /// Adds metadata for each of a number of frames, one frame ahead, with a viewer.
  private func simulation(frames: Int) -> StreamSimulation {
    var simulation = StreamSimulation()
    simulation.run(until: 0)
    for index in 0..<frames {
      let time = FrameRate(30).time(ofFrame: Int64(index), from: StreamSimulation.start)
      simulation.stream.consume(TimedMetadata(time: time, name: "face", text: "\(index)"))
      simulation.run(until: Int64(index + 1) * 1000 / 30)
    }
    return simulation
  }

  private func files(_ simulation: inout StreamSimulation, _ playlist: String) throws -> [(
    uri: String, bytes: ByteBuffer
  )] {
    var files: [(uri: String, bytes: ByteBuffer)] = []
    for segment in MediaPlaylistText(simulation.text(playlist) ?? "").segments {
      for uri in playlist == "live.m3u8" ? segment.parts.map(\.uri) : [segment.uri ?? ""] {
        guard case .content(let content)? = simulation.ask(uri) else { throw HLSMissing(file: uri) }
        files.append((uri, content.body))
      }
    }
    return files
  }

  private struct HLSMissing: Error {
    var file: String
  }

  @Test func `each part has the metadata of its frames, before the fragment`() throws {
    var simulation = self.simulation(frames: 90)
    let files = try self.files(&simulation, "live.m3u8")
    #expect(files.count >= 12)
    var number = 0
    for (_, bytes) in files {
      let boxes = try MP4Box.boxes(in: bytes)
      #expect(boxes.map(\.type) == Array(repeating: "emsg", count: boxes.count - 2) + ["moof", "mdat"])
      let table = try boxes[boxes.count - 2].children().first { $0.type == "traf" }
      let run = try #require(table).child("trun").full().content
      #expect(run.getInteger(at: run.readerIndex, as: UInt32.self) == UInt32(boxes.count - 2))
      for box in boxes.dropLast(2) {
        #expect(String(buffer: box.content).hasSuffix("face\0\(number)"))
        number += 1
      }
    }
  }

  @Test func `MPEG-TS has metadata at the time of the frame, and announces it in its tables`() throws {
    var simulation = self.simulation(frames: 120)
    let files = try self.files(&simulation, "playlist.m3u8")
    #expect(files.count >= 2)
    for (_, bytes) in files.dropFirst() {
      var demuxer = TransportStreamDemuxer()
      var times: [UInt16: [UInt64?]] = [:]
      for event in demuxer.demux(bytes) + demuxer.finish() {
        switch event {
        case .programMap(let map): #expect(map.streams.map(\.type) == [.h264, .adtsAAC, .metadata])
        case .packet(let packet, _, let identifier):
          times[identifier, default: []].append(packet.presentationTimestamp)
        case .clock: break
        }
      }
      #expect(demuxer.damageCount == 0)
      #expect(times[0x100]?.isEmpty == false)
      #expect(times[0x102] == times[0x100], "one for each frame, at its time")
    }
    #expect(simulation.violations.isEmpty)
  }

  @Test func `without viewers nothing is retained, and metadata is announced from the first segment on`() throws {
    var simulation = StreamSimulation()
    simulation.watched = []
    simulation.run(until: 1_000)
    simulation.stream.consume(TimedMetadata(time: simulation.now, name: "face", text: "nobody"))
    #expect(simulation.stream.statistics == HLSStatistics())
    simulation.watched = ["playlist.m3u8"]
    simulation.run(until: 4_000)
    let files = try self.files(&simulation, "playlist.m3u8")
    var demuxer = TransportStreamDemuxer()
    guard case .programMap(let map)? = demuxer.demux(try #require(files.first).bytes).first else {
      Issue.record("no map")
      return
    }
    #expect(map.version == 1 && map.streams.count == 3)
    for (_, bytes) in files { #expect(!String(buffer: bytes).contains("nobody")) }
  }

  @Test func `metadata out of order is dropped, and queued metadata is bounded`() {
    let time = MediaTime.zero + .seconds(100)
    var segmenter = HLSSegmenter(
      StreamSimulation.descriptions(.init()), timing: HLSTiming(StreamSimulation.descriptions(.init())),
      startSegments: 1,
      isDiscontinuous: false)
    for index in 0..<1000 {
      segmenter.append(TimedMetadata(time: time + .milliseconds(Int64(index)), name: "", text: "\(index)"))
      segmenter.append(TimedMetadata(time: time - .milliseconds(1), name: "", text: "late"))
    }
    var cuts: [HLSSegmenterAction] = []
    for index in 0..<60 {
      let start = time + .milliseconds(Int64(index) * 33)
      cuts += segmenter.append(
        EncodedSample(
          kind: .video, payload: StreamSimulation.payload(10, first: 0x65), presentationTime: start,
          duration: .milliseconds(33), isKeyframe: index == 0), at: start)
      cuts += segmenter.append(
        EncodedSample(
          kind: .audio, payload: StreamSimulation.payload(10, first: 0x21), presentationTime: start,
          duration: .milliseconds(33), isKeyframe: true), at: start)
    }
    var texts: [String] = []
    for case .part(let part) in cuts { texts += part.metadata.map(\.text) }
    #expect(texts == (1000 - HLSSegmenter.maximumMetadataCount..<1000).map { "\($0)" })
  }
}
