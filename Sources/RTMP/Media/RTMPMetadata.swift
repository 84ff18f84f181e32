package import Media
internal import NIOCore

/// The metadata of a stream, `onMetaData`, FLV 10.1 Annex E.5.
package struct RTMPMetadata: Hashable, Sendable {
  /// Names and values, such as `width`, `height` and `framerate`.
  package var values: AMFObject

  /// The metadata of tracks.
  ///
  /// - Parameter bitrates: Target bitrates in bits per second; left out where they are not known.
  package init(_ descriptions: [CodecDescription], bitrates: (video: Int?, audio: Int?) = (nil, nil)) {
    var values: AMFObject = ["duration": 0]
    func add(_ name: String, _ value: AMFValue) { values.properties.append(.init(name: name, value: value)) }
    for description in descriptions {
      switch description {
      case .h264(let video):
        add("width", .number(Double(video.width)))
        add("height", .number(Double(video.height)))
        add("framerate", .number(video.frameRate.framesPerSecond))
        add("videocodecid", 7)
        if let rate = bitrates.video { add("videodatarate", .number(Double(rate) / 1000)) }
      case .aac(let audio):
        add("audiocodecid", 10)
        add("audiosamplerate", .number(Double(audio.format.sampleRate)))
        add("audiosamplesize", 16)
        add("audiochannels", .number(Double(audio.format.channelCount)))
        add("stereo", .boolean(audio.format.channelCount == 2))
        if let rate = bitrates.audio { add("audiodatarate", .number(Double(rate) / 1000)) }
      }
    }
    add("encoder", "Vidicon")
    self.values = values
  }

  /// The metadata in a data message: `onMetaData`, with `@setDataFrame` before it from publishers; nil when it has none.
  ///
  /// - Throws: The errors of ``AMF0Reader/next()``.
  package init?(parsing message: RTMPMessage) throws(ParsingError) {
    guard let values = try RTMPCommand.data(parsing: message) else { return nil }
    let names = values.prefix { $0.string != nil }
    guard names.last?.string == "onMetaData", let object = values.dropFirst(names.count).first?.object else {
      return nil
    }
    self.values = object
  }

  /// The data message for players; with `@setDataFrame`, by which a publisher makes a server keep it.
  package func message(timestamp: UInt32, streamID: UInt32, setsDataFrame: Bool = false) -> RTMPMessage {
    var payload = ByteBuffer()
    if setsDataFrame { AMFValue.string("@setDataFrame").serialize(into: &payload) }
    AMFValue.string("onMetaData").serialize(into: &payload)
    AMFValue.ecmaArray(self.values).serialize(into: &payload)
    return RTMPMessage(type: .dataAMF0, timestamp: timestamp, streamID: streamID, payload: payload)
  }
}
