/// Compares timestamps with their arrival: pace, jumps and stalls. Pure; times are in seconds.
struct TimelineMeter: Sendable {
  /// Time after the first arrival that is left out: servers send earlier frames at once.
  static let settlingTime = 2.0
  /// Minimum time over which a pace is measured.
  private static let minimumSpan = 2.5
  /// Minimum time by which a timestamp jumps, or an arrival stalls.
  private static let jump = 1.0
  /// Number of frames after which a timestamp stands still: packets of one frame share theirs.
  private static let minimumRepetitionCount = 8

  private var first: Double?
  private var last: (media: Double, arrival: Double)?
  private var points: [(media: Double, arrival: Double)] = []
  /// Time by which the last arrival was behind the earliest one for its timestamp.
  private var lag = 0.0
  /// Number of timestamps that go back, or run ahead of their arrival.
  private(set) var jumpCount = 0
  /// Number of times that nothing has arrived while the timestamps go on as before.
  private(set) var stallCount = 0
  /// The last timestamp that differs from the one before, its arrival, and the number of frames that have repeated it.
  private var held: (media: Double, arrival: Double, count: Int)?
  /// Maximum time for which frames have had the same timestamp.
  private(set) var stillTime = 0.0

  /// Adds the timestamp of a frame.
  mutating func append(media: Double, arrival: Double) {
    guard media != self.held?.media else { return self.noteRepetition(arrival) }
    self.held = (media, arrival, 0)
    let first = self.first ?? arrival
    self.first = first
    guard arrival - first >= Self.settlingTime else { return }
    if let last { self.compare(media - last.media, arrival - last.arrival) }
    self.last = (media, arrival)
    self.points.append((media, arrival))
  }

  private mutating func noteRepetition(_ arrival: Double) {
    guard let held else { return }
    self.held?.count = held.count + 1
    if held.count + 1 >= Self.minimumRepetitionCount { self.stillTime = max(self.stillTime, arrival - held.arrival) }
  }

  private mutating func compare(_ mediaStep: Double, _ arrivalStep: Double) {
    let lead = mediaStep - arrivalStep
    // Behind a stall, frames that a queue had no room for are missing: timestamps step by that, and no further.
    if mediaStep < -Self.jump || lead - self.lag > Self.jump {
      self.jumpCount += 1
      self.lag = 0
      return
    }
    if lead < -Self.jump { self.stallCount += 1 }
    self.lag = max(0, self.lag - lead)
  }

  /// Slope of the regression line of timestamps over arrivals; nil where the time was too short.
  var ratio: Double? {
    guard let start = self.points.first?.arrival, let end = self.points.last?.arrival,
      end - start >= Self.minimumSpan, self.points.count >= 8
    else { return nil }
    let count = Double(self.points.count)
    let mean = self.points.reduce((media: 0.0, arrival: 0.0)) { ($0.media + $1.media, $0.arrival + $1.arrival) }
    let (media, arrival) = (mean.media / count, mean.arrival / count)
    var (covariance, variance) = (0.0, 0.0)
    for point in self.points {
      covariance += (point.media - media) * (point.arrival - arrival)
      variance += (point.arrival - arrival) * (point.arrival - arrival)
    }
    return variance > 0 ? covariance / variance : nil
  }
}
