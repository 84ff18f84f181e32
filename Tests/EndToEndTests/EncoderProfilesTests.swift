import Foundation
import Testing

extension EndToEnd {
  @Suite("Profiles of encoders")
  struct EncoderProfiles {
    /// A profile as the first bytes of a sequence parameter set have it, ITU-T H.264 §7.3.2.1.1.
    enum Profile: CaseIterable {
      case constrainedBaseline
      case main
      case high

      /// Compares `profile_idc`, and `constraint_set1_flag` where it belongs to the profile, §A.2.1.1.
      func isProfile(_ bytes: some Sequence<UInt8>) -> Bool {
        let bytes = Array(bytes)
        guard bytes.count == 3 else { return false }
        switch self {
        case .constrainedBaseline: return bytes[0] == 66 && bytes[1] & 0b0100_0000 != 0
        case .main: return bytes[0] == 77
        case .high: return bytes[0] == 100
        }
      }
    }

    /// `profile_idc`, flags and `level_idc` of the sequence parameter set in a session description.
    private static func parameters(_ path: String, of vidicon: VidiconProcess) throws -> [UInt8] {
      let description = try RTSPDialogue(port: vidicon.rtspPort, path: path)
        .ask("DESCRIBE", nil, ["Accept: application/sdp"]).body
      let match = try #require(description.firstMatch(of: /sprop-parameter-sets=([A-Za-z0-9+\/=]+),/), "\(description)")
      let set = Array(try #require(Data(base64Encoded: String(match.output.1))))
      // The NAL unit type of a sequence parameter set is 7.
      try #require(set.count > 4 && set[0] & 0b0001_1111 == 7)
      let announced = set[1..<4].map { String(format: "%02X", $0) }.joined()
      #expect(description.contains("profile-level-id=\(announced)"))
      return Array(set[1..<4])
    }

    @Test(
      arguments: [
        ([], .high), (["--profile", "auto"], .high), (["--webrtc", "off"], .high), (["--profile", "main"], .main),
        (["--profile", "high"], .high), (["--profile", "baseline"], .constrainedBaseline),
        (["--webrtc", "off", "--profile", "baseline"], .constrainedBaseline),
      ] as [([String], Profile)])
    func `the profile is that of the option, or High, with WebRTC as without, in all renditions`(
      options: [String], profile: Profile
    ) async throws {
      let stream = ["--source", "bars", "--size", "640x360", "--rendition", "name=low,size=320x180,bitrate=200k"]
      // Without an option for it, programs of other tests run without WebRTC.
      let options = options + (options.contains("--webrtc") ? [] : ["--webrtc", "on", "--webrtc-port", "0"])
      try await VidiconProcess.serving(stream + options) { vidicon in
        for path in ["/live", "/live/low"] {
          let parameters = try Self.parameters(path, of: vidicon)
          #expect(profile.isProfile(parameters), "\(path): \(parameters)")
          #expect(Profile.allCases.count { $0.isProfile(parameters) } == 1)
        }
        // The samples in HLS have the same parameter sets: the record of ISO/IEC 14496-15 §5.3.3.1.
        let files = try await HLSFiles(of: vidicon, stream: "/live")
        let head = try await Curl.get(vidicon.page(files.initialization)).body
        let box = try #require(head.firstRange(of: Array("avcC".utf8)))
        #expect(profile.isProfile(head[(box.upperBound + 1)..<(box.upperBound + 4)]))
        let isServed = try await Curl.get(vidicon.page("/live/whep"), ["-X", "POST"]).status != 404
        #expect(isServed == !options.contains("off"))
      }
    }

    @Test func `a source that is passed through keeps its profile, with WebRTC too`() async throws {
      let camera = ["--source", "bars", "--size", "640x360", "--fps", "15", "--webrtc", "off"]
      try await VidiconProcess.serving(camera) { camera in
        try await VidiconProcess.serving(["--source", camera.url()]) { vidicon in
          _ = try await vidicon.status { $0.framesPassedThrough ?? 0 > 15 && $0.framesEncoded == 0 }
          #expect(Profile.high.isProfile(try Self.parameters("/live", of: vidicon)))
        }
      }
    }

    @Test func `a recording without a server is in High`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/a.mp4"
        let run = try await VidiconProcess.run(
          ["record", path, "--source", "bars", "--size", "320x180", "--duration", "1"])
        #expect(run.0 == .status(0), "\(run.1)")
        let file = try Data(contentsOf: URL(filePath: path))
        let box = try #require(file.firstRange(of: Array("avcC".utf8)))
        #expect(Profile.high.isProfile(file[(box.upperBound + 1)..<(box.upperBound + 4)]))
      }
    }
  }
}
