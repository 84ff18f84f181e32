/// Order in time of the two fields of an interlaced frame, whose lines alternate in it.
package enum FieldOrder: Hashable, Sendable {
  /// The field with the first line is shown first.
  case topFirst
  /// The field with the second line is shown first.
  case bottomFirst
}
