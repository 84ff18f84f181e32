import Media
import Testing

@testable import MediaInput

@Suite("Timeline of a file")
struct FileTimelineTests {
  /// A packet; times are milliseconds.
  private static func packet(
    _ kind: MediaKind, _ time: Int64, decode: Int64? = nil, duration: Int64, isKeyframe: Bool = true
  ) -> FileTimeline.Packet {
    FileTimeline.Packet(
      kind: kind, decodeTime: (decode ?? time) * 1_000_000, presentationTime: time * 1_000_000,
      duration: duration * 1_000_000, isKeyframe: isKeyframe)
  }

  /// Packets of a clip in the order of a file: frames at an interval, of which the first one is a keyframe, and audio each 20 ms.
  private static func clip(
    from start: Int64 = 0, frames: [Int64], interval: Int64, audio: Int64 = 0
  ) -> [FileTimeline.Packet] {
    var packets = frames.enumerated().map { index, time in
      Self.packet(.video, start + time, duration: interval, isKeyframe: index == 0)
    }
    for time in stride(from: 0, to: audio, by: 20) { packets.append(Self.packet(.audio, start + time, duration: 20)) }
    return packets.enumerated().sorted { ($0.element.decodeTime, $0.offset) < ($1.element.decodeTime, $1.offset) }
      .map(\.element)
  }

  /// Presentation times on the timeline, in milliseconds.
  private static func placed(
    _ packets: [FileTimeline.Packet], hasDiscontinuities: Bool = true
  ) -> [MediaKind: [Int64]] {
    var timeline = FileTimeline(start: nil, hasDiscontinuities: hasDiscontinuities)
    var times: [MediaKind: [Int64]] = [:]
    for (index, packet) in packets.enumerated() {
      let shift = timeline.shift(of: packet) { kind, body in
        for next in packets[(index + 1)...] where next.kind == kind { if !body(next.decodeTime) { return } }
      }
      times[packet.kind, default: []].append((packet.presentationTime + shift) / 1_000_000)
    }
    return times
  }

  @Test(arguments: [false, true]) func `marks of keyframes say nothing where reordered frames have them`(
    hasDiscontinuities: Bool
  ) {
    let places: [Int64] = [0, 3, 2, 1, 6, 5, 4, 7, 10, 9, 8, 11]
    for interval: Int64 in [40, 400] {
      let packets = places.enumerated().map { index, place in
        Self.packet(.video, place * interval, decode: Int64(index - 2) * interval, duration: interval)
      }
      let placed = Self.placed(packets, hasDiscontinuities: hasDiscontinuities)
      #expect(placed[.video] == places.map { $0 * interval })
    }
  }

  /// A slide show: its frames, their interval, the end of its audio, and its duration, in milliseconds.
  struct Slides: Sendable {
    var frames: [Int64]
    var interval: Int64
    var audio: Int64
    var duration: Int64
  }

  private static let slides = [
    Slides(frames: [0, 1_000, 2_000, 3_000], interval: 1_000, audio: 4_000, duration: 4_000),
    Slides(frames: [0, 1_000, 2_000, 3_000], interval: 1_000, audio: 0, duration: 4_000),
    Slides(frames: [0, 5_000], interval: 5_000, audio: 10_000, duration: 10_000),
    Slides(frames: [0, 5_000], interval: 5_000, audio: 8_000, duration: 10_000),
    Slides(frames: [0, 5_000], interval: 5_000, audio: 0, duration: 10_000),
    // A frame beside five seconds of audio, as if of 25 a second.
    Slides(frames: [0], interval: 40, audio: 5_000, duration: 5_000),
    Slides(frames: [0], interval: 5_000, audio: 0, duration: 5_000),
    Slides(frames: [0], interval: 10_000, audio: 3_000, duration: 10_000),
  ]

  @Test(arguments: Self.slides, [true, false])
  func `clips with a frame in seconds follow each other in sync where the clock jumps back`(
    slides: Slides, hasDiscontinuities: Bool
  ) {
    let clip = Self.clip(frames: slides.frames, interval: slides.interval, audio: slides.audio)
    let times = Self.placed(clip + clip + clip, hasDiscontinuities: hasDiscontinuities)
    let starts = [0, slides.duration, 2 * slides.duration]
    #expect(times[.video] == starts.flatMap { start in slides.frames.map { start + $0 } })
    let audio = times[.audio] ?? []
    #expect(audio == starts.flatMap { start in stride(from: start, to: start + slides.audio, by: 20) })
  }

