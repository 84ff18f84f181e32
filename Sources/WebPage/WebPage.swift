internal import CDocuments
internal import Cryptography
internal import Media
package import NIOCore

/// The web page that plays the streams: HTML, CSS and JavaScript, embedded in the program.
///
/// The page requests the API, playlists, media and snapshots from its own server only. Its files are served below
/// ``folder``, a name that no stream can have.
///
/// Behind a reverse proxy the server's root may be below a path. The addresses in attributes of the HTML begin with `="/`, where the
/// server puts the reference to its root; the scripts find the root by their own address.
package enum WebPage {
  /// A file of the page with its response fields.
  package struct File: Sendable {
    /// The content; the storage is shared by all responses.
    package let bytes: ByteBuffer
    /// The value of `Content-Type`, with the character set for text.
    package let mediaType: String
    /// The entity tag, RFC 9110 §8.8.3, with its quotes: a hash of the bytes, equal in every run and build.
    package let entityTag: String
  }

  /// The path prefix of styles, scripts and the icon.
  package static let folder = "/_page/"

  /// The `Content-Security-Policy` of every file: same-origin content only, no inline scripts or styles, framing by the
  /// same origin only. `blob:` URLs are created by the scripts for media and thumbnails.
  package static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

  /// The `Cache-Control` of every file: cached, and revalidated by entity tag on each use, since another version of the
  /// program has other files of the same names.
  package static let cacheControl = "no-cache"

  /// The page at `/` with the list of streams.
  package static var list: File { Self.named("list.html") }

  /// The player page at `/NAME`, the same for every stream. For a missing stream it shows a notice and starts when the
  /// stream appears.
  package static var player: File { Self.named("player.html") }

  /// The page at `/recordings/` with the list of recordings.
  package static var recordings: File { Self.named("recordings.html") }

  /// The page at `/NAME/publish` that sends the camera of the device that opens it, the same for every stream.
  package static var publish: File { Self.named("publish.html") }

  /// The page at `/ca` that says how phones are made to trust the server's certificate authority.
  package static var authority: File { Self.named("ca.html") }

  /// Returns the file at a path: the list at `/`, and the files below ``folder``.
  ///
  /// - Parameter path: The path of a request without its query, not decoded: no file name needs percent encoding.
  /// - Returns: nil for any other path, including those of streams; see ``player``.
  package static func file(_ path: some StringProtocol) -> File? {
    if path == "/" { return Self.list }
    guard path.hasPrefix(Self.folder) else { return nil }
    return Self.files[String(path.dropFirst(Self.folder.count))]
  }

  /// All files by the name under which they are served, without comments and indentation.
  static let files: [String: File] = Dictionary(
    Self.sources.map { name, source in
      let served = PageSource.namingModules(PageSource.compact(source, name: name))
      return (PageSource.servedName(name), File(ByteBuffer(bytes: served), mediaType: Self.mediaType(of: name)))
    }, uniquingKeysWith: { first, _ in first })

  /// Names and bytes of the files as they were embedded.
  static var sources: [(name: String, bytes: UnsafeBufferPointer<UInt8>)] {
    var count = 0
    let first = vidicon_page_files(&count)
    return UnsafeBufferPointer(start: first, count: first == nil ? 0 : count).map { file in
      (String(cString: file.name), UnsafeBufferPointer(start: file.bytes, count: file.count))
    }
  }

  /// Returns a file that is always embedded.
  private static func named(_ name: String) -> File {
    guard let file = Self.files[name] else {
      // Safe because Sources/CDocuments/page.c embeds it; a test compares that list with the folder.
      preconditionFailure("the web page has no \(name)")
    }
    return file
  }

  private static func mediaType(of name: String) -> String {
    switch name.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "mjs": "text/javascript; charset=utf-8"
    case "svg": "image/svg+xml"
    default: "application/octet-stream"
    }
  }
}

extension WebPage.File {
  /// Creates a file whose entity tag is the first 96 bits of the SHA-256 of its bytes, hexadecimal.
  init(_ bytes: ByteBuffer, mediaType: String) {
    self.bytes = bytes
    self.mediaType = mediaType
    self.entityTag = "\"\(Hexadecimal.encode(HashAlgorithm.sha256.digest(of: bytes.readableBytesView).prefix(12)))\""
  }
}
