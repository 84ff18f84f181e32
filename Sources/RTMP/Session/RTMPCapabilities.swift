/// Capabilities in `connect` and its result, RTMP 1.0 §7.2.1.1 and Enhanced RTMP v2.
enum RTMPCapabilities {
  /// Bits of `capsEx`, Enhanced RTMP v2 "Enhancing NetConnection connect Command".
  private enum Extended {
    static let reconnect = 0x01
    static let modEx = 0x04
  }

  /// FourCC codes with what can be done with each: 1 decode, 2 encode, 4 forward. H.264 and AAC only: other codecs are
  /// refused with a sentence.
  private static let codecs: (video: AMFValue, audio: AMFValue) = (
    .object(["avc1": 5]), .object(["mp4a": 5])
  )

  /// The information object in the result of `connect`.
  static let serverInformation: AMFObject = [
    "level": "status", "code": "NetConnection.Connect.Success", "description": "Connection succeeded.",
    "objectEncoding": 0, "videoFourCcInfoMap": codecs.video, "audioFourCcInfoMap": codecs.audio,
    "capsEx": .number(Double(Extended.modEx)),
  ]

  /// The properties of `connect` as client.
  ///
  /// - Parameters:
  ///   - application: First components of the path.
  ///   - url: The URL up to the application.
  ///   - publishes: Whether the client will publish, which encoders announce.
  static func clientProperties(application: String, url: String, publishes: Bool) -> AMFObject {
    var properties: AMFObject = [
      "app": .string(application), "type": "nonprivate",
      "flashVer": .string(publishes ? "FMLE/3.0 (compatible; Vidicon)" : "LNX 9,0,124,2"), "tcUrl": .string(url),
    ]
    if !publishes {
      // Bits of H.264 and AAC, §7.2.1.1.
      let media: AMFObject = ["fpad": false, "audioCodecs": 0x0400, "videoCodecs": 0x0080, "videoFunction": 1]
      properties.properties += media.properties
    }
    let extended: AMFObject = [
      "objectEncoding": 0, "fourCcList": .array(["avc1", "mp4a"]), "videoFourCcInfoMap": codecs.video,
      "audioFourCcInfoMap": codecs.audio, "capsEx": .number(Double(Extended.reconnect | Extended.modEx)),
    ]
    properties.properties += extended.properties
    return properties
  }

  /// Whether a client connects again when it is asked to.
  static func reconnectsOnRequest(_ properties: AMFObject) -> Bool {
    guard let number = properties["capsEx"]?.number, let bits = Int(exactly: number) else { return false }
    return bits & Extended.reconnect != 0
  }
}
