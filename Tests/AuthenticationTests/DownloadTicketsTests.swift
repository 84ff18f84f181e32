import Media
import Testing

@testable import Authentication

@Suite("Tickets for downloads")
struct DownloadTicketsTests {
  private static let now = MediaTime(nanoseconds: 5_000_000_000)

  @Test func `a ticket is valid for its file and four hours`() {
    var number: UInt64 = 0
    let tickets = DownloadTickets {
      number += 1
      return number
    }
    let ticket = tickets.ticket(for: "live/a.mp4", now: Self.now)
    #expect(ticket.utf8.count == 48)
    #expect(tickets.accepts(ticket, for: "live/a.mp4", now: Self.now))
    #expect(tickets.accepts(ticket, for: "live/a.mp4", now: Self.now + .seconds(4 * 3600 - 1)))
    #expect(!tickets.accepts(ticket, for: "live/a.mp4", now: Self.now + .seconds(4 * 3600)))
    for path in ["live/b.mp4", "live/a.mp", "", "live/a.mp4/"] {
      #expect(!tickets.accepts(ticket, for: path, now: Self.now), "\(path)")
    }
    let other = DownloadTickets { 7 }
    #expect(!other.accepts(ticket, for: "live/a.mp4", now: Self.now))
  }

  @Test func `a forged ticket is not valid`() {
    let tickets = DownloadTickets { 7 }
    let ticket = tickets.ticket(for: "a", now: Self.now)
    for index in ticket.indices {
      var forged = ticket
      forged.replaceSubrange(index...index, with: ticket[index] == "0" ? "1" : "0")
      #expect(!tickets.accepts(forged, for: "a", now: Self.now), "\(forged)")
    }
    for text in [
      "", "0", ticket + "0", String(ticket.dropLast()), String(repeating: "é", count: 24), "+" + ticket.dropFirst(),
    ] {
      #expect(!tickets.accepts(text, for: "a", now: Self.now), "\(text)")
    }
  }
}
