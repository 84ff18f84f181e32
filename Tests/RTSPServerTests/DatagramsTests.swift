import CDatagrams
import COffload
import Foundation
import Libc
import NIOCore
import NIOPosix
import Testing

@testable import RTSPServer

@Suite("Datagrams in batches")
struct DatagramsTests {
  /// A pair of sockets on neighboring ports of the loopback, closed at the end.
  private func withPair(_ body: (_ sockets: [Int32], _ ports: [UInt16]) throws -> Void) rethrows {
    var sockets: [Int32] = [-1, -1]
    var ports: [UInt16] = [0, 0]
    #expect(vidicon_datagrams_open_pair("127.0.0.1", &sockets, &ports) == 0)
    defer { for socket in sockets { close(socket) } }
    try body(sockets, ports)
  }

  /// Waits for a datagram; the system may deliver it later than the call that sends it returns.
  ///
  /// - Returns: Whether one has come within five minutes.
  private func waitForDatagram(at socket: Int32) -> Bool {
    var interest = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    return poll(&interest, 1, 300_000) == 1 || errno == EINTR
  }

  /// All datagrams that have come, once they are a number of them.
  private func receive(_ socket: Int32, atLeast minimum: Int) -> [[UInt8]] {
    var datagrams: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count >= 0 {
        datagrams.append(Array(buffer.prefix(count)))
      } else if datagrams.count >= minimum || !self.waitForDatagram(at: socket) {
        return datagrams
      }
    }
  }

  @Test func `a socket pair has an even port and the next`() {
    self.withPair { _, ports in
      #expect(ports[0].isMultiple(of: 2) && ports[1] == ports[0] + 1)
    }
  }

  @Test func `a malformed address is an error`() {
    var sockets: [Int32] = [-1, -1]
    var ports: [UInt16] = [0, 0]
    #expect(vidicon_datagrams_open_pair("nowhere", &sockets, &ports) != 0)
  }

  @Test(arguments: [true, false])
  func `runs of datagrams arrive at each destination, with and without segmentation offload`(offload: Bool) throws {
    try self.withPair { sockets, ports in
      try self.withPair { receivers, receiverPorts in
        let bytes = (0..<2500).map { UInt8(truncatingIfNeeded: $0) }
        let runs = [
          vidicon_datagram_run(offset: 0, length: 100, segment_length: 100),
          vidicon_datagram_run(offset: 100, length: 2400, segment_length: 1000),
        ]
        let destinations = try receiverPorts.map {
          vidicon_destination(try SocketAddress(ipAddress: "127.0.0.1", port: Int($0)))
        }
        var usesOffload = offload
        var position = vidicon_datagram_position()
        let result = vidicon_datagrams_send(sockets[0], bytes, runs, 2, destinations, 2, &position, &usesOffload)
        #expect(position.destination == 2 && result.unreachable == 0)
        let expected = [bytes[0..<100], bytes[100..<1100], bytes[1100..<2100], bytes[2100..<2500]].map(Array.init)
        for receiver in receivers { #expect(self.receive(receiver, atLeast: 4) == expected) }
      }
    }
  }

  #if os(Linux)
  @Test func `a route without segmentation offload gets its datagrams one by one, and others keep it`() throws {
    // Addresses of the loopback that no other test has.
    let (failing, other) = (UInt32(0x7F00_4D01), UInt32(0x7F00_4D02))
    let receivers = [failing, other].map { address -> (socket: Int32, port: UInt16) in
      var (receiver, port): (Int32, UInt16) = (-1, 0)
      let text = (0..<4).map { "\(address >> (24 - 8 * $0) & 255)" }.joined(separator: ".")
      #expect(vidicon_datagrams_open(text, &receiver, &port) == 0)
      return (receiver, port)
    }
    defer { for receiver in receivers { close(receiver.socket) } }
    let destinations = zip([failing, other], receivers).map { address, receiver in
      var endpoint = vidicon_endpoint(upper: 0, lower: UInt64(address), port: receiver.port, is_ipv6: false, scope: 0)
      return vidicon_destination_of(&endpoint, false)
    }
    let bytes = (0..<2500).map { UInt8(truncatingIfNeeded: $0) }
    let run = vidicon_datagram_run(offset: 0, length: 2500, segment_length: 1000)
    let expected = [bytes[0..<1000], bytes[1000..<2000], bytes[2000..<2500]].map(Array.init)
    let messages = destinations.map { vidicon_datagram_message(run: run, destination: $0) }
    vidicon_offload_fails_to(failing)
    defer { vidicon_offload_fails_to(0) }
    _ = vidicon_offloaded_messages(other)
    var offload = true
    self.withPair { sockets, _ in
      for round in 1...3 {
        var position = vidicon_datagram_position()
        let result =
          round == 3
          ? vidicon_datagrams_send_messages(sockets[0], bytes, messages, 2, &position, &offload)
          : vidicon_datagrams_send(sockets[0], bytes, [run], 1, destinations, 2, &position, &offload)
        #expect(position.destination == 2 && result.unreachable == 0 && result.sent == 4 && offload, "\(round)")
        for receiver in receivers { #expect(self.receive(receiver.socket, atLeast: 3) == expected, "\(round)") }
        #expect(vidicon_offloaded_messages(other) == 1, "\(round)")
        // For a minute, offload is not tried there, whether it would work or not.
        if round == 1 { vidicon_offload_fails_to(0) }
      }
      _ = vidicon_offloaded_messages(failing)
      var position = vidicon_datagram_position()
      #expect(vidicon_datagrams_send(sockets[0], bytes, [run], 1, destinations, 2, &position, &offload).sent == 4)
      #expect(vidicon_offloaded_messages(failing) == 0)
    }
  }
  #endif

  @Test func `a full send buffer loses nothing: sending continues at the datagram that did not fit`() throws {
    // The queue of a Unix domain socket takes about ten datagrams; one of UDP on the loopback is never full.
    let path = "\(NSTemporaryDirectory())/datagrams-\(UInt64.random(in: 0...UInt64.max))"
    let receiver = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    defer {
      for descriptor in [receiver, sender] { close(descriptor) }
      unlink(path)
    }
    let address = try SocketAddress(unixDomainSocketPath: path)
    #expect(address.withSockAddr { bind(receiver, $0, socklen_t($1)) } == 0)
    let bytes = (0..<2000).map { UInt8(truncatingIfNeeded: $0 / 100) }
    let runs = [
      vidicon_datagram_run(offset: 0, length: 950, segment_length: 100),
      vidicon_datagram_run(offset: 950, length: 300, segment_length: 300),
    ]
    var left = vidicon_destination(address)
    left.length = 0
    let destinations = [vidicon_destination(address), left, vidicon_destination(address)]
    var position = vidicon_datagram_position()
    var offload = false
    var (received, calls, sent) = ([[UInt8]](), 0, 0)
    while position.destination < destinations.count, calls < 10 {
      sent += vidicon_datagrams_send(sender, bytes, runs, 2, destinations, 3, &position, &offload).sent
      received += self.receive(receiver, atLeast: 0)
      calls += 1
    }
    let once =
      stride(from: 0, to: 950, by: 100).map { Array(bytes[$0..<min($0 + 100, 950)]) } + [Array(bytes[950..<1250])]
    #expect(received == once + once)
    #expect(sent == 22 && calls > 1)
  }

  @Test(arguments: [("0.0.0.0", false), ("::", true)])
  func `the socket of a route sends from its address and the port of the pair, and receives what is sent to it`(
    wildcard: String, isMapped: Bool
  ) throws {
    var sockets: [Int32] = [-1, -1]
    var ports: [UInt16] = [0, 0]
    #expect(vidicon_datagrams_open_pair(wildcard, &sockets, &ports) == 0)
    var endpoint = vidicon_endpoint(upper: 0, lower: 0x7F00_0002, port: ports[0], is_ipv6: false, scope: 0)
    var route: Int32 = -1
    #expect(vidicon_datagrams_open_route(&endpoint, isMapped, &route) == 0)
    defer { for socket in sockets + [route] { close(socket) } }
    try self.withPair { receivers, receiverPorts in
      let run = vidicon_datagram_run(offset: 0, length: 5, segment_length: 5)
      var to = vidicon_endpoint(upper: 0, lower: 0x7F00_0001, port: receiverPorts[0], is_ipv6: false, scope: 0)
      var (position, offload) = (vidicon_datagram_position(), false)
      let sent = vidicon_datagrams_send(
        route, [1, 2, 3, 4, 5], [run], 1, [vidicon_destination_of(&to, isMapped)], 1, &position, &offload)
      #expect(sent.sent == 1 && sent.unreachable == 0 && sent.byte_count == 5)
      // The address of the sender: family, port and address of sockaddr_in, the latter two in network byte order.
      var (bytes, source, length) = ([UInt8](repeating: 0, count: 8), [UInt8](repeating: 0, count: 16), socklen_t(16))
      #expect(self.waitForDatagram(at: receivers[0]))
      let count = source.withUnsafeMutableBytes { source in
        let address = source.baseAddress?.assumingMemoryBound(to: sockaddr.self)
        return recvfrom(receivers[0], &bytes, 8, Int32(MSG_DONTWAIT), address, &length)
      }
      #expect(count == 5 && source[4..<8].elementsEqual([127, 0, 0, 2]))
      #expect(Int(source[2]) << 8 | Int(source[3]) == Int(ports[0]))
      // Answers reach the socket whose address they are sent to.
      for (host, byte) in [("127.0.0.1", UInt8(1)), ("127.0.0.2", 2)] {
        let address = try SocketAddress(ipAddress: host, port: Int(ports[0]))
        #expect(address.withSockAddr { sendto(receivers[0], [byte], 1, 0, $0, socklen_t($1)) } == 1)
      }
      #expect(self.receive(sockets[0], atLeast: 1) == [[1]] && self.receive(route, atLeast: 1) == [[2]])
    }
  }

  #if os(Linux)
  /// Addresses of this machine: that of the receiver, the sockets', and the one that was asked.
  @Test(
    arguments: [
      ("127.0.0.1", "0.0.0.0", "127.0.0.2"), ("127.0.0.1", "::", "127.0.0.2"), ("127.0.0.1", "::", "127.0.0.1"),
      ("::1", "::", "::1"),
    ] as [(receiver: String, bound: String, asked: String)], [true, false])
  func `RTP and RTCP come from the address that was asked, with and without segmentation offload`(
    addresses: (receiver: String, bound: String, asked: String), offload: Bool
  ) throws {
    var (sockets, ports): ([Int32], [UInt16]) = ([-1, -1], [0, 0])
    #expect(vidicon_datagrams_open_pair(addresses.bound, &sockets, &ports) == 0)
    var (receiver, port): (Int32, UInt16) = (-1, 0)
    #expect(vidicon_datagrams_open(addresses.receiver, &receiver, &port) == 0)
    defer { for socket in sockets + [receiver] { close(socket) } }
    let isMapped = addresses.bound == "::"
    var endpoint = vidicon_endpoint()
    let address = try SocketAddress(ipAddress: addresses.receiver, port: Int(port))
    let isIP = address.withSockAddr { pointer, _ in vidicon_endpoint_of(pointer, &endpoint) }
    #expect(isIP)
    // The port of a connection, which is not that of the sockets.
    let asked = try SocketAddress(ipAddress: addresses.asked, port: 8554)
    var destination = vidicon_destination_of(&endpoint, isMapped)
    destination.source = vidicon_destination(address, from: asked).source
    // An address that this machine does not have, or has no more: these datagrams are lost, others are not.
    var stale = destination
    stale.source = vidicon_destination(address, from: try SocketAddress(ipAddress: "192.0.2.1", port: 0)).source
    let run = vidicon_datagram_run(offset: 0, length: 2500, segment_length: 1000)
    for (socket, ownPort) in zip(sockets, ports) {
      var (position, usesOffload) = (vidicon_datagram_position(), offload)
      let destinations = addresses.receiver == "::1" ? [destination] : [stale, destination]
      let result = vidicon_datagrams_send(
        socket, [UInt8](repeating: 7, count: 2500), [run], 1, destinations, destinations.count, &position, &usesOffload)
      #expect(position.destination == destinations.count && result.byte_count == 2500)
      #expect((result.unreachable > 0) == (destinations.count > 1))
      for length in [1000, 1000, 500] {
        var (bytes, source) = ([UInt8](repeating: 0, count: 2048), sockaddr_storage())
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let count = withUnsafeMutablePointer(to: &source) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            recvfrom(receiver, &bytes, bytes.count, Int32(MSG_DONTWAIT), $0, &size)
          }
        }
        #expect(count == length)
        var from = vidicon_endpoint()
        let isKnown = withUnsafePointer(to: &source) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { vidicon_endpoint_of($0, &from) }
        }
        #expect(isKnown && from.port == ownPort)
        #expect(from.upper == destination.source.upper && from.lower == destination.source.lower)
      }
    }
  }
  #endif

  @Test func `a link-local address keeps its interface, a mapped one is of IPv4`() throws {
    let address = try SocketAddress.makeAddressResolvingHost("fe80::1%lo", port: 0)
    let source = vidicon_destination(address, from: address).source
    #expect(source.is_ipv6 && source.scope == if_nametoindex("lo"))
    #expect(source.upper == 0xFE80_0000_0000_0000 && source.lower == 1)
    let mapped = vidicon_destination(
      address, from: try SocketAddress(ipAddress: "::ffff:127.0.0.2", port: 0)
    ).source
    #expect(!mapped.is_ipv6 && mapped.scope == 0 && mapped.lower == 0x7F00_0002)
    // Without an address of IP, the system chooses.
    let path = try SocketAddress(unixDomainSocketPath: "/tmp/none")
    let none = vidicon_destination(address, from: path).source
    #expect(none.upper == 0 && none.lower == 0)
  }

  @Test func `each address of the machine that viewers connect to has a socket, up to a maximum`() async throws {
    let sockets = try await DatagramSockets.open(address: "0.0.0.0", group: MultiThreadedEventLoopGroup.singleton)
    func route(_ host: Int) throws -> Int {
      sockets.route(from: try SocketAddress(ipAddress: "127.0.0.\(host)", port: 8554))
    }
    #expect(sockets.route(from: nil) == 0)
    #expect(try (1...20).map(route) == Array(0..<16) + [0, 0, 0, 0])
    #expect(try (1...3).map(route) == [0, 1, 2])
    // An address that is none of the machine's has no socket.
    let other = try await DatagramSockets.open(address: "0.0.0.0", group: MultiThreadedEventLoopGroup.singleton)
    #expect(other.route(from: try SocketAddress(ipAddress: "127.0.0.1", port: 1)) == 0)
    #expect(other.route(from: try SocketAddress(ipAddress: "192.0.2.1", port: 1)) == 0)
    await other.close()
    await sockets.close()
  }

  @Test func `the granted length of the send buffer is known`() {
    self.withPair { sockets, _ in
      #expect(vidicon_datagrams_send_buffer(sockets[0]) > 4096)
      #expect(vidicon_datagrams_send_buffer(-1) < 0)
    }
  }
}
