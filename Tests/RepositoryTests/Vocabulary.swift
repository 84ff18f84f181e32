import Foundation

/// The project's words (see CONTRIBUTING.md), as far as a program can check them.
enum Vocabulary {
  /// Identifiers that were replaced by the field's term, with that term.
  static let replacedIdentifiers: [String: String] = [
    "AttachedEffects": "RegisteredStream", "AttachedRecorders": "RegisteredStream",
    "AttachedSources": "RegisteredStream",
    "AudioMailbox": "AudioInputQueue", "BitstreamError": "ParsingError", "CaptureError": "VidiconError",
    "CaptureThread": "WorkerThread", "CodecError": "VidiconError", "CompressedPictures": "GOPCache",
    "ContainerError": "ParsingError", "Mailbox": "InputQueue", "Once": "OnceAction", "Turns": "AsyncMutex",
    "DecodedPictures": "DecodedFrameConverter",
    "DecodedSound": "DecodedAudioConverter", "EffectStudio": "EffectFactory", "H264VideoUsability": "VUIParameters",
    "HLSAnswer": "HLSResponse", "HLSCut": "HLSSegmenterAction", "HTTPAnswer": "ServerResponse",
    "HTTPServerControl": "StreamControl", "HTTPServerDevices": "SourceCatalog", "HTTPServerEffects": "StreamControl",
    "HTTPServerExtras": "WebServerProviders", "HTTPServerRecorder": "RecordingControl",
    "Handover": "TransferBox", "JPEGPictures": "JPEGDecoder",
    "Patience": "withTimeout", "PictureConverter": "SwscaleConverter", "PictureQueue": "FrameQueue",
    "PlainMovie": "ProgressiveMP4", "RTPError": "ParsingError", "RTPSequence": "RTPSenderState",
    "RTSPError": "ParsingError", "ReconnectDelay": "RetryBackoff", "RecordingBoard": "RecordingStatusStore",
    "RetryDelay": "RetryBackoff", "SharedQuestion": "SingleFlight", "SoundPassage": "AACPassthrough",
    "SourceOffer": "SourceCatalog", "SourceOpenness": "SourceAccessPolicy", "SourceSeat": "SourceSlot",
    "VideoMailbox": "VideoInputQueue", "VideoPipelineState": "VideoSchedule",
    "WakeUp": "WakePipe", "importanceMask": "nalRefIDCMask", "mailbox": "inputQueue",
    "pauseEncoding": "isEncodingPaused",
    "Trouble": "TrackingError", "drawCentred": "drawCentered", "patience": "timeout", "presentFeed": "currentFeed",
    "presentVideo": "currentVideo", "seat": "slot", "settled": "returned", "studio": "factory",
    "takeAudio": "dequeueAudio", "takeFrame": "dequeueFrame", "takeNext": "dequeueNext",
    "LoginWay": "LoginMethod", "captureDelay": "captureLatency", "checkRoom": "checkFreeSpace", "giveUp": "failCheck",
    "hasRoom": "hasFreeSpace", "keyframeLateness": "keyframeTimeout", "onTheirWay": "inFlight", "owed": "pendingCells",
    "owedCount": "pendingCount", "shakeHands": "continueHandshake", "takeAll": "dequeueAll",
    "wantedPlayback": "requestedPlayback", "wantsFineMesh": "needsFineMesh", "wantsPacket": "needsPacket",
    // Words of one sense, docs/decisions/2026-11-28-words.md.
    "CameraPlayback": "CameraCaptureLoop", "FaceFeed": "FaceEventOutput", "FilePlayback": "FileDecoder",
    "MicrophonePlayback": "MicrophoneCaptureLoop", "PipePlayback": "PipeCaptureLoop",
    "Publications": "StreamRegistry", "PublishedStream": "ServedStream", "PublishedStreams": "ServedStreams",
    "RTMPTracks": "RTMPStreamPacketizer", "RTPBroadcaster": "RTPOutput", "RTPTracks": "RTPStreamPacketizer",
    "RenditionFeed": "RenditionScaler", "ScreenPlayback": "ScreenCaptureLoop",
    "WebRTCBroadcaster": "WebRTCOutput",
    "WebRTCPublication": "WebRTCPushAnswer", "WebRTCPublishOffer": "WebRTCPushOffer",
    "WebRTCTracks": "WebRTCStreamPacketizer",
  ]

