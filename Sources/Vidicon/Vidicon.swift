// The public face: `import Vidicon` is all that a user of the libraries needs.
@_exported public import Authentication
@_exported public import Capture
@_exported public import CaptureDevices
@_exported public import Codecs
@_exported public import Discovery
@_exported public import Effects
@_exported public import HTTPServer
@_exported public import Media
@_exported public import MediaInput
@_exported public import RTSPServer
@_exported public import Recording
@_exported public import StreamControl
@_exported public import Streaming
@_exported public import Threading
