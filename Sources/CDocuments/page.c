// Embeds the files of Sources/WebPage/Site at compile time: no file is read at run time. A new file needs an array and an
// entry of `files`; WebPageTests compares the list with the folder.

#include "PageFiles.h"

// C23 has #embed; compilers that know it accept it in older C too, with a warning.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char addresses_mjs[] = {
#embed "../WebPage/Site/addresses.mjs"
};
static const unsigned char base_css[] = {
#embed "../WebPage/Site/base.css"
};
static const unsigned char boxes_mjs[] = {
#embed "../WebPage/Site/boxes.mjs"
};
static const unsigned char buffer_mjs[] = {
#embed "../WebPage/Site/buffer.mjs"
};
static const unsigned char ca_css[] = {
#embed "../WebPage/Site/ca.css"
};
static const unsigned char ca_html[] = {
#embed "../WebPage/Site/ca.html"
};
static const unsigned char ca_mjs[] = {
#embed "../WebPage/Site/ca.mjs"
};
static const unsigned char change_queue_mjs[] = {
#embed "../WebPage/Site/change-queue.mjs"
};
static const unsigned char check_mjs[] = {
#embed "../WebPage/Site/check.mjs"
};
static const unsigned char clock_mjs[] = {
#embed "../WebPage/Site/clock.mjs"
};
static const unsigned char controls_mjs[] = {
#embed "../WebPage/Site/controls.mjs"
};
static const unsigned char effects_panel_mjs[] = {
#embed "../WebPage/Site/effects-panel.mjs"
};
static const unsigned char face_boxes_mjs[] = {
#embed "../WebPage/Site/face-boxes.mjs"
};
static const unsigned char faces_mjs[] = {
#embed "../WebPage/Site/faces.mjs"
};
static const unsigned char facts_mjs[] = {
#embed "../WebPage/Site/facts.mjs"
};
static const unsigned char follow_mjs[] = {
#embed "../WebPage/Site/follow.mjs"
};
static const unsigned char ice_mjs[] = {
#embed "../WebPage/Site/ice.mjs"
};
static const unsigned char icon_svg[] = {
#embed "../WebPage/Site/icon.svg"
};
static const unsigned char latency_mjs[] = {
#embed "../WebPage/Site/latency.mjs"
};
static const unsigned char list_css[] = {
#embed "../WebPage/Site/list.css"
};
static const unsigned char list_html[] = {
#embed "../WebPage/Site/list.html"
};
static const unsigned char list_mjs[] = {
#embed "../WebPage/Site/list.mjs"
};
static const unsigned char loader_mjs[] = {
#embed "../WebPage/Site/loader.mjs"
};
static const unsigned char login_mjs[] = {
#embed "../WebPage/Site/login.mjs"
};
static const unsigned char operator_token_mjs[] = {
#embed "../WebPage/Site/operator-token.mjs"
};
static const unsigned char other_players_mjs[] = {
#embed "../WebPage/Site/other-players.mjs"
};
static const unsigned char player_css[] = {
#embed "../WebPage/Site/player.css"
};
static const unsigned char player_html[] = {
#embed "../WebPage/Site/player.html"
};
static const unsigned char player_mjs[] = {
#embed "../WebPage/Site/player.mjs"
};
static const unsigned char playlist_mjs[] = {
#embed "../WebPage/Site/playlist.mjs"
};
static const unsigned char publish_css[] = {
#embed "../WebPage/Site/publish.css"
};
static const unsigned char publish_devices_mjs[] = {
#embed "../WebPage/Site/publish-devices.mjs"
};
static const unsigned char publish_html[] = {
#embed "../WebPage/Site/publish.html"
};
static const unsigned char publish_mjs[] = {
#embed "../WebPage/Site/publish.mjs"
};
static const unsigned char publisher_mjs[] = {
#embed "../WebPage/Site/publisher.mjs"
};
static const unsigned char pushes_mjs[] = {
#embed "../WebPage/Site/pushes.mjs"
};
static const unsigned char quality_mjs[] = {
#embed "../WebPage/Site/quality.mjs"
};
static const unsigned char recorder_mjs[] = {
#embed "../WebPage/Site/recorder.mjs"
};
static const unsigned char recording_mjs[] = {
#embed "../WebPage/Site/recording.mjs"
};
static const unsigned char recordings_css[] = {
#embed "../WebPage/Site/recordings.css"
};
static const unsigned char recordings_html[] = {
#embed "../WebPage/Site/recordings.html"
};
static const unsigned char recordings_mjs[] = {
#embed "../WebPage/Site/recordings.mjs"
};
static const unsigned char requests_mjs[] = {
#embed "../WebPage/Site/requests.mjs"
};
static const unsigned char root_mjs[] = {
#embed "../WebPage/Site/root.mjs"
};
static const unsigned char server_mjs[] = {
#embed "../WebPage/Site/server.mjs"
};
static const unsigned char session_mjs[] = {
#embed "../WebPage/Site/session.mjs"
};
static const unsigned char share_mjs[] = {
#embed "../WebPage/Site/share.mjs"
};
static const unsigned char source_panel_mjs[] = {
#embed "../WebPage/Site/source-panel.mjs"
};
static const unsigned char source_css[] = {
#embed "../WebPage/Site/source.css"
};
static const unsigned char sources_mjs[] = {
#embed "../WebPage/Site/sources.mjs"
};
static const unsigned char stream_player_mjs[] = {
#embed "../WebPage/Site/stream-player.mjs"
};
static const unsigned char text_mjs[] = {
#embed "../WebPage/Site/text.mjs"
};
static const unsigned char thumbnails_mjs[] = {
#embed "../WebPage/Site/thumbnails.mjs"
};
static const unsigned char ways_mjs[] = {
#embed "../WebPage/Site/ways.mjs"
};
static const unsigned char webrtc_player_mjs[] = {
#embed "../WebPage/Site/webrtc-player.mjs"
};

