import Foundation
import Testing

extension EndToEnd.WHIPPublishers {
  /// Video of a publisher is decoded, so that effects see its frames as those of a camera.
  @Test(.tags(.demanding)) func `a face that a publisher sends is covered once faces are private`() async throws {
    let source = [
      "--source", "whip:?token=\(Self.token)", "--size", "640x360", "--fps", "\(FaceClip.frameRate)",
      "--webrtc-port", "0", "--https-port", "0",
    ]
    try await VidiconProcess.serving(source) { vidicon in
      let seen = try await Self.publishing(
        {
          [
            "PYTHONPATH=\(try TestMedia.file("aiortc"))", "python3", TestMedia.client("whip_ffmpeg.py"),
            vidicon.page("/live/whip"), "--bearer", Self.token, "--until", $0, "--film",
            try TestMedia.file("single_face.mp4"),
          ]
        },
        {
          _ = try await Self.live(vidicon)
          let shown = try await FaceClip(vidicon.url(), frameCount: 10).brightest
          #expect(shown.count == 10 && shown.allSatisfy { $0 >= 60 }, "\(shown)")
          let answer = try await EndToEnd.LiveControl.send(
            "PUT", #"{"faces": "privacy"}"#, to: vidicon.page("/api/streams/live/effects"))
          try #require(answer.status == 200, "\(answer.text)")
          // Frames of a private round, and of the encoder's queue, are from before.
          let count = try await vidicon.status { _ in true }.framesEncoded ?? 0
          _ = try await vidicon.status { ($0.framesEncoded ?? 0) > count + FaceClip.frameRate }
          let covered = try await FaceClip(vidicon.url(), frameCount: 30).brightest
          #expect(covered.count == 30 && covered.allSatisfy { $0 < 60 }, "\(covered)")
        })
      #expect(seen.status == 201 && seen.encoded ?? 0 > 60)
    }
  }
}
