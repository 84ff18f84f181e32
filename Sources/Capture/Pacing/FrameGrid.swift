package import Media
package import Threading

/// The instants at which the pictures of an even frame rate fall: picture `n` at `anchor` + `n` intervals.
package struct FrameGrid: Hashable, Sendable {
  /// The instant of picture 0.
  package let anchor: MediaTime
  /// The pictures a second.
  package let rate: FrameRate

  /// A grid from an anchor on.
  package init(anchor: MediaTime, rate: FrameRate) {
    self.anchor = anchor
    self.rate = rate
  }

  /// The grid whose anchor is the last whole second of the time of day up to `time`: at a whole number of pictures a
  /// second, one falls on each whole second.
  package init(rate: FrameRate, at time: MediaTime, clock: StreamClock = .system) {
    let unixTime = clock.unixTime(at: time)
    var remainder = unixTime % 1_000_000_000
    if remainder < 0 { remainder += 1_000_000_000 }
    self.init(anchor: clock.mediaTime(atUnixTime: unixTime - remainder), rate: rate)
  }

  /// When a picture is due.
  package func time(of index: Int64) -> MediaTime {
    self.rate.time(ofFrame: index, from: self.anchor)
  }

  /// The last picture that is due at a time not before the anchor.
  package func index(at time: MediaTime) -> Int64 {
    let index = (time - self.anchor).ticks(timescale: self.rate.numerator) / Int64(self.rate.denominator)
    // The time of a picture is rounded down to a nanosecond, which may cost it its index.
    return self.time(of: index + 1) <= time ? index + 1 : index
  }

  /// The picture to make after `last`: the next one, or the latest due one when more than one was missed, since pictures
  /// made in a burst are of use to nobody.
  package func index(after last: Int64, at time: MediaTime) -> Int64 {
    max(last + 1, self.index(at: time))
  }
}
