internal import CDNSSD
internal import Dispatch
internal import Media

// Safe because all mutable properties are used on `queue` only, on which the library is called too.
/// A service registration with the system's DNS-SD daemon, from the request until it is withdrawn.
///
/// Calls of Avahi's library block until the daemon answers, so the queue must be one that may block.
final class ServiceRegistration: @unchecked Sendable {
  /// Outcome of the registration.
  enum Outcome: Sendable {
    /// The service is registered with this instance name.
    case announced(String)
    /// The service is not registered, or no longer registered.
    case failed(VidiconError)
  }

  private let queue: DispatchQueue
  private let handle: @Sendable (Outcome) -> Void
  private var reference: DNSServiceRef?
  private var source: (any DispatchSourceRead)?
  /// The outcome that the library's callback set during the current call.
  private var outcome: Outcome?

  /// Requests a registration; called on the queue.
  ///
  /// - Parameters:
  ///   - name: The instance name.
  ///   - interface: Index of the interface to announce on; 0 for all interfaces.
  ///   - group: Left when the service is withdrawn.
  ///   - handle: Called on the queue, first when the name has been claimed on the network.
  /// - Throws: `VidiconError`: `.alreadyExists` when another service of this machine has the name, `.notFound` when no
  ///   mDNS daemon answers, `.failed` when it refuses the service.
  init(
    _ service: Service, name: ServiceName, interface: UInt32, on queue: DispatchQueue, group: DispatchGroup,
    handle: @escaping @Sendable (Outcome) -> Void
  ) throws(VidiconError) {
    self.queue = queue
    self.handle = handle
    let text = service.text.bytes
    let status = DNSServiceRegister(
      &self.reference, 0, interface, name.text, service.kind.rawValue, nil, nil, service.port.bigEndian,
      // No trap: the record has at most `ServiceText.maximumLength` bytes.
      UInt16(text.count), text, Self.callback, Unmanaged.passUnretained(self).toOpaque())
    guard status == kDNSServiceErr_NoError, let reference = self.reference else { throw Self.error(status) }
    let descriptor = DNSServiceRefSockFD(reference)
    guard descriptor >= 0 else {
      DNSServiceRefDeallocate(reference)
      throw Self.error(Int32(kDNSServiceErr_Unknown))
    }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    group.enter()
    // The handlers retain this object, whose address the library holds until the reference is deallocated.
    source.setEventHandler { self.process() }
    source.setCancelHandler {
      if let reference = self.reference.take() { DNSServiceRefDeallocate(reference) }
      self.source = nil
      group.leave()
    }
    self.source = source
    source.resume()
    queue.async { self.reportOutcome() }
  }

  /// Withdraws the service; `handle` is not called any more.
  func cancel() {
    self.source?.cancel()
  }

  private func process() {
    guard let reference = self.reference, self.source?.isCancelled == false else { return }
    let status = DNSServiceProcessResult(reference)
    if status != kDNSServiceErr_NoError { self.outcome = .failed(Self.error(status)) }
    self.reportOutcome()
  }

  private func reportOutcome() {
    guard self.source?.isCancelled == false, let outcome = self.outcome.take() else { return }
    self.handle(outcome)
  }

  private static let callback: DNSServiceRegisterReply = { _, _, status, name, _, _, context in
    guard let context else { return }
    let registration = Unmanaged<ServiceRegistration>.fromOpaque(context).takeUnretainedValue()
    registration.outcome =
      status == kDNSServiceErr_NoError
      ? .announced(name.map { String(cString: $0) } ?? "") : .failed(ServiceRegistration.error(status))
  }

  private static func error(_ status: DNSServiceErrorType) -> VidiconError {
    switch Int(status) {
    case kDNSServiceErr_NameConflict:
      VidiconError(
        .alreadyExists, subject: "mDNS", cause: "another service has the name of the stream",
        nextStep: "give the stream a unique name")
    case kDNSServiceErr_BadParam, kDNSServiceErr_Invalid, kDNSServiceErr_Unsupported:
      VidiconError(
        .failed, subject: "mDNS", cause: "the system refuses to announce the stream (error \(status))",
        nextStep: "use the printed addresses")
    default:
      VidiconError(.notFound, subject: "mDNS", cause: Self.notRunning, nextStep: Self.howToRun)
    }
  }

  #if canImport(Darwin)
  private static let notRunning = "streams cannot be found by name, since the system's mDNSResponder does not respond"
  private static let howToRun = "use the printed addresses"
  #else
  private static let notRunning = "streams cannot be found by name, since the daemon of Avahi does not respond"
  private static let howToRun = "install and start avahi-daemon, or use the printed addresses"
  #endif
}
