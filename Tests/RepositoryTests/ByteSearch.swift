import Foundation

extension StringProtocol {
  /// Whether the bytes of a text are among those of this one. Rules ask that of each line of the repository; `contains` compares
  /// characters, and takes many times as long.
  func has(_ text: String) -> Bool {
    self.withCString { own in text.withCString { strstr(own, $0) != nil } }
  }
}
