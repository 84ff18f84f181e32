import ArgumentParser
import Capture
import Foundation
import Media
import Testing

@testable import CaptureDevices
@testable import VidiconCommand

@Suite("Check of cameras, microphones and the screen")
struct DeviceCheckTests {
  private static func configuration(_ arguments: String...) throws -> ServeConfiguration {
    try ServeConfiguration(unchecked: ServeCommand.parse(arguments))
  }

  /// A camera that offers uncompressed 640 by 480, and 1280 by 720 pixels at 10 frames per second.
  private static func camera(_ number: Int, problem: String? = nil) -> CaptureDevice {
    CaptureDevice(
      kind: .camera, specification: "v4l2:/dev/video\(number)", name: "HD Webcam",
      stableName: "usb-HD_Webcam-\(number)",
      formats: problem != nil
        ? []
        : [
          CaptureDeviceFormat(name: "YUYV", width: 640, height: 480, frameRates: .discrete([30, 15])),
          CaptureDeviceFormat(name: "YUYV", width: 1280, height: 720, frameRates: .discrete([10])),
        ], problem: problem)
  }

  private static let denied = "you may not open /dev/video0; run: sudo usermod -aG video door, then log in again"

  /// The finding of the only camera, after a change of its facts.
  private static func facts(
    _ change: (inout CameraFacts.Camera) -> Void, source: String? = "v4l2:"
  ) throws -> CheckFinding {
    let arguments = source.map { ["--source", $0] } ?? []
    let configuration = try ServeConfiguration(unchecked: ServeCommand.parse(arguments))
    var facts = CameraFacts(configuration, devices: [Self.camera(0)])
    change(&facts.cameras[0])
    return facts.findings[0]
  }

