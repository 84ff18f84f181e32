import Foundation

/// The parsers of bytes from outside that fuzz targets reach, by the text of `Tests/FuzzBodies`.
enum ParserCoverage {
  /// A case of `FuzzedParser`.
  struct Parser {
    /// Name of the case.
    var name: Substring
    /// Module and file name of the parser.
    var file: String
    /// Words of the code that calls it.
    var words: Set<Substring> = []
  }

  /// The cases of `FuzzedParser`, with the branches of its `parse(_:)`.
  static func parsers() throws -> [Parser] {
    let files = try Repository.swiftFiles(in: "Tests/FuzzBodies")
    var parsers = files.flatMap { file in
      file.lines.compactMap { line -> Parser? in
        guard let match = line.text.wholeMatch(of: /case (\w+) = "(\w+\/[\w+]+)"/) else { return nil }
        return Parser(name: match.1, file: String(match.2))
      }
    }
    var index: Int?
    for line in files.first(where: { $0.path.hasSuffix("/FuzzedParser+Parsing.swift") })?.lines ?? [] {
      if line.code == "}" { index = nil }
      if let match = line.code.prefixMatch(of: /case \.(\w+):/) { index = parsers.firstIndex { $0.name == match.1 } }
      if let index { parsers[index].words.formUnion(line.words) }
    }
    return parsers
  }

  /// The module and file name of a source file, as `FuzzedParser` has them.
  static func name(of file: SwiftText) -> String {
    let parts = file.path.split(separator: "/")
    return "\(parts[1])/\(parts[parts.count - 1].dropLast(".swift".count))"
  }

  /// The types that a file declares or extends.
  static func types(in file: SwiftText) -> Set<Substring> {
    let kinds: Set<Substring> = ["struct", "class", "enum", "actor", "extension"]
    return Set(
      file.lines.compactMap { line in
        line.words.firstIndex(where: kinds.contains).flatMap { line.words.dropFirst($0 + 1).first }
      })
  }

  /// Files with parsers of another form: state machines that are fed, and decoders of libraries; with the type that a fuzz case makes,
  /// the file's or its owner. Headers of WAV and other files are none of them: libavformat reads those.
  static let filesOfOtherForm = [
    "Bitstreams/ImageStreamReader": "ImageStreamReader",
    "Bitstreams/JPEGStreamReader": "JPEGStreamReader",
    "CaptureDevices/CameraFormatChooser": "CameraFormatChooser",
    "Codecs/JPEGDecoder": "JPEGDecoder",
    "Containers/FragmentScanner": "MovieScan",
    "Containers/MovieScan": "MovieScan",
    "Effects/EffectSettings+JSON": "EffectSettings",
    "RTMP/AMF3Reader": "AMF3Reader",
    "RTMP/RTMPChunkReader": "RTMPChunkReader",
    "RTMP/RTMPHandshake": "RTMPServerSession",
    "RTP/AACDepacketizer": "AACDepacketizer",
    "RTP/H264Depacketizer": "H264Depacketizer",
    "Recording/UnfinishedRecording": "Recordings",
    "WebRTC/BandwidthEstimator": "WebRTCSession",
    "WebRTC/FramedDatagrams": "FramedDatagrams",
    "WebRTC/JitterBuffer": "WebRTCPublisherSession",
    "WebRTC/PublisherClock": "WebRTCPublisherSession",
    "WebRTC/RetransmissionHistory": "WebRTCSession",
    "WebRTC/SealedPacketHistory": "WebRTCSession",
    "WebRTC/TransportAddress": "TransportAddress",
    "WebRTC/TransportWideArrivals": "WebRTCPublisherSession",
    "WebRTC/TransportWideHistory": "WebRTCSession",
    "WebRTC/WebRTCPublisherSession": "WebRTCPublisherSession",
    "WebRTC/WebRTCSession+Reports": "WebRTCSession",
    "WebRTC/WebRTCTrackReceiver": "WebRTCPublisherSession",
    "WebRTC/WebRTCTransport": "WebRTCSession",
  ]
}
