import FuzzEntry

@main
enum FuzzHTTP {
  static func main() {
    fuzz(.http)
  }
}
