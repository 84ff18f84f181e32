internal import NIOCore

extension WebServerProviders.File {
  /// Returns the file with the addresses in attributes of HTML, `="/…"`, below a root; files of other kinds are unchanged.
  ///
  /// Modules import each other by relative references, so that the HTML alone has addresses from the root.
  ///
  /// - Parameter root: A reference to the server's root with a slash at the end, of unreserved characters, `/` and `%` only; see
  ///   ``HTTPTarget/root``. The entity tag has it too: the same page has other bytes in another folder.
  func withAddresses(from root: String) -> WebServerProviders.File {
    guard self.mediaType.hasPrefix("text/html") else { return self }
    var file = self
    file.etag = "\(self.etag.dropLast())-\(root)\""
    let bytes = self.body.readableBytesView
    var output = ByteBuffer()
    output.reserveCapacity(bytes.count + 64 * root.utf8.count)
    var start = bytes.startIndex
    for index in bytes.indices.dropFirst(2)
    where bytes[index] == UInt8(ascii: "/") && bytes[index - 1] == UInt8(ascii: "\"")
      && bytes[index - 2] == UInt8(ascii: "=")
    {
      output.writeBytes(bytes[start..<index])
      output.writeString(root)
      start = index + 1
    }
    output.writeBytes(bytes[start...])
    file.body = output
    return file
  }
}
