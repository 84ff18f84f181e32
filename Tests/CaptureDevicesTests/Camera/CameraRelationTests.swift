import Capture
import CaptureDevices
import Testing

@Suite("Relation of camera specifications", .timeLimit(.minutes(5)))
struct CameraRelationTests {
  private static let cameras = ["card=Desk", "path=/dev/video1;card=Door"]

  /// The relations of a camera to others.
  private static func relations(of camera: String, to others: [String], isRunning: Bool = true) throws -> [String] {
    try CameraProbe.play(camera, cameras: self.cameras) { probe in
      if isRunning { try probe.send("start") }
      return try others.map { other in
        try #require(try probe.send("relation \(other)").first { $0.name == "relation" }).words.joined()
      }
    }
  }

  @Test func `all names of a camera are the same device, with or without other options, and other cameras are not`()
    throws
  {
    let names = ["/dev/video0", "Desk", "desk", "Des", "?", "/dev/video0?size=640x480", "Desk?fps=15", "?format=mjpeg"]
    let others = ["/dev/video1", "Door", "/dev/video9", "Attic", "/dev/video1?size=640x480"]
    for isRunning in [true, false] {
      #expect(
        try Self.relations(of: "/dev/video0", to: names + others, isRunning: isRunning)
          == Array(repeating: "same", count: 5) + Array(repeating: "sameWithOtherOptions", count: 3)
          + Array(repeating: "otherDevice", count: 5))
    }
    #expect(
      try Self.relations(of: "Door?fps=15", to: ["/dev/video1?fps=15", "/dev/video1"]) == [
        "same", "sameWithOtherOptions",
      ])
    // Without a device, the camera that opened counts.
    #expect(try Self.relations(of: "?", to: ["/dev/video0", "/dev/video1"]) == ["same", "otherDevice"])
  }
}
