internal import Media

/// Limits reports to one a minute by subject, with the number of events since the last one.
struct ReportLimiter {
  /// Minimum time between two reports on a subject.
  static let interval = MediaDuration.seconds(60)
  /// Maximum number of subjects; when full, those that were reported more than ``interval`` ago are dropped, else all.
  static let maximumSubjects = 1024

  private var entries: [String: (reported: MediaTime, pending: Int)] = [:]

  /// Counts an event.
  ///
  /// - Returns: The number of events to report; nil when the last report is too recent.
  mutating func count(_ subject: String, now: MediaTime) -> Int? {
    if let entry = self.entries[subject], now - entry.reported < Self.interval {
      self.entries[subject] = (entry.reported, entry.pending + 1)
      return nil
    }
    let pending = self.entries[subject]?.pending ?? 0
    if self.entries.count >= Self.maximumSubjects {
      self.entries = self.entries.filter { now - $0.value.reported < Self.interval }
      if self.entries.count >= Self.maximumSubjects { self.entries = [:] }
    }
    self.entries[subject] = (now, 0)
    return pending + 1
  }
}