  /// Parts of identifiers that have a field's term, in lower case.
  static let replacedParts: [String: String] = [
    "centre": "center", "colour": "color", "neighbour": "neighbor", "picture": "frame", "sound": "audio",
    "steer": "control",
  ]

  /// Beginnings of identifiers for the ends of a range, with the word for them.
  static let replacedPrefixes: [String: String] = [
    "greatest": "maximum", "least": "minimum", "longest": "maximum", "most": "maximum", "shortest": "minimum",
    "smallest": "minimum",
  ]

  /// Whole identifiers, and ends of others, for the ends of a range, with the word for them; "atLeast" is a label of arguments.
  static let replacedSuffixes: [String: String] = ["greatest": "maximum", "least": "minimum", "longest": "maximum"]

  /// Terms of standards, of libraries and of the HTTP API that contain such a part, in lower case.
  static let standardParts = [
    "pictureparameterset", "pictureset", "pictureordercount", "av_picture_type", "soundcard", "steerable",
    "pictureloss", "colourdescription", "colour_", "greatestcommondivisor", "asoundlib",
    "pictureinpicture", "pictureid",
  ]

  /// Words of comments and of test names that the field has a term for, with that term.
  static let replacedWords: [String: String] = [
    "analyse": "analyze", "analysed": "analyzed", "anew": "again", "artefact": "artifact", "artefacts": "artifacts",
    "behaviour": "behavior", "catalogue": "catalog", "centre": "center", "centred": "centered", "centres": "centers",
    "colour": "color", "coloured": "colored", "colours": "colors", "grey": "gray", "handed": "passed",
    "greatest": "maximum", "honour": "honor", "honours": "honors", "initialiser": "initializer",
    "initialisers": "initializers", "labelled": "labeled", "lateness": "latency", "least": "minimum",
    "licence": "license", "longest": "maximum", "mailbox": "queue", "neighbour": "neighbor",
    "neighbouring": "neighboring", "neighbours": "neighbors", "nets": "models", "optimised": "optimized",
    "nobody": "the thing that is meant", "patience": "timeout",
    "picture": "frame", "pictures": "frames", "somebody": "the thing that is meant", "sound": "audio",
    "shortest": "minimum", "signalled": "signaled", "signalling": "signaling", "sounds": "audio", "steer": "control",
    "steers": "controls",
    "tell": "report", "tells": "reports",
    "told": "reported", "unoptimised": "unoptimized",
    "whoever": "the thing that is meant",
  ]

  /// Phrases that the field has a verb for, with that verb.
  static let replacedPhrases: [String: String] = [
    "ask again": "try again", "earlier source": "previous source", "gives back": "releases", "given back": "released",
    "hand on": "pass through", "hand over": "deliver",
    "handed on": "passed through", "handed over": "delivered", "handing over": "delivering",
    "hands on": "passes through", "hands over": "delivers", "is let go": "is released", "lets go of": "releases",
    "present source": "current source", "the present": "the current", "present state": "current state",
  ]

  /// Phrases of messages to users that have a better one, with that one.
  static let replacedMessages: [String: String] = [
    "ask again": "try again", "may watch": "has the viewer role", "not answer": "not respond", "picture": "frame",
  ]

  /// Terms of standards and of mathematics, and turns of English, that contain such a word.
  static let standardTerms = [
    "colour_", "crc-catalogue",
    "picture parameter set", "idr picture", "sound server", "picture order", "group of pictures", "groups of pictures",
    "coded picture",
    "picture timing", "picture loss", "picture_", "reference picture", "sound card", "attached picture",
    "picture element",
    "picture-in-picture", "linux sound architecture",
    "at least", "least recently", "least significant", "least squares", "least useful", "greatest common divisor",
    // RFC 5952, and matching of prefixes.
    "longest run", "longest prefix", "longest matching", "idle longest",
  ]
}

