internal import CWebPage
public import NIOCore

/// The web page that shows the streams: HTML, CSS and JavaScript, all of it in the program.
///
/// The page reads `/api`, the low-latency playlists and the pictures of the server that it came from, and nothing else.
/// Its own files are asked for below ``folder``, where no stream has any.
public enum WebPage {
  /// A file of the page, ready to be served.
  public struct File: Sendable {
    /// The content; the storage is shared by all who ask.
    public let bytes: ByteBuffer
    /// The media type for `Content-Type`, with the character set of text.
    public let mediaType: String
    /// The entity tag, RFC 9110 §8.8.3, with its quotes: the same for the same bytes, in every run and build.
    public let entityTag: String
  }

  /// The path below which the page's files are: styles, scripts and the icon.
  public static let folder = "/_page/"

  /// The `Content-Security-Policy` to send with every file of the page: nothing comes from anywhere else, no script
  /// stands in the HTML, and only pages of the same server may show it in a frame. `blob:` is for what the scripts make
  /// themselves: the media of the player, and thumbnails.
  public static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

  /// The `Cache-Control` to send with every file of the page. A newer program may hold other files of the same names:
  /// browsers keep them, and ask each time whether they still hold, by their entity tags.
  public static let cacheControl = "no-cache"

  /// The page at `/`, which lists the streams.
  public static var list: File { Self.named("list.html") }

  /// The page at `/NAME`, which plays a stream. It is the same for every stream, also for one that is not there (yet):
  /// the page says so, and plays as soon as it is.
  public static var player: File { Self.named("player.html") }

  /// The page at `/recordings/`, which lists what was recorded.
  public static var recordings: File { Self.named("recordings.html") }

  /// Finds what is at a path: the list at `/`, and the files below ``folder``.
  ///
  /// - Parameter path: The path of a request, without its query, as it came: nothing of the page needs percent encoding.
  /// - Returns: nil for any other path, those of streams among them; see ``player``.
  public static func file(_ path: some StringProtocol) -> File? {
    if path == "/" { return Self.list }
    guard path.hasPrefix(Self.folder) else { return nil }
    return Self.files[String(path.dropFirst(Self.folder.count))]
  }

  /// All files by their names.
  static let files: [String: File] = {
    var count = 0
    guard let first = vidicon_page_files(&count) else { return [:] }
    let files = UnsafeBufferPointer(start: first, count: count)
    return [String: File](
      files.map { file in
        let name = String(cString: file.name)
        let bytes = UnsafeBufferPointer(start: file.bytes, count: file.count)
        return (name, File(ByteBuffer(bytes: bytes), mediaType: Self.mediaType(of: name)))
      }, uniquingKeysWith: { first, _ in first })
  }()

  /// A file that the page always has.
  private static func named(_ name: String) -> File {
    guard let file = Self.files[name] else {
      // Safe because the file is in Sources/CWebPage/files.c, which a test compares with the folder.
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
