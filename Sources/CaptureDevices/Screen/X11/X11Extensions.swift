#if os(Linux)
internal import CXCB

/// The extensions of an X server that capture uses, where present in a sufficient version.
struct X11Extensions {
  /// Event code of Damage, which reports changes; nil without it.
  private(set) var damageEvent: UInt8?
  /// First event code of XFixes, which reports the pointer's image and the content of damage; nil without it.
  private(set) var fixesEvent: UInt8?
  /// Whether MIT-SHM accepts memory by file descriptor (version 1.2).
  private(set) var hasSharedMemory = false
  /// Whether Composite provides the pixmaps of covered windows (version 0.2).
  private(set) var hasComposite = false
  /// Whether RandR lists monitors (version 1.5).
  private(set) var hasMonitors = false

  /// No extension.
  init() {}

  /// Queries the server, which requires that a client states its version of each extension.
  init(_ connection: X11Connection) throws(X11Failure) {
    let pointer = connection.pointer
    func present(_ reply: UnsafePointer<xcb_query_extension_reply_t>?) -> UInt8? {
      reply.flatMap { $0.pointee.present == 0 ? nil : $0.pointee.first_event }
    }
    if let event = present(vidicon_xcb_xfixes(pointer)) {
      let version = try connection.reply(
        xcb_xfixes_query_version(pointer, 5, 0).sequence, xcb_xfixes_query_version_reply_t.self)
      if version.content.major_version >= 2 { self.fixesEvent = event }
    }
    if self.fixesEvent != nil, let event = present(vidicon_xcb_damage(pointer)) {
      _ = try connection.reply(
        xcb_damage_query_version(pointer, 1, 1).sequence, xcb_damage_query_version_reply_t.self)
      self.damageEvent = event
    }
    if connection.isLocal, present(vidicon_xcb_shm(pointer)) != nil {
      let version = try connection.reply(xcb_shm_query_version(pointer).sequence, xcb_shm_query_version_reply_t.self)
      self.hasSharedMemory = (version.content.major_version, version.content.minor_version) >= (1, 2)
    }
    if present(vidicon_xcb_composite(pointer)) != nil {
      let version = try connection.reply(
        xcb_composite_query_version(pointer, 0, 4).sequence, xcb_composite_query_version_reply_t.self)
      self.hasComposite = (version.content.major_version, version.content.minor_version) >= (0, 2)
    }
    if present(vidicon_xcb_randr(pointer)) != nil {
      let version = try connection.reply(
        xcb_randr_query_version(pointer, 1, 5).sequence, xcb_randr_query_version_reply_t.self)
      self.hasMonitors = (version.content.major_version, version.content.minor_version) >= (1, 5)
    }
  }
}
#endif
