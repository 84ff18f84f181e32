package import HTTPTypes
internal import Media
internal import Synchronization

/// Counters of all requests by status class, and the cached `Date` value.
package final class HTTPCounters: Sendable {
  private let informational = Atomic(0)
  private let successful = Atomic(0)
  private let redirected = Atomic(0)
  private let clientErrors = Atomic(0)
  private let serverErrors = Atomic(0)
  private let lastDate = Mutex((second: Int64.min, text: ""))

  /// Counts a response.
  package func count(_ status: HTTPResponse.Status) {
    switch status.code / 100 {
    case 2: self.successful.add(1, ordering: .relaxed)
    case 3: self.redirected.add(1, ordering: .relaxed)
    case 4: self.clientErrors.add(1, ordering: .relaxed)
    case 5: self.serverErrors.add(1, ordering: .relaxed)
    default: self.informational.add(1, ordering: .relaxed)
    }
  }

  /// Responses by status class, `1xx` to `5xx`.
  package var responses: [(statusClass: String, count: Int)] {
    [
      ("1xx", self.informational.load(ordering: .relaxed)), ("2xx", self.successful.load(ordering: .relaxed)),
      ("3xx", self.redirected.load(ordering: .relaxed)), ("4xx", self.clientErrors.load(ordering: .relaxed)),
      ("5xx", self.serverErrors.load(ordering: .relaxed)),
    ]
  }

  /// The value of `Date`, formatted once per second.
  func date(unixNanoseconds: Int64) -> String {
    let second = unixNanoseconds / 1_000_000_000
    return self.lastDate.withLock { last in
      if last.second != second { last = (second, CalendarTime(unixTime: .seconds(second)).httpDate) }
      return last.text
    }
  }
}
