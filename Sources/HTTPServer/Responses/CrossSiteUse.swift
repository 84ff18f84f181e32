/// Uses of a resource by web pages of other sites, as far as the settings of access allow them.
package enum CrossSiteUse: Hashable, Sendable {
  /// None: requests of other sites' pages are refused.
  case none
  /// Reading, without a setting: the resource says nothing of the server.
  case open
  /// Reading by pages of the sites of `--cors`.
  case media
  /// Reading as of ``media``; pages of every site may show it where embedding is allowed.
  case image

  /// Whether pages of the sites of `--cors` may read it.
  package var isMedia: Bool { self == .media || self == .image }
}
