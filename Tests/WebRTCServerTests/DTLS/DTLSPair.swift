import Foundation
import Media
import NIOCore
import WebRTC
import WebRTCServer

/// A client and a server in memory, whose datagrams can be dropped, duplicated and reordered.
struct DTLSPair {
  /// Fate of the datagram with a number, counted from 0 over both directions.
  enum Fate {
    case delivered
    case dropped
    case duplicated
    /// Delivered behind the next datagram.
    case delayed
  }

  private(set) var client: DTLSTransport
  private(set) var server: DTLSTransport
  private(set) var datagramCount = 0
  private(set) var maximumLength = 0
  /// Maximum number of datagrams that a datagram or a timeout was answered with.
  private(set) var maximumCount = 0
  private var queue: [(isForServer: Bool, bytes: [UInt8])] = []
  private var delayed: (isForServer: Bool, bytes: [UInt8])?

  /// OpenSSL takes 15 ms and less for zero.
  init(client: OpenSSLSecurity, server: OpenSSLSecurity, timeout: MediaDuration = .milliseconds(20)) {
    self.client = DTLSTransport(endpoint: client.makeEndpoint(role: .client, timeout: timeout)!)
    self.server = DTLSTransport(endpoint: server.makeEndpoint(role: .server, timeout: timeout)!)
  }

  /// Time on a clock that OpenSSL's timer follows.
  static var now: MediaTime {
    MediaTime(nanoseconds: Int64(DispatchTime.now().uptimeNanoseconds))
  }

  /// Runs until both sides are connected, or have failed, or five minutes have passed.
  mutating func connect(fate: (Int) -> Fate) {
    let end = Self.now + .seconds(300)
    self.send(self.client.start(at: Self.now), toServer: true, fate)
    while Self.now < end {
      while !self.queue.isEmpty {
        let next = self.queue.removeFirst()
        self.deliver(next.bytes, toServer: next.isForServer, fate)
      }
      if let next = self.delayed {
        self.delayed = nil
        self.deliver(next.bytes, toServer: next.isForServer, fate)
        continue
      }
      guard let deadline = [self.client.nextDeadline, self.server.nextDeadline].compactMap(\.self).min() else { return }
      // Waits for OpenSSL's timer; no datagram is on its way.
      _ = poll(nil, 0, Int32(max(0, (deadline - Self.now).nanoseconds / 1_000_000) + 1))
      self.send(self.client.handleTimeout(at: Self.now), toServer: true, fate)
      self.send(self.server.handleTimeout(at: Self.now), toServer: false, fate)
    }
  }

  mutating func deliver(_ bytes: [UInt8], toServer: Bool, _ fate: (Int) -> Fate = { _ in .delivered }) {
    if toServer {
      self.send(self.server.receive(ByteBuffer(bytes: bytes), at: Self.now), toServer: false, fate)
    } else {
      self.send(self.client.receive(ByteBuffer(bytes: bytes), at: Self.now), toServer: true, fate)
    }
  }

  /// Ends the association of the client.
  mutating func closeClient() {
    for datagram in self.client.close() { self.deliver(datagram, toServer: true) }
  }

  private mutating func send(_ datagrams: [[UInt8]], toServer: Bool, _ fate: (Int) -> Fate) {
    self.maximumCount = max(self.maximumCount, datagrams.count)
    for datagram in datagrams {
      self.maximumLength = max(self.maximumLength, datagram.count)
      let next = (toServer, datagram)
      switch fate(self.datagramCount) {
      case .delivered: self.queue.append(next)
      case .dropped: break
      case .duplicated: self.queue += [next, next]
      case .delayed: self.delayed = next
      }
      self.datagramCount += 1
    }
  }
}