  @Test func `a camera that is not connected is a fault, and none that is not needed is all right`() throws {
    let missing = CameraFacts(try Self.configuration("--source", "v4l2:/dev/video9"), devices: [Self.camera(0)])
    #expect(
      missing.findings[0]
        == .fault(
          "camera v4l2:/dev/video9", "not connected, and the stream live shows it", .command("vidicon devices")))
    var none = CameraFacts(try Self.configuration("--source", "v4l2:Webcam"), devices: [])
    #expect(none.findings.map(\.verdict) == [.fault])
    none.isInContainer = true
    #expect("\(none.findings)".contains("--device /dev/video0"))
    #expect(CameraFacts(try Self.configuration("--source", "bars"), devices: []).findings.map(\.verdict) == [.ok])
    let chosen = CameraFacts(try Self.configuration(), devices: [])
    #expect(chosen.findings.map(\.verdict) == [.ok] && chosen.findings[0].meaning.contains("generates video"))
  }

  @Test func `a name that several cameras have is a fault, and one of a bus is found`() throws {
    let devices = [Self.camera(0), Self.camera(2)]
    let twins = CameraFacts(try Self.configuration("--source", "v4l2:hd webcam"), devices: devices)
    #expect(twins.findings[0].verdict == .fault && twins.findings[0].meaning.hasPrefix("several cameras"))
    let one = CameraFacts(try Self.configuration("--source", "v4l2:HD_Webcam-2"), devices: devices)
    #expect(one.ambiguous.isEmpty && one.cameras.map { $0.request != nil } == [false, true])
    let configuration = try Self.configuration("--source", "v4l2:usb-0000:00:14.0-1")
    let bus = CameraFacts(configuration, devices: devices) { _ in ["/dev/video2"] }
    #expect(bus.missing.isEmpty && bus.cameras.map { $0.request != nil } == [false, true])
  }

  @Test func `a camera of a group that this user is not in is a fault, with the command that joins it`() throws {
    let finding = try Self.facts {
      $0.missingGroup = "video"
      $0.problem = Self.denied
    }
    #expect(finding.verdict == .fault && finding.meaning.contains("the group video"))
    #expect(finding.remedy == .command("sudo usermod -aG video $USER  # then log in again"))
    // Users of a service may not last; its unit has the groups.
    var service = CameraFacts(cameras: [.init(specification: "v4l2:/dev/video0", name: "a", missingGroup: "plugdev")])
    service.isService = true
    #expect("\(service.findings)".contains("SupplementaryGroups=plugdev"))
    // Without a source the first camera is only tried; another source needs none.
    #expect(try Self.facts({ $0.missingGroup = "video" }, source: nil).verdict == .warning)
    #expect(try Self.facts({ $0.missingGroup = "video" }, source: "bars").verdict == .ok)
  }

  @Test func `a camera that another program has open is a warning that names it, unless that is vidicon`() throws {
    let finding = try Self.facts { $0.holder = "obs (process 7)" }
    #expect(finding.verdict == .warning && finding.meaning.hasPrefix("obs (process 7) has it open"))
    #expect(try Self.facts { $0.holder = "vidicon (process 7)" }.verdict == .ok)
  }

  @Test func `a camera with a problem is a fault with the problem's remedy`() throws {
    let facts = CameraFacts(
      try Self.configuration("--source", "v4l2:"),
      devices: [Self.camera(0, problem: "it does not respond; unplug it and plug it in again")])
    #expect(
      facts.findings == [
        .fault("camera v4l2:/dev/video0", "it does not respond", .advice("unplug it and plug it in again"))
      ])
  }

  @Test func `a camera that is smaller or slower than what is asked for is a warning with its best format`() throws {
    let slow = CameraFacts(try Self.configuration("--source", "v4l2:/dev/video0"), devices: [Self.camera(0)])
    #expect(slow.findings[0].verdict == .warning)
    #expect(slow.findings[0].meaning.contains("YUYV 1280x720 at 10 fps is its best"))
    let fast = CameraFacts(
      try Self.configuration("--source", "v4l2:webcam", "--size", "640x480"), devices: [Self.camera(0)])
    #expect(fast.findings == [.ok("camera v4l2:/dev/video0", "HD Webcam, YUYV 640x480 at 30 fps")])
    let other = CameraFacts(try Self.configuration("--source", "bars"), devices: [Self.camera(0)])
    #expect(other.findings.map(\.verdict) == [.ok])
  }

  @Test func `two cameras whose uncompressed video is too much for their bus are a warning`() throws {
    let configuration = try Self.configuration(
      "--stream", "name=a,source=v4l2:/dev/video0,size=640x480", "--stream",
      "name=b,source=v4l2:/dev/video1,size=640x480")
    var facts = CameraFacts(configuration, devices: [Self.camera(0), Self.camera(1)])
    for index in facts.cameras.indices {
      facts.cameras[index].bus = 3
      facts.cameras[index].speed = USBSpeed(megabitsPerSecond: 480)
    }
    // 2 · 640 · 480 · 2 · 30 is 36.9 MB/s, below 40.
    #expect(facts.findings.allSatisfy { $0.verdict == .ok })
    for index in facts.cameras.indices {
      facts.cameras[index].choice?.width = 800
      facts.cameras[index].choice?.height = 600
    }
    let finding = try #require(facts.findings.last)
    #expect(finding.subject == "USB bus 3" && finding.verdict == .warning)
    #expect(
      finding.meaning == "v4l2:/dev/video0 and v4l2:/dev/video1 together need 57 MB/s, and it carries 40 MB/s")
    facts.cameras[1].bus = 4
    #expect(facts.findings.allSatisfy { $0.verdict == .ok })
  }

  @Test func `a format of the list of devices is one of the chooser`() throws {
    for name in ["YUYV", "MJPG", "Y16", "0x12345678"] {
      let format = CaptureDeviceFormat(name: name, width: 640, height: 480, frameRates: .discrete([30]))
      #expect(try #require(CameraMode(format)).fourCC.description == name)
    }
    #expect(CameraMode(CaptureDeviceFormat(name: "YUYV", width: nil, height: nil, frameRates: .discrete([]))) == nil)
    #expect(CameraMode(CaptureDeviceFormat(name: "", width: 1, height: 1, frameRates: .discrete([]))) == nil)
  }

  private static func microphone(_ name: String, problem: String? = nil) -> CaptureDevice {
    CaptureDevice(
      kind: .microphone, specification: "mic:\(name)", name: "Microphone \(name)", stableName: name, problem: problem)
  }

  @Test func `a microphone that this user does not reach is a fault where a stream has it`() throws {
    let requested = try Self.configuration("--source", "bars", "--audio", "mic:")
    let none = MicrophoneFacts(requested, devices: []).findings
    #expect(none.map(\.verdict) == [.fault] && "\(none)".contains("start PipeWire or PulseAudio"))
    let denied = MicrophoneFacts(requested, devices: [Self.microphone("", problem: "a; run: b")]).findings
    #expect(denied == [.fault("microphone mic:", "a", .command("b"))])
    let other = try Self.configuration("--source", "bars", "--audio", "mic:C920")
    #expect(MicrophoneFacts(other, devices: [Self.microphone("Q2U")]).findings.map(\.verdict) == [.fault])
  }

  @Test func `a microphone that is there, or not needed, is all right`() throws {
    for audio in ["mic:", "mic:q2u", "none", "auto", "mic:hw:1,0"] {
      let configuration = try Self.configuration("--source", "bars", "--audio", audio)
      let devices = [Self.microphone("", problem: "a; b"), Self.microphone("Q2U")]
      #expect(MicrophoneFacts(configuration, devices: devices).findings.map(\.verdict) == [.ok], "\(audio)")
    }
    let automatic = try Self.configuration("--source", "v4l2:")
    #expect(MicrophoneFacts(automatic, devices: []).findings.map(\.verdict) == [.ok])
    let denied = MicrophoneFacts(automatic, devices: [Self.microphone("", problem: "a; b")]).findings
    #expect(denied.map(\.verdict) == [.warning])
  }

  @Test func `a screen without DISPLAY is a fault, and so is one that rejects this user`() {
    var facts = ScreenFacts(requests: [("live", nil)])
    #expect(facts.findings[0].verdict == .fault && facts.findings[0].meaning.hasPrefix("DISPLAY is not set"))
    facts.display = ":0"
    facts.problem = "the X server at :0 rejects the connection; run it as the user whose screen it is"
    #expect(
      facts.findings == [
        .fault(
          "screen", "the X server at :0 rejects the connection", .advice("run it as the user whose screen it is"))
      ])
    facts.requests = []
    #expect(facts.findings.map(\.verdict) == [.ok])
  }

  @Test func `a session of Wayland is a warning, since its windows stay black`() {
    var facts = ScreenFacts(display: ":0", isWayland: true, requests: [("live", nil)])
    #expect(facts.findings[0].verdict == .warning && facts.findings[0].meaning.contains("Wayland"))
    facts.isWayland = false
    #expect(facts.findings == [.ok("screen", "the X server at :0 responds")])
    facts.requests = [("live", ":1")]
    #expect(facts.findings.map(\.verdict) == [.ok])
  }
}
