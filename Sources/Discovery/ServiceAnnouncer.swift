internal import Dispatch
internal import Media
internal import Threading

// Safe because everything that changes is touched on `queue` only.
/// Announces services by DNS-SD (RFC 6763) through the system's multicast DNS (RFC 6762), for as long as they exist.
///
/// A name that is taken gets a number. A daemon that is missing, or ends, is told once; the services are announced when
/// it is back. No call waits for the daemon.
public final class ServiceAnnouncer: @unchecked Sendable {
  private struct Entry {
    var service: Service
    /// Nil while it is not announced, and waits for the next try.
    var registration: ServiceRegistration?
    /// Which one of its name it tries to be.
    var number = 1
  }

  /// The most services of one name that are looked for.
  private static let maximumNumber = 32
  /// The longest time that ``stop()`` takes: the system withdraws what a program that ends has announced.
  private static let patience: DispatchTimeInterval = .milliseconds(1_000)

  private let queue = DispatchQueue(label: "discovery")
  private let address: String
  private let report: @Sendable (DiscoveryEvent) -> Void
  private let withdrawals = DispatchGroup()
  private var entries: [Entry] = []
  private var delay = RetryBackoff(first: .seconds(1), maximum: .seconds(30))
  private var retry: DispatchWorkItem?
  private var isFailing = false
  private var isStopped = false

  /// An announcer that announces nothing yet.
  ///
  /// - Parameters:
  ///   - address: Where the servers listen. Services are announced where they can be reached: on every network for
  ///     `::` and `0.0.0.0`; on the interface that has the address; for a loopback address on this machine only.
  ///   - report: Called with each event, on a thread of the announcer's.
  public init(listeningOn address: String, report: @escaping @Sendable (DiscoveryEvent) -> Void) {
    self.address = address
    self.report = report
  }

  deinit {
    for entry in self.entries { entry.registration?.cancel() }
    self.retry?.cancel()
  }

  /// Announces a service from now on; without effect when it is announced already.
  public func announce(_ service: Service) {
    self.queue.async {
      guard !self.isStopped, !self.entries.contains(where: { $0.service == service }) else { return }
      self.entries.append(Entry(service: service))
      // One that is waited for waits for the others' next try.
      if self.retry == nil { self.registerAll() }
    }
  }

  /// Withdraws a service.
  public func withdraw(_ service: Service) {
    self.queue.async {
      guard let index = self.entries.firstIndex(where: { $0.service == service }) else { return }
      self.entries.remove(at: index).registration?.cancel()
    }
  }

  /// Withdraws every service, for good; returns when that is done, after one second at most.
  public func stop() async {
    await withCheckedContinuation { continuation in
      let once = OnceAction { continuation.resume() }
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { once.run() }
      self.queue.async {
        self.isStopped = true
        self.retry?.cancel()
        for entry in self.entries { entry.registration?.cancel() }
        self.entries.removeAll()
        self.withdrawals.notify(queue: self.queue) { once.run() }
      }
    }
  }

  // MARK: On the queue

  /// Asks for each service that is not announced; none after one that found no daemon.
  private func registerAll() {
    for index in self.entries.indices where self.entries[index].registration == nil {
      do throws(VidiconError) {
        try self.register(index)
      } catch {
        self.tryLater(error)
        if error.code == .notFound { return }
      }
    }
  }

  private func register(_ index: Int) throws(VidiconError) {
    let interface = try NetworkAddresses.announcementInterface(listeningOn: self.address)
    let service = self.entries[index].service
    while true {
      do throws(VidiconError) {
        self.entries[index].registration = try ServiceRegistration(
          service, name: service.name.numbered(self.entries[index].number), interface: interface, on: self.queue,
          group: self.withdrawals
        ) { [weak self] outcome in
          self?.handle(outcome, of: service)
        }
        return
      } catch {
        guard error.code == .alreadyExists, self.entries[index].number < Self.maximumNumber else { throw error }
        self.entries[index].number += 1
      }
    }
  }

  private func handle(_ outcome: ServiceRegistration.Outcome, of service: Service) {
    guard let index = self.entries.firstIndex(where: { $0.service == service }) else { return }
    switch outcome {
    case .announced(let name):
      if self.retry == nil {
        self.delay = RetryBackoff(first: .seconds(1), maximum: .seconds(30))
        self.isFailing = false
      }
      self.report(.announced(service, name: name))
    case .failed(let error):
      self.entries[index].registration?.cancel()
      self.entries[index].registration = nil
      if error.code == .alreadyExists, self.entries[index].number < Self.maximumNumber {
        self.entries[index].number += 1
        self.registerAll()
      } else {
        self.tryLater(error)
      }
    }
  }

  private func tryLater(_ error: VidiconError) {
    if !self.isFailing { self.report(.unavailable(error)) }
    self.isFailing = true
    guard self.retry == nil else { return }
    let retry = DispatchWorkItem { [weak self] in
      guard let self else { return }
      self.retry = nil
      // What was taken may be free again.
      for index in self.entries.indices where self.entries[index].registration == nil { self.entries[index].number = 1 }
      self.registerAll()
    }
    self.retry = retry
    let delay = self.delay.next()
    self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay.nanoseconds)), execute: retry)
  }
}
