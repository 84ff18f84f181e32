package import Media

/// The ports that a server may listen on, in the order in which they are tried.
package struct PortChoice: Hashable, Sendable {
  /// The first port, 0 to 65,535; 0 for any free one.
  package var port: Int
  /// Ports in place of one that is in use; 0 for any free one. Without them a port in use is an error.
  package var alternatives: [Int]

  /// Creates a choice among a port and its alternatives.
  package init(_ port: Int, alternatives: [Int] = []) {
    self.port = port
    self.alternatives = alternatives
  }

  /// Opens the first of the ports that is free. Binding decides: a port that was only found free may be another program's by then.
  ///
  /// - Parameter open: Opens a port, and throws `portInUse` for one that another program has.
  /// - Throws: The error of the first port, where it is another one, or no alternative can be opened.
  package func open<Opened>(
    _ open: (Int) async throws(VidiconError) -> Opened
  ) async throws(VidiconError) -> Opened {
    do throws(VidiconError) {
      return try await open(self.port)
    } catch {
      guard error.code == .portInUse else { throw error }
      for alternative in self.alternatives {
        // The error of the port that was wanted says more than that of an alternative.
        if let opened = try? await open(alternative) { return opened }
      }
      throw error
    }
  }
}
