internal import CYUV
internal import Inference
internal import Media

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Checks that a detector finds a known face before it is relied on: the weights may be damaged, or the kernels wrong on this
/// processor.
struct FaceSelfTest {
  private static let side = 40
  /// Center and side of the face's box, relative to the image.
  private static let center = SIMD2<Float>(0.5, 0.43)
  private static let size: Float = 0.4
  private static let tolerance: Float = 0.08

  /// Luma of 40 × 40 pixels, row by row: the head of the astronaut Eileen Collins, from a photo by NASA in the public domain,
  /// which scikit-image contains as its test image "astronaut".
  private static let luma = """
    qKikoqOlrLCvsba4uLe3s7Cysq6ps7y/wL+7ube2tLS1t7m3tbW4vamopKKjqbCxsLO4ubi2tbOrm4mCjZuYj6u/vLi2tbW2t7m4
    sLS1t7yqqaenqa6zsrS1trW2tLKIcXSFnK6xooFxep60tra3tre4uLS5urq+qKirrrK0tri6ure2trFyRmt1fI6qrZuLeGNkeK25
    uLe2ubq6u7q6u6aorLG0tri6u7u6tKiLPCVngpWdopR4bHN4Z2l2n7q6uLm9vLu6uLakpqmusbOztLW3sIqBjEtNdXeCj5qPjHh7
    aVVkZV+2vbq6u72/vLW0oqSnq66urq+wqn1kZoN2cnuGiZSOf36Ei3VRVVtMg8G9urq8v8C1tKOlp6qsq6yurXxpUlx7eGZdbXOB
    kpKNjXljQCtTREq/wsC+vb2/t7OkpqipqaioqplqZVplc4F8ZV9sg4uSi56WWjUwSEk3sMTFxcTAv7q3oaWpqKeoqKqLW3J3ZVR7
    cXFrbnyEf4d8cVw4T0xISJDDxMLAvru6uZ+mqqqoqKiqkVBlgk9SmX5xd3N0cWJiXkY/NDpGTkJxv8C7ur26trOip6utrKupqaBd
    XWU+X7C9tLO9sa6bf2A0Kiw3PUQ8UsC/trm7urSuoqiurq2trKqbUFVPOnGnsbe0zM7Px7enf0w0ITc7RlzAu7e3uri0s6eqra6u
    rq6toj40Q0OFqpJ/mq7KwKaWoqJsTBcuNDRtubSztLS1tbWqq6usra6ur65QNTBFnqCSZZWjxaqDg09qdVocMEY+nLGsrrGztLW2
    qampq62ur7CzmTcsTKjAxLyys8Cen7KeiolyJi5HN7K0sLGysrG0tqioqauur7CxtLaXUGOrxM/JxbS5np26vLSdeSwwQI+7uLa2
    tbS0tbaoqKqsrrCvs7W6vqWYqcHTw7OztKKKtL25l24oK4G/v728u7q5uri3q6usrrCxsrS3vsC9taO2tpuuqLicfo62to1sSYjA
    wMC/wMHBv7y8u66urrCztLW2usDCw8KjqZmwuLWkjIKPoKN+fJ3Gw8HAv7/BwsLBwsOwsLCxs7W3uLvGyMjGp7bAlqGxs6GDbqig
    favMyMTEw8HAwMPExsbHtLGwsbO3ury/vbKnopy1xr6rxsy6jp7Bm3zAysbDxcXGxcPExsfIyLe0s7O3u7uohmRGNC5PqL7AuL6x
    pZCqsoyOxsXFxMbHyMbFw8XHyMa5uLW3u7uTYiQQEBAQO6Ovv8HAtKmlo5R9vMPGxsTGyMfGxMLExsbEubm6vb+bVxIQEBEWFjuz
    n7HEy8C2pIl8g8fGxsfExsjHxsLAwcXFwbq8v8CxdRYQEj8tFxU5tsCdpba0pXxrcorKzMvHxsXGx8bBv8DFxL+8wMKuj1EWGlBT
    GxEQIpvKu5l6ZWBudndQgL7MysjGxsbFw8LCwsC9vcC0iYxGKl6DLxEQFRklVnF9ipWNhXdaGRtlrsvIxsbIycnJxsO/ur3Bp3V/
    YVutaBsWGBkWFh0fICAbIioYEBAQFlmozMnJzM3Pz8zGwLzAxpt+X2uMtFU9HxkXFhIYGhoaFhQSERAQEBAWYa/Ozc/Q0M/LxcG/
    w8RlajZ3hqN4UB8TGBcQFhgYGBMSFBMQEBIbECVxvtDOzs/NyMXDwcWsWUY2XHWUraQ3KhwVEBUWFxgUExQSEBAQGyAUR4DMzMzM
    zMnHxsWjn3c1ZjprfZuilE8cERAVFxgZFBISERAQEBw2JSJspcvKy8vLycfEopyKX29aN2d8bodlKBAQFhwaFxUTEhAQEBAWND0q
    VXrIycnJyMjIxZ+ekXdQiEZPZXiOXyEQERYbGBYUERAQEBAQOUpDTktpu8fGxsbHysibmZOCblNGQVtrcolEHBUbHBoVEBAREhAQ
    NV5KXWleaYi7x8bFycvJnpeOjXdoWyQ4WGtZfzcwJDRELREUFxQSEB9YWWhuemBtiJ7DxsrLyZiYi4+DXnA+Mio7XkdedZugXCwg
    Lz87PBJIa25zZnFUbIWGocTKy8mHm5SFhWN2WEYxJio6OkeFrqJ9kad7Y1goNGZ3TWJaQ3WDh5aYwMjGh4aWg42HdnBwQC4dIBYu
    O0BQaI2ag6WnfWRmVTtTODpmfYqTj4vBwg==
    """

  /// The image at a model's input size.
  static func image(side: Int) -> PixelBuffer? {
    let text = Self.luma.filter { !$0.isWhitespace }
    guard let bytes = Data(base64Encoded: text), bytes.count == Self.side * Self.side else { return nil }
    let image = PixelBuffer(format: VideoFormat(width: side, height: side))
    image.cover()
    let to = Canvas(image).pointers()
    Array(bytes).withUnsafeBufferPointer { bytes in
      ScalePlane(
        bytes.baseAddress, Int32(Self.side), Int32(Self.side), Int32(Self.side), to.luma, to.lumaStride, Int32(side),
        Int32(side), kFilterBilinear)
      return
    }
    withExtendedLifetime(image) {}
    return image
  }

  /// Throws unless a detector finds the face where it is, and none in an empty image.
  static func check(_ model: FaceModel, plan: InferencePlan) throws(VidiconError) {
    var detector = FaceDetector(model, plan: plan, threshold: nil)
    var found: [FaceCandidate] = []
    var others: [FaceCandidate] = []
    if let image = Self.image(side: model.inputSide) { detector.detect(in: image, into: &found) }
    let empty = PixelBuffer(format: VideoFormat(width: model.inputSide, height: model.inputSide))
    empty.cover()
    detector.detect(in: empty, into: &others)
    let isFound = found.max { $0.score < $1.score }.map { face in
      let offset = face.center - Self.center
      return (offset * offset).sum().squareRoot() < Self.tolerance && abs(face.size.x - Self.size) < Self.tolerance
    }
    guard isFound == true, others.isEmpty else {
      throw VidiconError(
        .failed, subject: model.fileName, cause: "the model does not find the face of the self-test",
        nextStep: "run scripts/setup again; if that does not help, report this processor as unsupported")
    }
  }
}
