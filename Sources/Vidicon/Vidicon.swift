// Exports for programs: modules whose public names are for programs as a whole, and single types of the others. The bytes
// of snapshots and samples are `ByteBuffer`s, of NIOCore.
@_exported public import Capture
@_exported public import CaptureDevices
@_exported public import Effects
@_exported public import Media
@_exported public import MediaInput
@_exported public import Recording
@_exported public import StreamControl
@_exported public import Streaming

@_exported public import class Authentication.AccessControl
@_exported public import struct Authentication.AccessSettings
@_exported public import struct Authentication.AccessToken
@_exported public import enum Authentication.ControlPolicy
@_exported public import struct Authentication.Credentials
@_exported public import struct Authentication.PasswordHash
@_exported public import enum Authentication.RecordingsPolicy
@_exported public import class Authentication.RefusalCounters
@_exported public import enum Authentication.RefusalReason
@_exported public import enum Authentication.Role
@_exported public import struct Authentication.Secret
@_exported public import struct Authentication.UserFile
@_exported public import struct ControlAPI.StreamAddresses
@_exported public import enum Discovery.DiscoveryEvent
@_exported public import enum Discovery.NetworkAddresses
@_exported public import struct Discovery.QRCode
@_exported public import struct Discovery.Service
@_exported public import struct Discovery.ServiceName
@_exported public import struct Discovery.ServiceText
@_exported public import struct HLSServer.HTTPStreamStatistics
@_exported public import struct HTTPServer.HTTPServerLimits
@_exported public import struct HTTPServer.HTTPServerSettings
@_exported public import struct Pushing.PushReport
@_exported public import struct Pushing.PushStatus
@_exported public import struct Pushing.PushTarget
@_exported public import struct RTMP.RTMPLogin
@_exported public import struct RTMP.RTMPURL
@_exported public import struct RTMPServer.RTMPServerSettings
@_exported public import struct RTSPServer.RTSPServerSettings
@_exported public import struct Serving.CertificateFiles
@_exported public import struct Serving.PushEvent
@_exported public import class Serving.StreamPushes
@_exported public import struct Serving.TLSSettings
@_exported public import struct Serving.ViewerStatistics
@_exported public import struct Serving.WebRTCPublisherStatistics
@_exported public import enum Serving.WebRTCSessionFailure
@_exported public import struct Serving.WebRTCViewerStatistics
@_exported public import struct Threading.StreamClock
@_exported public import struct WebRTC.WHIPURL
@_exported public import struct WebRTCServer.ICEServer
@_exported public import struct WebRTCServer.WebRTCServerSettings
