import FuzzEntry

@main
enum FuzzConfiguration {
  static func main() {
    fuzz(.configuration)
  }
}