#define FILE_OF(name, bytes) {name, bytes, sizeof(bytes)}

static const vidicon_page_file files[] = {
    FILE_OF("addresses.mjs", addresses_mjs),
    FILE_OF("base.css", base_css),
    FILE_OF("boxes.mjs", boxes_mjs),
    FILE_OF("buffer.mjs", buffer_mjs),
    FILE_OF("ca.css", ca_css),
    FILE_OF("ca.html", ca_html),
    FILE_OF("ca.mjs", ca_mjs),
    FILE_OF("change-queue.mjs", change_queue_mjs),
    FILE_OF("check.mjs", check_mjs),
    FILE_OF("clock.mjs", clock_mjs),
    FILE_OF("controls.mjs", controls_mjs),
    FILE_OF("effects-panel.mjs", effects_panel_mjs),
    FILE_OF("face-boxes.mjs", face_boxes_mjs),
    FILE_OF("faces.mjs", faces_mjs),
    FILE_OF("facts.mjs", facts_mjs),
    FILE_OF("follow.mjs", follow_mjs),
    FILE_OF("ice.mjs", ice_mjs),
    FILE_OF("icon.svg", icon_svg),
    FILE_OF("latency.mjs", latency_mjs),
    FILE_OF("list.css", list_css),
    FILE_OF("list.html", list_html),
    FILE_OF("list.mjs", list_mjs),
    FILE_OF("loader.mjs", loader_mjs),
    FILE_OF("login.mjs", login_mjs),
    FILE_OF("operator-token.mjs", operator_token_mjs),
    FILE_OF("other-players.mjs", other_players_mjs),
    FILE_OF("player.css", player_css),
    FILE_OF("player.html", player_html),
    FILE_OF("player.mjs", player_mjs),
    FILE_OF("playlist.mjs", playlist_mjs),
    FILE_OF("publish.css", publish_css),
    FILE_OF("publish-devices.mjs", publish_devices_mjs),
    FILE_OF("publish.html", publish_html),
    FILE_OF("publish.mjs", publish_mjs),
    FILE_OF("publisher.mjs", publisher_mjs),
    FILE_OF("pushes.mjs", pushes_mjs),
    FILE_OF("quality.mjs", quality_mjs),
    FILE_OF("recorder.mjs", recorder_mjs),
    FILE_OF("recording.mjs", recording_mjs),
    FILE_OF("recordings.css", recordings_css),
    FILE_OF("recordings.html", recordings_html),
    FILE_OF("recordings.mjs", recordings_mjs),
    FILE_OF("requests.mjs", requests_mjs),
    FILE_OF("root.mjs", root_mjs),
    FILE_OF("server.mjs", server_mjs),
    FILE_OF("session.mjs", session_mjs),
    FILE_OF("share.mjs", share_mjs),
    FILE_OF("source-panel.mjs", source_panel_mjs),
    FILE_OF("source.css", source_css),
    FILE_OF("sources.mjs", sources_mjs),
    FILE_OF("stream-player.mjs", stream_player_mjs),
    FILE_OF("text.mjs", text_mjs),
    FILE_OF("thumbnails.mjs", thumbnails_mjs),
    FILE_OF("ways.mjs", ways_mjs),
    FILE_OF("webrtc-player.mjs", webrtc_player_mjs),
};

const vidicon_page_file *vidicon_page_files(size_t *count) {
  *count = sizeof(files) / sizeof(files[0]);
  return files;
}
