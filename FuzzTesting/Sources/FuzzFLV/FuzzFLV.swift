import FuzzEntry

@main
enum FuzzFLV {
  static func main() {
    fuzz(.flv)
  }
}
