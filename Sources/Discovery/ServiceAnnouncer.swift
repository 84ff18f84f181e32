internal import Dispatch
public import Media
internal import Threading

/// Announces services by DNS-SD (RFC 6763) through the system's multicast DNS daemon (RFC 6762).
///
/// A number is appended to a name that is taken. A missing daemon is reported once per outage, and registration is
/// retried every 1 to 30 s. No call blocks on the daemon.
///
/// `CameraServer` has one, and calls it from any thread:
///
/// ```swift
/// let announcer = ServiceAnnouncer(listeningOn: "0.0.0.0") { event in print(event) }
/// announcer.announce(try Service(stream: "hello", path: "/hello", kind: .http, port: 8080))
/// await announcer.stop()
/// ```
package final class ServiceAnnouncer: @unchecked Sendable {
  // Safe because all mutable properties are used on `queue` only.
  private struct Entry {
    var service: Service
    /// Nil while the service is not registered.
    var registration: ServiceRegistration?
    /// Numeric suffix tried when the service name is taken (2, 3, …).
    var number = 1
  }

  /// Maximum numeric suffix.
  private static let maximumNumber = 32
  /// Timeout of ``stop()``; the daemon withdraws the services of a process that ends.
  private static let stopTimeout: DispatchTimeInterval = .milliseconds(1_000)

  private let queue = DispatchQueue(label: "discovery")
  private let address: String
  private let report: @Sendable (DiscoveryEvent) -> Void
  private let withdrawals = DispatchGroup()
  private var entries: [Entry] = []
  private var delay = RetryBackoff(first: .seconds(1), maximum: .seconds(30))
  private var retry: DispatchWorkItem?
  private var isFailing = false
  private var isStopped = false

  /// An announcer without services.
  ///
  /// - Parameters:
  ///   - address: The address that the servers listen on. Services are announced on every network for `::` and
  ///     `0.0.0.0`, on the interface with the address, or on this machine only for a loopback address.
  ///   - report: Called with each event, on the announcer's queue.
  package init(listeningOn address: String, report: @escaping @Sendable (DiscoveryEvent) -> Void) {
    self.address = address
    self.report = report
  }

  deinit {
    for entry in self.entries { entry.registration?.cancel() }
    self.retry?.cancel()
  }

  /// Announces a service; without effect when it is announced already.
  package func announce(_ service: Service) {
    self.queue.async {
      guard !self.isStopped, !self.entries.contains(where: { $0.service == service }) else { return }
      self.entries.append(Entry(service: service))
      // During an outage the service waits for the next retry.
      if self.retry == nil { self.registerAll() }
    }
  }

  /// Ends the announcement of a service; without effect when it is not announced.
  package func withdraw(_ service: Service) {
    self.queue.async {
      guard let index = self.entries.firstIndex(where: { $0.service == service }) else { return }
      self.entries.remove(at: index).registration?.cancel()
    }
  }

  /// Withdraws all services and ignores later calls; returns when the services are withdrawn, after one second at most.
  package func stop() async {
    await withCheckedContinuation { continuation in
      let once = OnceAction { continuation.resume() }
      DispatchQueue.global().asyncAfter(deadline: .now() + Self.stopTimeout) { once.run() }
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

  /// Registers each service that is not registered; stops at the first one that finds no daemon.
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
      // A name that was taken may be free again.
      for index in self.entries.indices where self.entries[index].registration == nil { self.entries[index].number = 1 }
      self.registerAll()
    }
    self.retry = retry
    let delay = self.delay.next()
    self.queue.asyncAfter(deadline: .now() + .nanoseconds(Int(delay.nanoseconds)), execute: retry)
  }
}

/// Outcome of the announcement of services, reported by `ServiceAnnouncer`.
public enum DiscoveryEvent: Hashable, Sendable {
  /// The service is registered, for the first time or again after a failure.
  ///
  /// - Parameters:
  ///   - service: The service that was passed to `ServiceAnnouncer/announce(_:)`.
  ///   - name: Its instance name on the network: with a number when another service has the requested name.
  case announced(Service, name: String)
  /// Services cannot be registered, or are no longer registered. Reported once per outage; registration is retried, and
  /// each service is then reported as announced.
  case unavailable(VidiconError)
}
