/// Compares timestamps with their arrival: pace and jumps. Pure; times are in seconds.
struct TimelineMeter: Sendable {
  /// Time after the first arrival that is left out: servers send earlier frames at once.
  static let settlingTime = 2.0
  /// Minimum time over which a pace is measured.
  private static let minimumSpan = 2.5
  /// Change of the difference to the arrival that is a jump.
  private static let jump = 1.0

  private var first: Double?
  private var last: (media: Double, arrival: Double)?
  private var points: [(media: Double, arrival: Double)] = []
  /// Number of jumps.
  private(set) var jumpCount = 0

  /// Adds a timestamp.
  mutating func append(media: Double, arrival: Double) {
    let first = self.first ?? arrival
    self.first = first
    guard arrival - first >= Self.settlingTime else { return }
    if let last, abs((media - last.media) - (arrival - last.arrival)) > Self.jump { self.jumpCount += 1 }
    self.last = (media, arrival)
    self.points.append((media, arrival))
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
