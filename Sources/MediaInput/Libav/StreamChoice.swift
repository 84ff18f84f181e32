internal import CLibav
internal import Codecs
internal import Media

/// Tracks of a container in the order in which they are tried: the first is the one that a player would choose. Pure.
///
/// Left out are cover images, and audio of another program than the video's. Those without a decoder come last, before them audio of
/// RTSP of which nothing has come, then tracks for some listeners only, such as comments and descriptions, those without the flag
/// "default", of another language than the video's, and smaller ones.
struct StreamChoice: Hashable {
  /// A track of the container.
  struct Candidate: Hashable {
    /// Index of the stream.
    var index: Int
    var kind: MediaKind
    var hasDecoder = true
    /// Whether sample rate and channels, or width and height, are known: they are found by decoding.
    var hasFormat = true
    /// Whether something of it has come while it was probed; known of the audio of RTSP, where back channels are announced as well.
    var hasPackets = true
    var isCoverImage = false
    var isDefault = false
    /// Whether it is not meant for everybody: for the impaired, with comments, for singing.
    var isSpecial = false
    /// Language as the container has it, such as ISO 639-2's "deu"; nil where it says none.
    var language: String?
    /// Programs that it belongs to; none where the container has no programs.
    var programs: Set<Int> = []
    /// Pixels of a frame; 0 for audio.
    var pixelCount: Int64 = 0
  }

  /// Indices of video streams.
  let video: [Int]
  /// Indices of audio streams.
  let audio: [Int]

  init(_ candidates: [Candidate]) {
    let usable = candidates.filter { !$0.isCoverImage }
    let video = usable.filter { $0.kind == .video }.sorted { Self.isBetter($0, $1, beside: nil) }
    let first = video.first
    let audio = usable.filter { other in
      other.kind == .audio
        && first.map { $0.programs.isEmpty || other.programs.isEmpty || !$0.programs.isDisjoint(with: other.programs) }
          ?? true
    }
    self.video = video.map(\.index)
    self.audio = audio.sorted { Self.isBetter($0, $1, beside: first) }.map(\.index)
  }

  private static func isBetter(_ one: Candidate, _ other: Candidate, beside video: Candidate?) -> Bool {
    func rank(_ candidate: Candidate) -> [Int64] {
      // "und" is no language: MP4 has it where nothing was said.
      let isOfLanguage = video?.language != nil && video?.language != "und" && video?.language == candidate.language
      let flags = [
        candidate.hasDecoder, candidate.hasFormat, candidate.hasPackets, !candidate.isSpecial, candidate.isDefault,
        isOfLanguage,
      ].map { $0 ? 1 : 0 as Int64 }
      return flags + [candidate.pixelCount, Int64(-candidate.index)]
    }
    return rank(other).lexicographicallyPrecedes(rank(one))
  }
}

extension StreamChoice {
  /// - Parameters:
  ///   - context: A container whose stream information was read.
  ///   - indices: Indices of the streams that are chosen from; nil for all.
  init(_ context: UnsafeMutablePointer<AVFormatContext>, among indices: Set<Int>? = nil) {
    var programs: [Int: Set<Int>] = [:]
    for number in 0..<Int(context.pointee.nb_programs) {
      guard let program = context.pointee.programs[number]?.pointee else { continue }
      for entry in 0..<Int(program.nb_stream_indexes) {
        programs[Int(program.stream_index[entry]), default: []].insert(number)
      }
    }
    let format = context.pointee.iformat?.pointee
    let isRTSP = format.map { String(cString: $0.name) == "rtsp" } ?? false
    self.init(
      (0..<Int(context.pointee.nb_streams)).filter { indices?.contains($0) ?? true }.compactMap { index -> Candidate? in
        guard let stream = context.pointee.streams[index]?.pointee else { return nil }
        var candidate = Candidate(stream, index: index, programs: programs[index] ?? [])
        if isRTSP, candidate?.kind == .audio { candidate?.hasPackets = stream.start_time != vidicon_av_nopts_value }
        return candidate
      })
  }

  /// Opens the first track of some that can be opened.
  ///
  /// - Returns: It with the index of its stream; nil where there are none.
  /// - Throws: The error of the first, where none can be opened.
  static func open<Track>(
    _ indices: [Int], _ open: (Int) throws(VidiconError) -> Track
  ) throws(VidiconError) -> (track: Track, index: Int)? {
    var failure: VidiconError?
    for index in indices {
      do throws(VidiconError) {
        return (try open(index), index)
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
    return nil
  }
}

extension StreamChoice.Candidate {
  private static let special =
    AV_DISPOSITION_COMMENT | AV_DISPOSITION_LYRICS | AV_DISPOSITION_KARAOKE | AV_DISPOSITION_HEARING_IMPAIRED
    | AV_DISPOSITION_VISUAL_IMPAIRED | AV_DISPOSITION_CLEAN_EFFECTS | AV_DISPOSITION_NON_DIEGETIC
    | AV_DISPOSITION_DESCRIPTIONS | AV_DISPOSITION_DEPENDENT

  /// Nil for streams that are neither video nor audio.
  fileprivate init?(_ stream: AVStream, index: Int, programs: Set<Int>) {
    guard let codec = stream.codecpar?.pointee else { return nil }
    switch codec.codec_type {
    case AVMEDIA_TYPE_VIDEO: self.init(index: index, kind: .video)
    case AVMEDIA_TYPE_AUDIO: self.init(index: index, kind: .audio)
    default: return nil
    }
    self.hasDecoder = avcodec_find_decoder(codec.codec_id) != nil
    self.hasFormat =
      self.kind == .video
      ? codec.width > 0 && codec.height > 0 : codec.sample_rate > 0 && codec.ch_layout.nb_channels > 0
    self.isCoverImage = stream.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    self.isDefault = stream.disposition & AV_DISPOSITION_DEFAULT != 0
    self.isSpecial = stream.disposition & Self.special != 0
    self.language = av_dict_get(stream.metadata, "language", nil, 0).map { String(cString: $0.pointee.value) }
    self.programs = programs
    if self.kind == .video { self.pixelCount = Int64(max(0, codec.width)) * Int64(max(0, codec.height)) }
  }
}