extension SourceRules {
  /// No identifier is one that was replaced, or has a part, prefix or suffix that was.
  static func vocabulary(of text: SwiftText) -> [Violation] {
    // The words of a file that break no rule: most of them come again and again.
    var allowed: Set<Substring> = []
    return text.lines.flatMap { line in
      line.words.compactMap { word in
        if allowed.contains(word) { return nil }
        let violation = Self.violation(of: word, on: line, in: text)
        if violation == nil { allowed.insert(word) }
        return violation
      }
    }
  }

  private static func violation(of word: Substring, on line: SwiftText.Line, in text: SwiftText) -> Violation? {
    let name = String(word)
    if text.path.hasSuffix(".swift"), let term = Vocabulary.replacedIdentifiers[name] {
      return Violation(path: text.path, line: line.number, message: "\(name) was replaced by \(term)")
    }
    if let (prefix, term) = Vocabulary.replacedPrefixes.first(where: { prefix, _ in
      name.hasPrefix(prefix) && name.dropFirst(prefix.count).first?.isUppercase == true
    }), !Vocabulary.standardParts.contains(name.lowercased()) {
      return Violation(path: text.path, line: line.number, message: "\(name): write \(term), not \(prefix)")
    }
    let whole = name.lowercased()
    if let (suffix, term) = Vocabulary.replacedSuffixes.first(where: { suffix, _ in
      whole == suffix || whole.hasSuffix("_\(suffix)") || name.hasSuffix(suffix.capitalized)
    }), !whole.hasSuffix("atleast"), !whole.hasSuffix("at_least") {
      return Violation(path: text.path, line: line.number, message: "\(name): write \(term), not \(suffix)")
    }
    guard Vocabulary.replacedParts.keys.contains(where: whole.has) else { return nil }
    let rest = Vocabulary.standardParts.reduce(whole) { $0.replacing($1, with: "") }
    guard let part = Vocabulary.replacedParts.first(where: { rest.contains($0.key) }) else { return nil }
    return Violation(path: text.path, line: line.number, message: "\(name): write \(part.value), not \(part.key)")
  }

  /// No string literal has a phrase that users are not to read.
  static func messages(of text: SwiftText) -> [Violation] {
    text.strings.flatMap { string -> [Violation] in
      let words = string.text.lowercased().split { $0.isWhitespace || $0 == "\\" }
      let remaining = (Vocabulary.standardTerms + Vocabulary.standardParts)
        .reduce(words.joined(separator: " ")) { $0.has($1) ? $0.replacing($1, with: "") : $0 }
      return Vocabulary.replacedMessages.filter { remaining.has($0.key) }.sorted { $0.key < $1.key }.map {
        Violation(path: text.path, line: string.line, message: "a string with \"\($0.key)\": write \"\($0.value)\"")
      }
    }
  }

  /// No comment or test name uses a word or phrase that the field has a term for.
  static func wording(of text: CommentText) -> [Violation] {
    text.comments.flatMap { comment -> [Violation] in
      var remaining = comment.text.lowercased()
      for term in Vocabulary.standardTerms where remaining.has(term) { remaining = remaining.replacing(term, with: "") }
      let words = remaining.split { !$0.isLetter }.map(String.init)
      let sentence = " \(words.joined(separator: " ")) "
      let replacements =
        Set(words).compactMap { word in Vocabulary.replacedWords[word].map { (word, $0) } }
        + Vocabulary.replacedPhrases.filter { sentence.has(" \($0.key) ") }
      return replacements.sorted { $0.0 < $1.0 }.map { old, new in
        Violation(path: text.path, line: comment.number, message: "\"\(old)\": write \"\(new)\"")
      }
    }
  }
}
