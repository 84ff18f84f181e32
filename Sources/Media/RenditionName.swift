/// Names of renditions in addresses, documents and options.
public enum RenditionName {
  /// The main rendition of every stream.
  public static let main = "main"
}