  @Test(arguments: Self.slides.filter { $0.frames.count > 1 }, [60_000, 3_600_000])
  func `clips with a frame in seconds follow each other in sync where the clock jumps ahead`(
    slides: Slides, ahead: Int64
  ) {
    let clip = Self.clip(frames: slides.frames, interval: slides.interval, audio: slides.audio)
    let next = Self.clip(from: ahead, frames: slides.frames, interval: slides.interval, audio: slides.audio)
    for hasDiscontinuities in [true, false] {
      // Without audio it may be a gap of up to ten minutes where clocks should not jump.
      let isGap = !hasDiscontinuities && slides.audio == 0 && ahead < 600_000
      let times = Self.placed(clip + next, hasDiscontinuities: hasDiscontinuities)
      #expect(times[.video]?[slides.frames.count] == (isGap ? ahead : slides.duration))
      #expect(times[.audio].map { $0[$0.count / 2] } == (slides.audio == 0 ? nil : slides.duration))
    }
  }

  @Test(arguments: [true, false]) func `a frame in twelve seconds is no jump, without audio, beside it and after it`(
    hasDiscontinuities: Bool
  ) {
    for audio in [0, 2_000, 60_000] as [Int64] {
      let frames = (0..<5).map { Int64($0) * 12_000 }
      let clip = Self.clip(frames: frames, interval: 1_000, audio: audio)
      #expect(Self.placed(clip, hasDiscontinuities: hasDiscontinuities)[.video] == frames, "audio of \(audio) ms")
    }
  }

  @Test(arguments: [40, 1_000, 5_000] as [Int64], [true, false])
  func `frames that are reordered have not jumped`(interval: Int64, hasDiscontinuities: Bool) {
    // Three frames of type B between two of another type, three groups of eight.
    let order = [0, 4, 2, 1, 3, 7, 6, 5] as [Int64]
    var packets = (0..<24 as Range<Int64>).map { index in
      let frame = index / 8 * 8 + order[Int(index % 8)]
      return Self.packet(
        .video, frame * interval, decode: (index - 3) * interval, duration: interval, isKeyframe: index % 8 == 0)
    }
    #expect(
      Self.placed(packets, hasDiscontinuities: hasDiscontinuities)[.video]
        == packets.map { $0.presentationTime / 1_000_000 })
    guard !hasDiscontinuities else { return }
    // libavformat gives presentation times in place of decode times.
    for index in packets.indices { packets[index].decodeTime = packets[index].presentationTime }
    #expect(Self.placed(packets, hasDiscontinuities: false)[.video] == packets.map { $0.presentationTime / 1_000_000 })
    for index in packets.indices { packets[index].isOrdered = false }
    let joined = Self.placed(packets + packets, hasDiscontinuities: false)[.video]
    let times = packets.map { $0.presentationTime / 1_000_000 }
    #expect(joined == times + times.map { $0 + 24 * interval })
  }

  @Test func `a pass begins where the longer track of the one before ended`() {
    var timeline = FileTimeline(start: nil, hasDiscontinuities: false)
    let clip = Self.clip(from: 700, frames: [0, 1_000], interval: 1_000, audio: 2_500)
    var starts: [Int64] = []
    for _ in 0..<3 {
      for (index, packet) in clip.enumerated() {
        let shift = timeline.shift(of: packet) { _, _ in }
        if index == 0 { starts.append((packet.presentationTime + shift) / 1_000_000) }
      }
      timeline.beginPass()
    }
    #expect(starts == [0, 2_500, 5_000] && !timeline.hasJumped)
  }

  @Test func `damaged times do not trap, and end no pass far away`() {
    let limit: Int64 = 1 << 60
    for hasDiscontinuities in [true, false] {
      var timeline = FileTimeline(start: nil, hasDiscontinuities: hasDiscontinuities)
      let times = [0, limit, -limit, limit, 0, -limit, -limit, limit, 1]
      for pass in 0..<200 {
        for (index, time) in times.enumerated() {
          let packet = FileTimeline.Packet(
            kind: (index + pass) % 3 == 0 ? .audio : .video, decodeTime: time, presentationTime: -time,
            duration: limit, isKeyframe: index % 2 == 0, isOrdered: index % 4 != 1)
          _ = timeline.shift(of: packet) { _, body in _ = body(limit) && body(-limit) }
        }
        timeline.beginPass()
      }
      #expect(timeline.passStart <= 200 << 52)
    }
  }
}
