extension QRCode {
  /// The code as an SVG document that scales to its container: black on white, with the quiet zone.
  public var svg: String {
    let side = self.size + 2 * Self.quietZone
    var path = ""
    for row in 0..<self.size {
      var column = 0
      while column < self.size {
        guard self.isDark(column: column, row: row) else {
          column += 1
          continue
        }
        let start = column
        while self.isDark(column: column, row: row) { column += 1 }
        path += "M\(start + Self.quietZone) \(row + Self.quietZone)h\(column - start)v1h-\(column - start)z"
      }
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(side) \(side)" shape-rendering="crispEdges">\
      <rect width="\(side)" height="\(side)" fill="#fff"/><path d="\(path)" fill="#000"/></svg>
      """
  }
}
