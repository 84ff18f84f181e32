import Capture
import CaptureDevices
import Media
import Synchronization
import Testing

@testable import StreamControl

@Suite("Source catalog")
struct SourceCatalogTests {
  @Test(
    arguments: [
      (nil, "tone"), ("plasma", "tone"), ("v4l2:/dev/video0", "mic"), ("rtsp://host/a", nil), ("screen:", nil),
    ] as [(SourceSpecification.Video?, String?)])
  func `auto is the audio of the video source that stays`(video: SourceSpecification.Video?, audio: String?) {
    let opened = Result { () throws(VidiconError) in
      try SourceCatalog.all.open(.init(audio: "auto", currentVideo: video)).audio
    }
    switch (opened, audio) {
    case (.success(let capturer), "tone"): #expect(capturer is ToneCapturer)
    case (.success(let capturer), "mic"): #expect(capturer is MicrophoneCapturer)
    case (.failure(let error), nil): #expect(error.code == .invalidSpecification && error.subject == "auto")
    default: Issue.record("\(opened) for \(video?.name ?? "no name")")
    }
  }

  @Test func `generated video has the requested size and rate`() throws {
    let opened = try SourceCatalog.all.open(.init(video: "bars", width: 64, height: 36, frameRate: 15))
    let format = try #require(opened.video).format
    #expect((format.width, format.height, format.frameRate) == (64, 36, 15))
    #expect(opened.audio == nil)
  }

  @Test func `an empty catalog opens nothing, and names the source`() {
    #expect(throws: VidiconError.self) { try SourceCatalog.none.open(.init(video: "plasma")) }
    #expect(SourceCatalog.none.generators.isEmpty && SourceCatalog.none.devices().isEmpty)
  }

  @Test func `a limited catalog lists and opens only sources that pass the test`() throws {
    let opened = Mutex<[SourceSpecification.Video?]>([])
    let catalog = SourceCatalog(
      devices: {
        ["v4l2:a", "v4l2:b"].map { CaptureDevice(kind: .camera, specification: $0, name: "", stableName: "") }
      }, generators: [.init(.video, "bars", name: "Bars"), .init(.audio, "tone", name: "Tone")]
    ) { request in
      opened.withLock { $0.append(request.video) }
      return .init()
    }
    .limited(to: { ["v4l2:b", "bars"].contains($0) })
    #expect(catalog.devices().map(\.specification) == ["v4l2:b"])
    #expect(catalog.generators.map(\.specification) == ["bars"])
    _ = try catalog.open(.init(video: "v4l2:b"))
    for request in [SourceCatalog.Request(video: "v4l2:a"), .init(video: "bars", audio: "tone")] {
      #expect(throws: VidiconError.self) { try catalog.open(request) }
    }
    #expect(opened.withLock { $0 } == ["v4l2:b"])
  }

  @Test func `each later query lists the devices again`() async {
    let count = Mutex(0)
    var catalog = SourceCatalog.none
    catalog.devices = {
      count.withLock { $0 += 1 }
      return []
    }
    #expect(await catalog.listDevices() == [])
    #expect(await catalog.listDevices() == [])
    #expect(count.withLock { $0 } == 2)
  }
}
