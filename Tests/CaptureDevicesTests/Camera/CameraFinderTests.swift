import Capture
import Foundation
import Media
import TestSupport
import Testing

@testable import CaptureDevices

@Suite("Camera finder")
struct CameraFinderTests {
  private static func camera(_ path: String, _ card: String, bus: String, byID: String? = nil) -> CameraFinder.Found {
    CameraFinder.Found(
      path: path, identity: V4L2Device.Identity(driver: "uvcvideo", card: card, bus: bus, isMultiPlanar: false),
      byID: byID)
  }

  private static let cameras = [
    camera("/dev/video0", "HD Webcam", bus: "usb-0000:00:14.0-1", byID: "usb-ACME_HD_Webcam_1234-video-index0"),
    camera("/dev/video2", "HD Webcam Pro", bus: "usb-0000:00:14.0-2"),
    camera("/dev/video4", "Capture Card", bus: "PCI:0000:03:00.0"),
  ]

  private func match(_ name: String, among cameras: [CameraFinder.Found] = cameras) throws(VidiconError) -> String {
    try CameraFinder.match(name, among: cameras, source: "v4l2:\(name)")
  }

  @Test(arguments: [
    ("HD Webcam", "/dev/video0"),  // An equal name takes precedence over a prefix.
    ("hd webcam p", "/dev/video2"), ("capture", "/dev/video4"), ("CARD", "/dev/video4"), ("pro", "/dev/video2"),
    ("usb-0000:00:14.0-2", "/dev/video2"), ("usb-acme_hd_webcam_1234-video-index0", "/dev/video0"),
    ("PCI:", "/dev/video4"), ("HD Webcam Pro (usb-0000:00:14.0-2)", "/dev/video2"), ("1234", "/dev/video0"),
  ]) func `a name selects the camera that it matches best`(name: String, path: String) throws {
    #expect(try self.match(name) == path)
  }

  @Test func `an ambiguous name is an error that lists the matches`() {
    let error = #expect(throws: VidiconError.self) { try self.match("webcam") }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.cause.contains("/dev/video0 (HD Webcam, usb-ACME_HD_Webcam_1234-video-index0)") == true)
    #expect(error?.cause.contains("/dev/video2 (HD Webcam Pro, usb-0000:00:14.0-2)") == true)
    #expect(error?.cause.contains("Capture Card") == false)
  }

  @Test func `an unknown name is an error that lists the cameras`() {
    let error = #expect(throws: VidiconError.self) { try self.match("Kamera") }
    #expect(error?.code == .notFound)
    #expect(error?.nextStep.contains("/dev/video4 (Capture Card, PCI:0000:03:00.0)") == true)
    let none = #expect(throws: VidiconError.self) { try self.match("Kamera", among: []) }
    #expect(none?.nextStep == "plug in a camera; none is connected")
  }

  @Test func `a lost camera is recognized by node, port and model`() {
    let lost = Self.cameras[0]
    func places(_ cameras: [CameraFinder.Found], byPath: Bool = true) -> [String] {
      CameraFinder.places(of: lost.identity, at: lost.path, among: cameras, isChosenByPath: byPath)
    }
    #expect(places(Self.cameras) == ["/dev/video0"])
    #expect(places([Self.cameras[1], Self.cameras[2]]) == [])
    // At another node on the same port, or at its node on another port.
    let moved = Self.camera("/dev/video7", "HD Webcam", bus: lost.identity.bus)
    #expect(places([moved, Self.cameras[1]]) == ["/dev/video7"])
    let elsewhere = Self.camera("/dev/video0", "HD Webcam", bus: "usb-0000:00:14.0-9")
    #expect(places([moved, elsewhere]) == ["/dev/video0", "/dev/video7"])
    // At another node and port: only without a requested path, and as the only camera of its model.
    let both = Self.camera("/dev/video8", "HD Webcam", bus: "usb-0000:00:14.0-9")
    #expect(places([both]) == [])
    #expect(places([both], byPath: false) == ["/dev/video8"])
    let twin = Self.camera("/dev/video9", "HD Webcam", bus: "usb-0000:00:14.0-8")
    #expect(places([both, twin], byPath: false) == [])
  }

  @Test func `the process that has a file open is found`() throws {
    let path = try TestMedia.path("held", bytes: Data([1]))
    #expect(DeviceHolder.find(path: path) == nil)
    let holder = Process()
    holder.executableURL = URL(fileURLWithPath: "/bin/sh")
    holder.arguments = ["-c", "exec 3<'\(path)'; echo; read line"]
    let (input, output) = (Pipe(), Pipe())
    holder.standardInput = input
    holder.standardOutput = output
    try holder.run()
    defer { holder.terminate() }
    #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
    let found = try #require(DeviceHolder.find(path: path))
    #expect(found.process == holder.processIdentifier && found.name == "sh" && !found.isThisProcess)
    let busy = V4L2Failure(call: .format, number: EBUSY).vidiconError(source: "v4l2:\(path)", path: path)
    #expect(busy.cause == "it is in use by sh (process \(holder.processIdentifier))")

    #expect(DeviceHolder.findOther(path: path) == found)
    #expect(DeviceHolder.findOther(name: "sh", user: getuid()) != nil)
    #expect(DeviceHolder.findOther(name: "sh", user: .max) == nil && DeviceHolder.findOther(name: "none") == nil)

    let link = path + ".link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
    #expect(DeviceHolder.find(path: link) == found)
    // This process comes last and once, however often it has the file open.
    let files = try (0..<2).map { _ in try #require(FileHandle(forReadingAtPath: path)) }
    defer { for file in files { try? file.close() } }
    // A process that another test just starts has copies of the files until it executes its program.
    let all = DeviceHolder.find { $0 == path }.filter { $0.isThisProcess || $0.process == holder.processIdentifier }
    #expect(all.map(\.isThisProcess) == [false, true])
    #expect(all.last?.description == "another stream of this program")
  }
}
