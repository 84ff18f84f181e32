import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  @Suite("Cameras and microphones that the program chooses itself")
  struct DefaultSources {
    /// Environment with three cameras, of which one works, and two microphones, of which the second belongs to that camera.
    private static func environment(in folder: String) throws -> [String: String] {
      let configuration = "\(folder)/asound.conf"
      let microphones = [("desk", "Desk Microphone"), ("own", "HD Webcam C920 Analog Stereo")]
      let text = microphones.map { name, description in
        "pcm.\(name) { type null hint { show on description \"\(description)\" } }\n"
      }
      try Data((text.joined() + "pcm.null { type null }\n").utf8).write(to: URL(fileURLWithPath: configuration))
      var environment = try FakeCamera.environment([
        "card=Busy Camera;buffers=16", "card=Locked Camera;open=13",
        "card=HD Webcam C920;formats=YUYV 320x240,640x480 30",
      ])
      environment["ALSA_CONFIG_PATH"] = configuration
      environment["HOME"] = folder
      return environment
    }

    private struct Device: Decodable {
      var kind: String
      var specification: String
      var name: String
      var problem: String?
    }

    private struct Devices: Decodable { var devices: [Device] }

    private struct Source: Decodable {
      var video: String
      var audio: String
    }

    @Test func `serve takes the first camera that works, with its own microphone`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(["--size", "320x240"], environment: Self.environment(in: folder)) { vidicon in
          let source = try await Curl.get(vidicon.page("/api/streams/live/source")).json(Source.self)
          #expect(source.video == "v4l2:/dev/video2" && source.audio == "mic:own")
          _ = try await vidicon.status { $0.framesEncoded ?? 0 > 30 && $0.isSlateShown == false }
          let lines = vidicon.child.errors.text.split(separator: "\n")
          #expect(
            lines.first { $0.contains("/dev/video0") }?.contains("it is in use by another program") == true, "\(lines)")
          #expect(
            lines.first { $0.contains("/dev/video1") }?.contains("you may not open /dev/video1") == true, "\(lines)")
          #expect(lines.count { $0.hasSuffix("trying the next source") } == 2, "\(lines)")
        }
      }
    }

    @Test func `devices lists cameras and microphones, with what is wrong with them`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let child = try ChildProcess(
          VidiconProcess.path(), ["devices", "--json"], environment: Self.environment(in: folder))
        let exit = await child.end(within: .seconds(30))
        #expect(exit == .status(0))
        await child.output.end()
        let devices = try JSONDecoder().decode(Devices.self, from: Data(child.output.text.utf8)).devices
        let cameras = devices.filter { $0.kind == "camera" }
        #expect(cameras.map(\.specification) == ["v4l2:/dev/video0", "v4l2:/dev/video1", "v4l2:/dev/video2"])
        // Whether another program uses a camera shows only when it is started.
        #expect(cameras[0].name == "Busy Camera" && cameras[0].problem == nil)
        #expect(cameras[1].problem?.contains("you may not open /dev/video1") == true)
        #expect(cameras[2].name == "HD Webcam C920" && cameras[2].problem == nil)
        let microphones = devices.filter { $0.kind == "microphone" }
        #expect(microphones.map(\.specification).contains("mic:own"), "\(microphones)")
        #expect(microphones.first { $0.specification == "mic:own" }?.name == "HD Webcam C920 Analog Stereo")
      }
    }
  }
}
